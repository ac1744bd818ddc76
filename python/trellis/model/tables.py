"""Forecasts become text: lines for CSV files, and a table for LaTeX in the form that proposals want."""

from __future__ import annotations

import csv
import io

from .forecast import Forecast, ForecastTable

COLUMNS = (
    "nodes",
    "ranks",
    "grid",
    "local",
    "seconds",
    "low",
    "high",
    "speed_up",
    "efficiency",
    "gflops",
    "memory_gib",
    "node_hours",
    "limit",
)


def cells(row: Forecast) -> dict[str, str]:
    """Return a forecast as the cells of a table, by column."""
    return {
        "nodes": str(row.nodes),
        "ranks": str(row.ranks),
        "grid": "x".join(map(str, row.grid)),
        "local": "x".join(map(str, row.local)),
        "seconds": f"{row.seconds:.4g}",
        "low": f"{row.low:.3g}",
        "high": f"{row.high:.3g}",
        "speed_up": f"{row.speed_up:.2f}",
        "efficiency": f"{row.efficiency:.2f}",
        "gflops": f"{row.gflops:.4g}",
        "memory_gib": f"{row.memory / 2**30:.3g}",
        "node_hours": f"{row.node_hours:.3g}",
        "limit": row.limit,
    }


def csv_text(table: ForecastTable) -> str:
    """Return the forecasts as CSV with a line of headings."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in table.rows:
        writer.writerow(cells(row))
    return text.getvalue()


def latex_text(table: ForecastTable, *, production: int | None = None) -> str:
    """Return a LaTeX table: nodes, time of a step with its band, speed-up, efficiency, memory, node hours.

    Parameters
    ----------
    production
        The number of nodes of production runs, whose row is bold.
    """
    lines = [
        r"\begin{tabular}{rrrrrrr}",
        r"\hline",
        rf"nodes & time a {table.step} (s) & band (s) & speed-up & efficiency & GiB a rank & node hours \\",
        r"\hline",
    ]
    for row in table.rows:
        of = cells(row)
        words = [
            of["nodes"],
            of["seconds"],
            f"{of['low']}--{of['high']}",
            of["speed_up"],
            of["efficiency"],
            of["memory_gib"],
            of["node_hours"],
        ]
        if row.nodes == production:
            words = [rf"\textbf{{{word}}}" for word in words]
        lines.append(" & ".join(words) + r" \\")
    kind = "nominal numbers, good to a factor 2" if table.is_nominal else "90\\,\\% bands"
    lines += [
        r"\hline",
        rf"\multicolumn{{7}}{{l}}{{{table.machine.replace('_', chr(92) + '_')}: {kind}}} \\",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"
