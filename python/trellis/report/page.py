"""report.html: numbers, plots and origins of one analysis in one file that refers to nothing outside."""

from __future__ import annotations

from pathlib import Path

import jinja2
from markupsafe import Markup
from matplotlib.figure import Figure

from trellis.analysis.assemble import is_timing
from trellis.analysis.results import Results, format_error
from trellis.durable import write_bytes, write_text

from . import figures, stream_figures
from .charge_figures import charge_figures
from .embed import png_bytes, svg_text
from .style import look, observable_label

#: Observables that get a figure, in this order, when they are there.
_PLOTTED_OBSERVABLES = (
    "plaquette",
    "rectangle",
    "polyakov_loop_abs",
    "dH",
    "exp_minus_dH",
    "topological_charge",
    "t0",
)
#: And those of every flavour that begin like this.
_PLOTTED_PER_FLAVOUR = ("condensate.", "number_density.")


def make_figures(results: Results) -> dict[str, Figure]:
    """All figures of the report by name; call inside `style.look()`."""
    made: dict[str, Figure] = {}
    if results.particles:
        made["correlators"] = figures.correlators(results)
        made["effective_masses"] = figures.effective_masses(results)
    for name in results.particles:
        made[f"fit_{name}"] = figures.particle_figure(name, results)
    made |= charge_figures(results)
    if results.companion is not None:
        made |= {f"companion_{name}": figure for name, figure in charge_figures(results.companion).items()}
        if results.companion.particles:
            made["companion_effective_masses"] = figures.effective_masses(results.companion)
    if results.stream is not None and results.stream.flow is not None:
        made["flow"] = stream_figures.flow_figure(results.stream.flow)
    if results.stream is not None and results.stream.loops is not None:
        made["wilson_loops"] = stream_figures.loops_figure(results.stream.loops)
    flavours = [n for n in results.observables | results.series if n.startswith(_PLOTTED_PER_FLAVOUR)]
    for name in (*_PLOTTED_OBSERVABLES, *flavours):
        observable = results.observables.get(name)
        if observable is not None and observable.series is not None:
            made[f"series_{name}"] = figures.observable_figure(name, observable, observable.series)
        elif name in results.series:
            made[f"series_{name}"] = figures.series_figure(name, results.series[name])
    return made


def render_page(results: Results, plots: dict[str, str]) -> str:
    """The HTML text; `plots` holds SVG texts by figure name."""
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
    template = environment.get_template("report.html.j2")
    safe = {name: Markup(text) for name, text in plots.items()}
    return template.render(r=results, plots=safe)


def write_report(results: Results, output: Path | str) -> Path:
    """Write results.json, plots/*.png and report.html into the folder `output`.

    Returns
    -------
    Path
        The page.
    """
    folder = Path(output)
    plots: dict[str, str] = {}
    pictures: dict[str, bytes] = {}
    with look():
        for name, figure in make_figures(results).items():
            pictures[name], plots[name] = png_bytes(figure), svg_text(figure, name)
    text = render_page(results, plots)  # all is made before an older report is touched
    (folder / "plots").mkdir(parents=True, exist_ok=True)
    for name, content in pictures.items():
        write_bytes(folder / "plots" / f"{name}.png", content)
    results.to_json(folder / "results.json")
    page = folder / "report.html"
    write_text(page, text)
    return page
