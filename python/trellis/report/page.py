"""report.html has numbers, plots and origins of one analysis in one file that refers to nothing outside."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import jinja2
from matplotlib.figure import Figure

from trellis.ground.crash_safe_files import make_folder, write_bytes, write_text

from ..analysis.masses.assemble import is_timing
from ..analysis.records.record import format_error
from ..analysis.records.results import Results
from . import figures, statistics_figures, stream_figures
from .charge_figures import charge_drawings
from .embed import png_bytes
from .gevp_figure import gevp_figure
from .page_parts import Plot, embedded, page_style, with_arxiv_links, with_contents
from .style import look, observable_label

#: These observables get a figure, in this order, when they are there.
_PLOTTED_OBSERVABLES = (
    "plaquette",
    "rectangle",
    "polyakov_loop_abs",
    "dH",
    "exp_minus_dH",
    "topological_charge",
    "t0",
)
#: Series of every flavour that begin like this are plotted, too.
_PLOTTED_PER_FLAVOUR = ("condensate.", "number_density.")


def figure_drawings(results: Results) -> dict[str, Callable[[], Figure]]:
    """Return by name the functions that draw the figures of the report; call them inside `style.look()`."""
    found: dict[str, Callable[[], Figure]] = {}
    if results.particles:
        found["correlators"] = partial(figures.correlators, results)
        found["effective_masses"] = partial(figures.effective_masses, results)
    for name in results.particles:
        found[f"fit_{name}"] = partial(figures.particle_figure, name, results)
        if results.particles[name].correlation:
            draw = partial(statistics_figures.correlation_matrix, name, results.particles[name])
            found[f"correlation_{name}"] = draw
    for name in results.gevp:
        found[f"gevp_{name}"] = partial(gevp_figure, results, name)
    if moving := statistics_figures.moving_particles(results):
        found["dispersion"] = partial(statistics_figures.dispersion, moving, results.lattice[0])
    found |= charge_drawings(results)
    companion = results.companion
    if companion is not None:
        found |= {f"companion_{name}": draw for name, draw in charge_drawings(companion).items()}
        if companion.particles:
            found["companion_effective_masses"] = partial(figures.effective_masses, companion)
    if results.stream is not None and results.stream.flow is not None:
        found["flow"] = partial(stream_figures.flow_figure, results.stream.flow)
    if results.stream is not None and results.stream.loops is not None:
        found["wilson_loops"] = partial(stream_figures.loops_figure, results.stream.loops)
    if force_series := statistics_figures.force_series(results):
        found["forces"] = partial(statistics_figures.forces, force_series)
    charge = results.observables.get(statistics_figures.CHARGE)
    charges = results.series.get(statistics_figures.CHARGE) if charge is None else charge.series
    if charges is not None and any(charges.value):
        found["charge_histogram"] = partial(
            statistics_figures.charge_histogram, statistics_figures.CHARGE, charges
        )
    flavours = [n for n in results.observables | results.series if n.startswith(_PLOTTED_PER_FLAVOUR)]
    for name in (*_PLOTTED_OBSERVABLES, *flavours):
        observable = results.observables.get(name)
        if observable is not None and observable.series is not None:
            draw = partial(figures.observable_figure, name, observable, observable.series)
            found[f"series_{name}"] = draw
        elif name in results.series:
            found[f"series_{name}"] = partial(figures.series_figure, name, results.series[name])
    return found


def render_page(results: Results, plots: dict[str, Plot]) -> str:
    """Return the HTML text; `plots` holds the figures by name."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["significant"] = lambda v, digits=3: "–" if v is None else f"{v:.{digits}g}"
    environment.globals["format_error"] = format_error
    environment.globals["observable_label"] = observable_label
    environment.globals["is_timing"] = is_timing
    environment.globals["particle_title"] = lambda name: name.replace("_", " ")
    environment.globals["plot"] = lambda name: embedded(name, plots[name])
    template = environment.get_template("report.html.j2")
    page = template.render(r=results, plots=plots, style=page_style())
    return with_contents(with_arxiv_links(page))


def write_report(results: Results, output: Path | str) -> Path:
    """Write plots/*.png, report.html and results.json into the folder `output`.

    Pictures of an earlier report there which this one does not have are removed. results.json is the last:
    it says which they are, whatever stops a report halfway.

    Returns
    -------
    Path
        The page.
    """
    folder = Path(output)
    plots: dict[str, Plot] = {}
    pictures: dict[str, bytes] = {}
    with look():
        for name, draw in figure_drawings(results).items():
            figure = draw()
            pictures[name], plots[name] = png_bytes(figure), Plot.of(figure, name)
    text = render_page(results, plots)  # all is made before an older report is touched
    make_folder(folder / "plots")
    for name, content in pictures.items():
        write_bytes(folder / "plots" / f"{name}.png", content)
    page = folder / "report.html"
    write_text(page, text)
    for name in _earlier_figures(folder) - pictures.keys():
        (folder / "plots" / f"{name}.png").unlink(missing_ok=True)
    results.to_json(folder / "results.json")
    return page


def _earlier_figures(folder: Path) -> set[str]:
    """Return the figures of the report whose results.json lies there: files beside
    them are not the report's.
    """
    try:
        earlier = Results.from_json(folder / "results.json")
    except (OSError, ValueError):  # there is none, or it is another version's
        return set()
    return {name for name in figure_drawings(earlier) if "/" not in name}
