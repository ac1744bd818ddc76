"""The page stands alone, shows what it should, and its plots are really drawn."""

import base64
import contextlib
import csv
import io
import re
import resource
from html.parser import HTMLParser

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from trellis.analysis import Results, analyze
from trellis.analysis.synthetic import write_synthetic_measurements
from trellis.report import write_report
from trellis.report.figure_data import csv_of, described
from trellis.report.figures import correlators, effective_masses, fitted_correlator, particle_figure
from trellis.report.page_parts import with_arxiv_links
from trellis.report.style import COLOURS, colour_and_marker, look

OCTET_AND_DECUPLET = ["lambda", "sigma", "xi", "delta", "sigma_star", "xi_star", "omega"]


class Page(HTMLParser):
    """This class collects tags, attributes and text of a page, and refuses unbalanced tags."""

    VOID = frozenset({"meta", "br", "link", "img", "hr", "input"})

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.open, self.words = [], [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    write_synthetic_measurements(folder / "c.h5", configurations=range(100, 500, 10), seed=5)
    results = analyze(folder / "c.h5", output=folder / "out", title="Masses <of> a & b")
    return folder / "out", results, (folder / "out" / "report.html").read_text(encoding="utf-8")


def test_page_has_every_part(made):
    _, results, text = made
    page = Page(text)
    words = " ".join(page.words)
    identifiers = {v for k, v in page.attributes if k == "id"}
    assert {
        "summary",
        "masses",
        "correlators",
        "fits",
        "autocorrelation",
        "solver",
        "method",
        "provenance",
    } <= identifiers
    for name, particle in results.particles.items():
        assert particle.formatted in words
        assert f"fit-{name}" in identifiers
    assert results.provenance.files[0]["sha256"] in words
    assert results.provenance.run_files[0].splitlines()[0] in words
    assert "Masses <of> a & b" in words, "escaped in the file, whole on the page"
    assert all(warning in words for warning in results.warnings)
    assert page.tags.count("svg") == 2 + 2 * len(results.particles) + 1


def test_page_loads_nothing_from_outside(made):
    """The page has links to papers and to files beside it, which a reader may follow."""
    text = made[2]
    page = Page(text)
    assert not {"script", "link", "img", "iframe", "object"}.intersection(page.tags)
    followed = ("#", "https://arxiv.org/abs/", "data:text/csv;base64,", "plots/", "results.json")
    for key, value in page.attributes:
        assert key not in ("src", "data", "srcset")
        if key in ("href", "xlink:href"):
            assert value.startswith(followed if key == "href" else "#"), (key, value)
    loose = re.sub(r'<a [^>]*href="[^"]*"', "", text)
    assert not re.search(r"https?://|//[a-z0-9.-]+\.[a-z]{2,}/|@import", loose)
    for target in re.findall(r"url\(([^)]*)\)", text):
        assert target.startswith("#")


def test_contents_links_and_numbers_of_figures(made):
    """Sections are listed, citations lead to arXiv, figures have words, and their numbers are in the page."""
    output, results, text = made
    contents = re.search(r'<nav id="contents".*?</nav>', text, re.DOTALL)[0]
    listed = re.findall(r'href="#([\w-]+)"', contents)
    assert listed == re.findall(r'<section[^>]* id="([\w-]+)"', text)
    assert "https://arxiv.org/abs/2008.01069" in text
    assert "https://arxiv.org/abs/hep-lat/0306017" in text
    assert with_arxiv_links("<title>arXiv:2008.01069</title><pre>arXiv:2008.01069</pre>").count("<a") == 0
    words = re.findall(r'<svg [^>]*role="img"[^>]* aria-label="([^"]+)"', text)
    assert len(words) == text.count("<svg")
    assert any("correlator C(t) (lattice units) against time from the source" in w for w in words)
    numbers = dict(re.findall(r'download="([\w.]+)" href="data:text/csv;base64,([^"]+)"', text))
    assert set(numbers) == {f"{path.stem}.csv" for path in (output / "plots").iterdir()}
    rows = list(csv.DictReader(io.StringIO(base64.b64decode(numbers["correlators.csv"]).decode())))
    pion = results.particles["pion"].correlator
    points = [row for row in rows if row["curve"] == "pi" and row["y_error"]]
    assert [float(row["y"]) for row in points] == pytest.approx(pion.value, rel=1e-12)
    assert [float(row["y_error"]) for row in points] == pytest.approx(pion.error, rel=1e-9)


def test_numbers_of_a_figure():
    """The numbers are error bars in both directions, lines and bars; what crosses the whole panel is no
    data."""
    figure = Figure()
    left, right = figure.subplots(1, 2)
    left.errorbar([1, 2], [3, 4], yerr=[0.5, 0.25], xerr=[0.1, 0.2], label=r"$\pi$", fmt="o")
    left.axhline(7)
    left.set_ylabel(r"$a\,m_{\mathrm{eff}}$")
    left.plot([0, 1], [5, 6])
    right.bar([1.5], [2.5], 0.5, label="weights")
    assert csv_of(figure).splitlines() == [
        "panel,curve,x,y,x_error,y_error",
        "1,pi,1,3,0.1,0.5",
        "1,pi,2,4,0.2,0.25",
        "1,a m_eff,0,5,,",
        "1,a m_eff,1,6,,",
        "2,weights,1.5,2.5,,",
    ]
    assert described(figure).startswith("a m_eff against values (curves: pi); values against values")


def test_svg_identifiers_are_unique_and_resolved(made):
    page = Page(made[2])
    identifiers = [v for k, v in page.attributes if k == "id"]
    assert len(identifiers) == len(set(identifiers))
    links = {v[1:] for k, v in page.attributes if k == "xlink:href"}
    links |= {m for _, v in page.attributes if v for m in re.findall(r"url\(#([^)]*)\)", v)}
    assert links <= set(identifiers)
    assert links


def test_plots_are_there_and_not_blank(made):
    plots = sorted((made[0] / "plots").iterdir())
    assert len(plots) == 2 + 2 * len(made[1].particles) + 1
    for path in plots:
        pixels = np.asarray(Image.open(io.BytesIO(path.read_bytes())).convert("RGB"))
        assert pixels.shape[1] > 900
        assert len(np.unique(pixels[::5, ::5].reshape(-1, 3), axis=0)) > 30, path.name
        assert 0.005 < (pixels.min(axis=2) < 250).mean() < 0.6, path.name


def test_report_is_rebuilt_from_results_json(made, tmp_path):
    output, _, text = made
    page = write_report(Results.from_json(output / "results.json"), tmp_path)
    assert page.read_text(encoding="utf-8") == text
    assert (tmp_path / "results.json").read_bytes() == (output / "results.json").read_bytes()


def test_drawn_curves_go_through_the_data(made):
    """The curve of the best fit misses the measured points by a few errors at most."""
    for particle in made[1].particles.values():
        t = np.arange(particle.fit.t_min, particle.fit.t_max + 1)
        curve = fitted_correlator(particle, particle.fit, t.astype(float))
        measured = np.array(particle.correlator.value)[t]
        error = np.array(particle.correlator.error)[t]
        assert np.all(np.abs(curve - measured) < 4 * error)


def test_colours_stay_apart_for_colour_blind_eyes():
    """The colours are Okabe and Ito's: under simulated deuteranopia (Vienot 1999) any two still differ."""
    rgb = np.array([[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in COLOURS])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    deuteranopia = np.array([[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]])
    seen = linear @ deuteranopia.T
    for i in range(len(seen)):
        for j in range(i):
            assert np.abs(seen[i] - seen[j]).max() > 0.05, (COLOURS[i], COLOURS[j])


def test_particles_of_a_figure_differ():
    """The octet and the decuplet with partners, and more, differ; the usual ones look the same in every
    report."""
    names = ["pion", "rho", "nucleon", "nucleon_parity_partner", "kaon", *OCTET_AND_DECUPLET]
    names += [f"{name}_parity_partner" for name in OCTET_AND_DECUPLET] + [f"more_{k}" for k in range(10)]
    assert len(names) > 20
    assert len({colour_and_marker(n, names) for n in names}) == len(names)
    for name in ("pion", "rho", "nucleon", "nucleon_parity_partner"):
        assert colour_and_marker(name, names) == colour_and_marker(name, [name])
    without = [name for name in names if not name.endswith("_parity_partner") or name.startswith("nucleon")]
    for name in without:  # partners are in no figure with others, and take nothing from them
        assert colour_and_marker(name, names) == colour_and_marker(name, without)


@pytest.mark.parametrize("count", [1, 4, 5, 24])
def test_legends_cover_no_data(made, count):
    """Legends are beside the axes, and inside the figure."""
    results = made[1].model_copy()
    names = [*made[1].particles, *(f"a_{k}" for k in range(24))]
    of = list(made[1].particles.values())
    results.particles = {name: of[k % 3] for k, name in enumerate(names[:count])}
    with look():
        made_figures = [correlators(results), effective_masses(results), particle_figure(names[0], results)]
        for figure in made_figures:
            FigureCanvasAgg(figure).draw()
            legends = figure.legends + [axes.get_legend() for axes in figure.axes if axes.get_legend()]
            assert legends
            for box in (legend.get_window_extent() for legend in legends):
                for axes in figure.axes:
                    assert not box.overlaps(axes.get_window_extent())
                assert figure.bbox.x0 <= box.x0 <= box.x1 <= figure.bbox.x1
                assert figure.bbox.y0 <= box.y0 <= box.y1 <= figure.bbox.y1
            for axes in figure.axes:
                assert axes.get_window_extent().width > 300


def test_pictures_of_an_earlier_report_go(made, tmp_path):
    """The pictures go when the new ones exist; files that no report has written stay, whatever their
    names."""
    _, results, _ = made
    write_report(results, tmp_path)
    mine = [tmp_path / "plots" / name for name in ("fit_mine.png", "flow.png", "notes.txt")]
    for path in mine:
        path.write_text("mine")
    earlier = set((tmp_path / "plots").iterdir())
    pion = results.model_copy()
    pion.particles = {"pion": results.particles["pion"]}
    with small_disk(1000), pytest.raises(OSError, match="File too large"):
        write_report(pion, tmp_path)
    assert set((tmp_path / "plots").iterdir()) == earlier
    size = max(path.stat().st_size for path in earlier)  # the page is larger
    with small_disk(size), pytest.raises(OSError, match=r"File too large: .*report\.html'$"):
        write_report(pion, tmp_path)
    assert set((tmp_path / "plots").iterdir()) == earlier
    write_report(pion, tmp_path)
    names = {f"{name}.png" for name in ("correlators", "effective_masses", "series_plaquette")}
    names |= {"fit_pion.png", "correlation_pion.png"}
    assert {path.name for path in (tmp_path / "plots").iterdir()} == names | {path.name for path in mine}
    assert all(path.read_text() == "mine" for path in mine)


@contextlib.contextmanager
def small_disk(size: int):
    """A limit on the size of files stands for a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.slow
def test_a_full_disk_leaves_an_older_report_alone(made, tmp_path):
    """The error ends with the file's name; each file is the old one or the new one, and there are no
    others."""
    results = made[1].model_copy()
    results.particles = {"pion": made[1].particles["pion"]}
    folder = write_report(results, tmp_path).parent
    files = [path for path in folder.rglob("*.*") if path.is_file()]
    names = sorted(folder.rglob("*"))
    sizes = {path: path.stat().st_size for path in files}
    for name in ("plots/correlators.png", "results.json", "report.html"):
        for path in files:
            path.write_text("old")
        size = sizes[folder / name]
        with small_disk(size - 1), pytest.raises(OSError, match=r"File too large: .*\.(png|json|html)'$"):
            write_report(results, folder)
        assert sorted(folder.rglob("*")) == names
        assert (folder / name).read_text() == "old"
    write_report(results, folder)
    assert {path: path.stat().st_size for path in files} == sizes
