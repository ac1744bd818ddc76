"""These tests cover results of spin glasses: errors by jackknife, correlation lengths, the test of
equilibrium, bad files."""

from __future__ import annotations

import math
from pathlib import Path

import h5py
import numpy as np
import pytest

from trellis.analysis.glass.quantities import correlation_length, equilibration, jackknife, quantities
from trellis.analysis.glass.reader import glass_file, read_glass
from trellis.analysis.glass.results import analyze_glass
from trellis.analysis.records.errors import MeasurementFileError
from trellis.glass import run
from trellis.glass.observables import NAMES
from trellis.run_files import GlassRun, parse_run_file


def test_jackknife_of_a_mean_is_the_standard_error() -> None:
    values = np.random.default_rng(1).normal(size=40)
    found = jackknife({"x": values}, lambda m: m["x"])
    assert found is not None
    assert found.value == pytest.approx(values.mean())
    assert found.error == pytest.approx(values.std(ddof=1) / math.sqrt(40))
    one = jackknife({"x": values[:1]}, lambda m: m["x"])
    assert one is not None
    assert one.error is None
    assert jackknife({"x": values}, lambda m: math.nan) is None


def test_jackknife_of_a_ratio_is_that_of_linear_propagation() -> None:
    generator = np.random.default_rng(2)
    a, b = 5 + 0.1 * generator.normal(size=400), 2 + 0.1 * generator.normal(size=400)
    found = jackknife({"a": a, "b": b}, lambda m: m["a"] / m["b"])
    assert found is not None
    linear = (a - a.mean()) / b.mean() - a.mean() / b.mean() ** 2 * (b - b.mean())
    assert found.error == pytest.approx(linear.std(ddof=1) / math.sqrt(400), rel=1e-2)


def test_correlation_length_of_a_pole() -> None:
    """The formula chi(k) = 1 / (1 + (2 xi sin(k / 2))^2) gives xi back."""
    k, xi = 2 * math.pi / 16, 3.7
    assert correlation_length(k, 1.0, 1 / (1 + (2 * xi * math.sin(k / 2)) ** 2)) == pytest.approx(xi)
    assert math.isnan(correlation_length(k, 1.0, 1.5))


def test_lengths_need_one_extent() -> None:
    assert "overlap_length" in quantities((8, 8, 8, 4), 0.2, 2)
    assert "overlap_length" not in quantities((8, 8, 4, 4), 0.2, 2)
    assert "overlap_length" not in quantities((8, 8, 8, 4), 0.2, 1)
    assert "overlap_length" not in quantities((2, 2, 2, 4), 0.2, 2)


TEXT = """
[lattice]
extents = {extents}
[couplings]
type = "{type}"
samples = {samples}
[spins]
temperatures = {temperatures}
storage = "double"
[steps]
total = {total}
over_relaxation = 1
exchange_every = 0
[random]
seed = 3
[output]
directory = "glass"
"""


def simulated(folder: Path, **settings: object) -> Path:
    values = {"type": "gaussian", "samples": 256, "temperatures": [0.5, 2.0], "total": 300} | settings
    text = TEXT.format(**values).replace('"glass"', f'"{folder / "glass"}"')
    run(parse_run_file(text, GlassRun))
    return folder / "glass"


@pytest.mark.slow
def test_identity_of_gaussian_couplings_holds(tmp_path: Path) -> None:
    """In equilibrium both sides agree; at a wrong temperature they do not."""
    found = analyze_glass(simulated(tmp_path, extents=[4, 4, 1], samples=160, total=200) / "glass.h5")
    for test in found.equilibration[-1]:
        assert test is not None
        assert test.error is not None
        assert test.error < 0.02
        assert abs(test.value) < 4 * test.error
    data = read_glass(tmp_path / "glass" / "glass.h5")
    means = {name: values[-1, :, 0] for name, values in data.bins.items()}
    wrong = jackknife(means, equilibration(data.lattice, 0.6))
    assert wrong is not None
    assert wrong.error is not None
    assert abs(wrong.value) > 6 * wrong.error


@pytest.mark.slow
def test_energy_of_a_ring_is_exact(tmp_path: Path) -> None:
    """A ring of four at K = 1 and K = 2 has the energies 0.3378378042 and 0.6058915699 a bond."""
    ring = {"extents": [4, 1, 1], "type": "ferromagnet", "temperatures": [0.5, 1.0], "samples": 96}
    folder = simulated(tmp_path, **ring)
    found = analyze_glass(folder / "glass.h5")
    for energy, exact in zip(found.quantities["energy"], (0.6058915699, 0.3378378042), strict=True):
        assert energy is not None
        assert energy.error is not None
        assert energy.error < 0.005
        assert abs(energy.value + exact) < 4 * energy.error


def test_files_of_others_are_refused(tmp_path: Path) -> None:
    folder = simulated(tmp_path, extents=[4, 2, 1], samples=2, total=4)
    path = folder / "glass.h5"
    assert glass_file(folder) == path
    assert glass_file(path) == path
    assert glass_file(tmp_path) is None
    with h5py.File(path) as file:
        assert set(file["bins"]) == {"counts", *NAMES}
    with h5py.File(path, "a") as file:
        file["bins/energy"][0] = math.nan
    with pytest.raises(MeasurementFileError, match="bins/energy: expected finite numbers"):
        read_glass(path)
    with h5py.File(path, "a") as file:
        file["bins/counts"][:] = 0
    with pytest.raises(MeasurementFileError, match="at least one measurement"):
        read_glass(path)
    with h5py.File(path, "a") as file:
        file.attrs["kind"] = "measurement"
    with pytest.raises(MeasurementFileError, match="kind"):
        read_glass(path)
    assert glass_file(path) is None
    path.write_text("nothing")
    assert glass_file(path) is None
