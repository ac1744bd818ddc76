"""trellis model: published figures, forecasts, choices and plans by the scaling model."""

from __future__ import annotations

from rich import box
from rich.table import Table

from ..model.published import table as published_table
from .output import Output


def published(name: str | None, *, markdown: bool, json: bool) -> int:
    """Print the table of published figures, or a part of it.

    Returns
    -------
    int
        Exit status: 0.
    """
    output = Output(json)
    rows = published_table.published_rows(name)
    summary = published_table.summary(rows)
    output.result({"rows": published_table.as_json(rows), "summary": summary})
    if markdown:
        output.line(published_table.markdown(rows).rstrip("\n"))
        return 0
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for heading in ("part", "figure", "published", "model", "deviation", "kind"):
        table.add_column(heading, justify="right" if heading == "deviation" else "left", overflow="fold")
    for row in rows:
        table.add_row(
            row.group,
            row.figure,
            published_table.show_number(row.published),
            published_table.show_number(row.model),
            published_table.show_agreement(row),
            row.kind,
        )
    output.console.print(table, markup=False)
    output.line(
        f"checked and predicted: {summary['numbers']} numbers, rms {100 * summary['rms']:.1f} %, "
        f"{summary['within_10_percent']} within 10 %, worst {100 * summary['worst']:.0f} %; "
        f"{summary['statements_that_agree']} of {summary['statements']} statements agree"
    )
    return 0
