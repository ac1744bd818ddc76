"""A forecast has one page: strong and weak scaling with bands, parts and phases, a roofline, and a table."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from ..ground.crash_safe_files import write_text
from .forecast import ForecastTable
from .tables import COLUMNS, cells

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..campaign.hardware_tables import DeviceTable


def write_page(
    table: ForecastTable,
    path: Path | str,
    *,
    weak: ForecastTable | None = None,
    device: DeviceTable | None = None,
) -> None:
    """Write the page; it refers to nothing outside itself.

    Parameters
    ----------
    weak
        Forecasts with the local lattice of the smallest number of nodes.
    device
        A rank computes on it, and its roofline is drawn.
    """
    from ..report.embed import svg_text
    from ..report.style import look

    drawings = []
    with look():
        drawings.append(svg_text(scaling_figure(table, "Strong scaling"), "strong"))
        if weak is not None:
            drawings.append(svg_text(scaling_figure(weak, "Weak scaling"), "weak"))
        drawings.append(svg_text(parts_figure(table), "parts"))
        drawings.append(svg_text(phases_figure(table), "phases"))
        if device is not None:
            drawings.append(svg_text(roofline_figure(table, device), "roofline"))
    write_text(Path(path), _html(table, drawings))


def scaling_figure(table: ForecastTable, title: str) -> Figure:
    """Return the time of a step against nodes, with the band and the ideal line, and the efficiency below."""
    from matplotlib.figure import Figure

    from ..report.style import BAND_ALPHA, COLOURS, FAINT

    figure = Figure(figsize=(5.6, 5.0))
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[2, 1])
    nodes = [row.nodes for row in table.rows]
    seconds = [row.seconds for row in table.rows]
    above.fill_between(
        nodes,
        [r.low for r in table.rows],
        [r.high for r in table.rows],
        color=COLOURS[0],
        alpha=BAND_ALPHA,
        lw=0,
    )
    above.plot(nodes, seconds, marker="o", color=COLOURS[0], label="forecast")
    ideal = [row.seconds / row.efficiency**-1 for row in table.rows]
    above.plot(nodes, ideal, ls="--", color=FAINT, label="ideal")
    above.set(xscale="log", yscale="log", ylabel=f"seconds a {table.step}", title=f"{title}, {table.machine}")
    above.legend()
    below.plot(nodes, [row.efficiency for row in table.rows], marker="s", color=COLOURS[1])
    below.set(ylim=(0, 1.1), xlabel="nodes", ylabel="efficiency")
    below.set_xticks(nodes, [str(n) for n in nodes])
    below.minorticks_off()
    return figure


def parts_figure(table: ForecastTable) -> Figure:
    """Return the shares of computing, network and overheads against nodes."""
    return _stacked(table, "Parts of a step", [dict(row.time.shares()) for row in table.rows])


def phases_figure(table: ForecastTable) -> Figure:
    """Return the shares of the phases against nodes."""
    return _stacked(
        table, "Phases of a step", [{p.name: p.total for p in row.time.phases} for row in table.rows]
    )


def roofline_figure(table: ForecastTable, device: DeviceTable) -> Figure:
    """Return the speed of each phase on a rank of the smallest number of nodes, below the device's roofs.

    A sloped line is a level of the memory, and a level one the peak of a precision. Speeds are those of
    computing alone, without messages and sums.
    """
    from matplotlib.figure import Figure

    from ..report.style import COLOURS, FAINT

    figure = Figure(figsize=(5.6, 4.0))
    axes = figure.subplots()
    row = table.rows[0]
    points = [
        (p.name, p.flops / p.bytes, 1e-9 * p.flops / p.local)
        for p in row.time.phases
        if p.flops > 0 and p.bytes > 0 and p.local > 0
    ]
    ridge = max(device.peak_gflops.values(), default=0.0) / min(level.gbs for level in device.memory)
    known = [intensity for _, intensity, _ in points] + ([ridge] if ridge else [])
    ends = (min(known, default=0.1) / 3, 3 * max(known, default=10.0))
    top = max(device.peak_gflops.values(), default=0.0) or ends[1] * device.memory[-1].gbs
    for level in device.memory:
        corner = min(top / level.gbs, ends[1])
        axes.plot([ends[0], corner], [ends[0] * level.gbs, corner * level.gbs], color=FAINT, lw=1)
    fastest = max(level.gbs for level in device.memory)
    for precision, peak in device.peak_gflops.items():
        axes.plot([min(peak / fastest, ends[1]), ends[1]], [peak, peak], color=FAINT, lw=1)
        axes.annotate(f"{precision} {peak:,.0f} GF/s", (ends[1], peak), ha="right", va="bottom", fontsize=7)
    slowest = device.memory[-1].gbs
    axes.annotate(f"memory {slowest:,.0f} GB/s", (ends[0], ends[0] * slowest), va="top", fontsize=7)
    for k, (name, intensity, speed) in enumerate(points):
        marker = "osD^v"[k // len(COLOURS) % 5]
        axes.plot([intensity], [speed], ls="", marker=marker, color=COLOURS[k % len(COLOURS)], label=name)
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="flops a byte",
        ylabel="GF/s of a rank",
        title=f"Roofline, {row.nodes} {'node' if row.nodes == 1 else 'nodes'}",
    )
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def _stacked(table: ForecastTable, title: str, parts: list[dict[str, float]]) -> Figure:
    from matplotlib.figure import Figure

    from ..report.style import COLOURS

    figure = Figure(figsize=(5.6, 3.2))
    axes = figure.subplots()
    bottom = [0.0] * len(parts)
    places = range(len(parts))
    for k, name in enumerate(parts[0]):
        share = [part.get(name, 0.0) / row.seconds for part, row in zip(parts, table.rows, strict=True)]
        axes.bar(
            places,
            share,
            bottom=bottom,
            label=name,
            color=COLOURS[k % len(COLOURS)],
            hatch="/" * (k // len(COLOURS)),
        )
        bottom = [b + s for b, s in zip(bottom, share, strict=True)]
    axes.set_xticks(list(places), [str(row.nodes) for row in table.rows])
    axes.set(xlabel="nodes", ylabel="share of the time", ylim=(0, 1), title=title)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def _html(table: ForecastTable, drawings: list[str]) -> str:
    head = "".join(f"<th>{escape(name.replace('_', ' '))}</th>" for name in COLUMNS)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cells(row)[name])}</td>" for name in COLUMNS) + "</tr>"
        for row in table.rows
    )
    kind = "Numbers are nominal: good to a factor 2" if table.is_nominal else "Bands hold 90 %"
    extents = " x ".join(map(str, table.extents))
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'><meta name='viewport' "
        "content='width=device-width, initial-scale=1'><title>Forecast</title><style>"
        "body{font-family:sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}"
        "figure{margin:1rem 0}svg{max-width:100%;height:auto}.scroll{overflow-x:auto}"
        "table{border-collapse:collapse;font-size:.85rem}td,th{border-bottom:1px solid #ddd;padding:.2rem "
        ".5rem;text-align:right}</style></head><body>"
        f"<h1>Forecast: {escape(table.machine)}, {extents}</h1>"
        f"<p>A step is a {escape(table.step)}. Iterations: {escape(table.iterations)}. {kind}.</p>"
        f"<div class='scroll'><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        + "".join(f"<figure>{drawing}</figure>" for drawing in drawings)
        + "</body></html>\n"
    )
