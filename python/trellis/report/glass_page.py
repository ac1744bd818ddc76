"""A spin glass has a page: numbers and figures stand in one file that refers to nothing outside."""

from __future__ import annotations

from pathlib import Path

import jinja2
from matplotlib.figure import Figure

from ..analysis.glass.quantities import Estimate
from ..analysis.glass.results import GlassResults
from ..analysis.records.results import format_error
from ..ground.crash_safe_files import make_folder, write_text
from .page_parts import Plot, embedded, page_style, with_contents
from .style import COLOURS, MARKERS, look

_CAPTIONS = {
    "energy": "Energy a site in units of J.",
    "lengths": "Correlation lengths over the extent: curves of different extents cross where there is a "
    "transition.",
    "ratios": "Ratios of moments.",
    "equilibration": "Test of equilibrium with Gaussian couplings: [J S.S'] minus ([(S.S')²] - [S.S']²) "
    "/ T, a bond, in "
    "bins of time that double in length. It is 0 in equilibrium.",
}
_PLOTTED = {
    "energy": ("energy",),
    "lengths": ("magnetisation_length", "overlap_length", "chiral_length"),
    "ratios": ("cumulant", "binder", "chiral_binder"),
}


def write_glass_report(results: GlassResults, folder: Path | str, title: str | None = None) -> Path:
    """Write report.html and results.json, and return the path of the page.

    Raises
    ------
    FileError, OSError
        The folder or a file cannot be written.
    """
    folder = Path(folder)
    make_folder(folder)
    with look():
        plots = {name: Plot.of(figure, f"glass-{name}") for name, figure in _figures(results).items()}
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["shown"] = shown
    environment.globals["plot"] = lambda name: embedded(f"glass-{name}", plots[name], has_picture=False)
    page = environment.get_template("glass.html.j2").render(
        r=results, title=title or "Spin glass", plots=plots, captions=_CAPTIONS, style=page_style()
    )
    page = with_contents(page)
    write_text(folder / "results.json", results.to_text())
    write_text(folder / "report.html", page)
    return folder / "report.html"


def shown(estimate: Estimate | None) -> str:
    """Return a number with its error in brackets; a dash where there is none."""
    if estimate is None:
        return "–"
    return f"{estimate.value:.6g}" if not estimate.error else format_error(estimate.value, estimate.error)


def _figures(results: GlassResults) -> dict[str, Figure]:
    found = {}
    for name, quantities in _PLOTTED.items():
        rows = {q: results.quantities[q] for q in quantities if q in results.quantities}
        if any(point is not None for row in rows.values() for point in row):
            found[name] = _against_temperature(results, rows)
    if results.equilibration:
        found["equilibration"] = _equilibration(results)
    return found


def _against_temperature(results: GlassResults, rows: dict[str, list[Estimate | None]]) -> Figure:
    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axes = figure.add_subplot()
    for k, (name, row) in enumerate(rows.items()):
        points = [(t, e) for t, e in zip(results.temperatures, row, strict=True) if e is not None]
        axes.errorbar(
            [t for t, _ in points],
            [e.value for _, e in points],
            yerr=[e.error or 0.0 for _, e in points],
            fmt=MARKERS[k],
            color=COLOURS[k],
            label=name.replace("_", " "),
        )
    axes.set_xlabel("temperature $T/J$")
    axes.legend()
    return figure


def _equilibration(results: GlassResults) -> Figure:
    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axes = figure.add_subplot()
    last = len(results.temperatures) - 1
    for k, t in enumerate(sorted({0, last // 2, last})):
        points = [
            (step, row[t]) for step, row in zip(results.first_steps, results.equilibration, strict=True)
        ]
        kept = [(step, e) for step, e in points if e is not None]
        axes.errorbar(
            [step for step, _ in kept],
            [e.value for _, e in kept],
            yerr=[e.error or 0.0 for _, e in kept],
            fmt=MARKERS[k],
            color=COLOURS[k],
            label=f"$T = {results.temperatures[t]:g}$",
        )
    axes.axhline(0, color="#8a8f98", linewidth=0.8)
    axes.set_xscale("log", base=2)
    axes.set_xlabel("first step of the bin")
    axes.legend()
    return figure
