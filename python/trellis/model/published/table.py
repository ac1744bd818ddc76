"""This is the whole table of published figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from ...ground.errors import BadArgument
from ...ground.nearest_word import did_you_mean
from . import apenet, axial_charge, balance, bfs, daint, glass, ladder, mapping_rows, slices
from .rows import Row

#: The table has these parts, by name.
GROUPS: dict[str, Callable[[], list[Row]]] = {
    "balance": balance.rows,
    "apenet": apenet.rows,
    "glass": glass.rows,
    "quong": slices.quong_rows,
    "openacc": slices.openacc_rows,
    "mapping": mapping_rows.rows,
    "axial_charge": axial_charge.rows,
    "ladder": ladder.rows,
    "bfs": bfs.rows,
    "daint": daint.rows,
}


def published_rows(name: str | None = None) -> list[Row]:
    """Return the rows of a part of the table, or all.

    Raises
    ------
    BadArgument
        There is no such part.
    """
    if name is not None and name not in GROUPS:
        raise BadArgument(f"expected one of {', '.join(GROUPS)}, found {name!r}{did_you_mean(name, GROUPS)}")
    return [row for group, rows in GROUPS.items() if name in (None, group) for row in rows()]


def as_json(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return rows for a JSON object."""
    return [
        {
            "group": row.group,
            "figure": row.figure,
            "published": row.published,
            "model": row.model,
            "deviation": row.deviation,
            "kind": row.kind,
            "agrees": row.agrees,
            "note": row.note,
        }
        for row in rows
    ]


def summary(rows: Iterable[Row]) -> dict[str, float | int]:
    """Return how well rows agree that are neither input nor fitted, and have a published figure."""
    counted = [row for row in rows if row.kind in ("checked", "predicted") and row.published is not None]
    logarithms = [math.log1p(row.deviation) for row in counted if row.deviation is not None]
    return {
        "numbers": len(logarithms),
        "rms": math.sqrt(sum(x * x for x in logarithms) / len(logarithms)) if logarithms else 0.0,
        "within_10_percent": sum(abs(math.expm1(x)) <= 0.1 for x in logarithms),
        "worst": max((abs(math.expm1(x)) for x in logarithms), default=0.0),
        "statements": sum(row.agrees is not None for row in counted),
        "statements_that_agree": sum(row.agrees is True for row in counted),
    }


def show_number(value: float | str | None) -> str:
    """Return a value of a table: four digits, words as they are, a dash for what is not known."""
    if value is None:
        return "-"
    return value if isinstance(value, str) else f"{value:.4g}"


def show_agreement(row: Row) -> str:
    """Return the deviation in percent, or whether a statement agrees."""
    if row.deviation is not None:
        return f"{100 * row.deviation:+.1f} %"
    return {True: "agrees", False: "disagrees", None: ""}[row.agrees]


def markdown(rows: Iterable[Row]) -> str:
    """Return the table of doc/model.md."""
    lines = ["| part | figure | published | model | deviation | kind |", "|---|---|---|---|---|---|"]
    for row in rows:
        cells = (
            row.group,
            row.figure,
            show_number(row.published),
            show_number(row.model),
            show_agreement(row),
            row.kind,
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
