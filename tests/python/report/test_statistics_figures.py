"""Pictures of a chain, of the data of a fit, and of a machine show the numbers that they are made of."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from trellis.analysis.records.record import Series
from trellis.analysis.records.results import AutocorrelationResult
from trellis.commands.bench import bench
from trellis.commands.plots import save_plot
from trellis.errors import BadArgument
from trellis.report.embed import svg_text
from trellis.report.figures import observable_figure
from trellis.report.roofline import RooflinePoint, ceilings_of_bench, points_of_bench, roofline
from trellis.report.statistics_figures import (
    charge_histogram,
    correlation_matrix,
    dispersion,
    forces,
    lattice_energy,
)


def series(values: list[float]) -> Series:
    return Series(x=[float(k) for k in range(len(values))], value=list(values), error=[0.0] * len(values))


def test_charges_are_counted_at_the_integers() -> None:
    figure = charge_histogram("topological_charge", series([-2.1, -0.9, 0.1, 0.0, 0.2, 1.1, 3.0]))
    (axes,) = figure.axes
    counted = {round(bar.get_x() + bar.get_width() / 2): bar.get_height() for bar in axes.patches}
    assert {q: n for q, n in counted.items() if n} == {-2: 1, -1: 1, 0: 3, 1: 1, 3: 1}


def test_narrow_charges_are_counted_too() -> None:
    values = np.random.default_rng(1).normal(0, 0.01, 50).tolist()
    (axes,) = charge_histogram("topological_charge", series(values)).axes
    assert sum(bar.get_height() for bar in axes.patches) == 50
    assert sum(bar.get_height() > 0 for bar in axes.patches) > 4


def test_forces_that_are_zero_leave_the_others() -> None:
    figure = forces({"force.gauge": series([0.0, 5.0, 4.0]), "force_largest.gauge": series([9.0, 9.0, 8.0])})
    FigureCanvasAgg(figure).draw()
    (axes,) = figure.axes
    assert np.isnan(axes.lines[0].get_ydata()[0])
    assert axes.lines[0].get_color() == axes.lines[1].get_color()


def test_the_lattice_boson() -> None:
    """At p = 0 the energy is m, and E^2 = m^2 + p^2 holds where both are small."""
    assert lattice_energy(0.4, np.array([0.0]))[0] == pytest.approx(0.4, rel=1e-14)
    assert lattice_energy(0.01, np.array([0.02]))[0] ** 2 == pytest.approx(0.01**2 + 0.02**2, rel=1e-4)


def test_the_dispersion_relation() -> None:
    fits: dict[int, Any] = {n: SimpleNamespace(mass=0.5 + 0.1 * n, mass_error=0.01) for n in (0, 1, 2)}
    (axes,) = dispersion({"pion": fits}, 8).axes
    points = axes.containers[0].lines[0].get_xydata()
    assert points[:, 0] == pytest.approx([0, (2 * np.pi / 8) ** 2, 2 * (2 * np.pi / 8) ** 2])
    assert points[:, 1] == pytest.approx([0.25, 0.36, 0.49])


def test_the_correlation_matrix() -> None:
    def fit(states: int) -> SimpleNamespace:
        return SimpleNamespace(n_states=states, mass=0.5, mass_error=0.01, weight=0.5, t_min=3)

    matrix = [[1.0, 0.5], [0.5, 1.0]]
    particle: Any = SimpleNamespace(
        correlation=matrix, fit=fit(1), scan=[fit(1), fit(2)], mass=0.5, mass_error=0.02
    )
    figure = correlation_matrix("pion", particle)
    (mesh,) = figure.axes[0].collections
    assert mesh.get_array().reshape(2, 2).tolist() == matrix
    assert figure.axes[0].get_xlim() == (2.5, 4.5)
    assert figure.axes[0].get_ylim() == (4.5, 2.5)
    assert "<image" not in svg_text(figure, "correlation")


def test_the_sum_of_the_autocorrelation() -> None:
    """The sum is tau_int(W) = 1/2 + rho(1) + ... + rho(W), times (1 + (2 W + 1) / N) / (1 + 1 / N)."""
    rho = Series(x=[0.0, 1.0, 2.0], value=[1.0, 0.5, 0.25], error=[0.0, 0.1, 0.1])
    found = AutocorrelationResult(
        mean=0.5, error=0.1, naive_error=0.1, tau_int=1.25, tau_int_error=0.2, window=2, count=100, spacing=1,
        rho=rho, series=series([0.4, 0.6]),
    )  # fmt: skip
    assert found.series is not None
    last = observable_figure("plaquette", found, found.series).axes[2]
    assert last.containers[0].lines[0].get_ydata() == pytest.approx([0.5, 1.03 / 1.01, 1.25 * 1.05 / 1.01])


RESULT = {
    "kernel": "wilson_hop",
    "precision": "float",
    "link_reals": 12,
    "lattice": [8, 8, 8, 8],
    "rhs": 4,
    "flops": 3000.0,
    "bytes": 1500.0,
    "gflops": 40.0,
    "peak_gflops": 100.0,
    "read_bandwidth_gbytes_per_second": 30.0,
}


def test_points_under_the_roof() -> None:
    copy = {**RESULT, "kernel": "copy", "flops": 0.0}
    assert points_of_bench([RESULT, copy]) == [
        RooflinePoint("wilson_hop float 12 reals 4 rhs 8x8x8x8", 2.0, 40.0)
    ]
    peaks, bandwidths = ceilings_of_bench([RESULT])
    assert (peaks, bandwidths) == ({"float": 100.0}, {"read, 8x8x8x8": 30.0})
    (axes,) = roofline(peaks, bandwidths, points_of_bench([RESULT]), "bench").axes
    roof = axes.lines[0].get_xydata()
    assert np.interp(1.0, roof[:, 0], roof[:, 1]) == pytest.approx(30.0, rel=1e-2)
    assert roof[-1, 1] == 100.0


def test_bench_draws_its_roofline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A program that prints results stands for a benchmark: its words arrive, and the picture is there."""
    program = tmp_path / "bench_wilson"
    text = json.dumps({"results": [RESULT]})
    program.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/words\ncat <<END\n{text}\nEND\n')
    program.chmod(0o755)
    monkeypatch.setattr("trellis.commands.bench.programs", lambda: {"wilson": program})
    picture = tmp_path / "roof.png"
    assert bench(["wilson", "--rhs", "4", "--plot", str(picture)]) == 0
    assert (tmp_path / "words").read_text() == "--rhs 4 --json\n"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "points: 1, under the roofs of read, 8x8x8x8" in capsys.readouterr().out
    assert bench(["wilson", "--json", "--plot", str(picture)]) == 0
    assert json.loads(capsys.readouterr().out)["results"] == [RESULT]
    with pytest.raises(BadArgument, match="expected a name that ends in"):
        bench(["wilson", "--plot", "roof.txt"])
    with pytest.raises(BadArgument, match="found nothing"):
        bench(["wilson", "--plot"])
    with pytest.raises(BadArgument, match="expected a name that ends in"):
        save_plot(tmp_path / "roof", lambda: roofline({"float": 1.0}, {}, [], ""))
