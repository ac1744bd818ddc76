"""Correlators whose time does not count from the source are named, and symmetric ones are not."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

from trellis.analysis import analyze
from trellis.analysis.masses.time_symmetry import WARN, asymmetry, check_time_symmetry
from trellis.analysis.records.errors import FitFailed
from trellis.analysis.synthetic import PION, RHO, SyntheticParticle, write_synthetic_measurements

ODD = SyntheticParticle((0.5, 1.2), (1.0, 0.6), image=-1, noise=0.1, growth=0.1)


def test_symmetric_correlators_raise_no_alarm() -> None:
    """Symmetric correlators have p-values that are distributed as they should be.

    None of 2000 such sets has a p-value below 1e-4. Of 400 with the right distribution, 4 or more are below
    1e-3 once in 1000 such tests.
    """
    rng = np.random.default_rng(11)
    found = []
    for k in range(400):
        count, extent = int(rng.choice([5, 8, 12, 20, 40, 100])), int(rng.choice([8, 16, 17, 32]))
        particle = (PION, RHO, ODD)[k % 3]
        samples = particle.samples(count, extent, rng, tau_exp=float(rng.choice([0, 0, 0, 2, 5])))
        numbers = 10 * np.arange(count) if k % 5 else np.sort(rng.choice(10 * count, count, replace=False))
        test = asymmetry(samples, particle.image, numbers)
        assert test is not None
        found.append(test.p_value)
    assert np.sum(np.array(found) < 1e-3) < 4
    assert min(found) > WARN
    assert 0.01 < np.mean(np.array(found) < 0.1) < 0.15  # a test that never says anything would have 0


@pytest.mark.parametrize(("particle", "image"), [(PION, 1), (ODD, -1)])
@pytest.mark.parametrize("extent", [16, 17, 48])
@pytest.mark.parametrize("source", [1, 4, -3])
def test_the_shift_that_fits_is_named(
    particle: SyntheticParticle, image: int, extent: int, source: int
) -> None:
    samples = np.roll(particle.samples(60, extent, np.random.default_rng(3)), source, axis=1)
    with pytest.raises(FitFailed, match=f"; a shift by {source % extent} makes it symmetric"):
        check_time_symmetry("pion", samples, image, np.arange(60), [])


def test_other_reasons_are_named() -> None:
    rng, numbers = np.random.default_rng(4), np.arange(60)
    with pytest.raises(FitFailed, match="the sign -1 fits the data"):
        check_time_symmetry("a", ODD.samples(60, 16, rng), 1, numbers, [])
    pion = PION.samples(60, 16, rng)
    mixed = np.array([np.roll(row, 2 * (k % 3 == 0)) for k, row in enumerate(pion)])
    with pytest.raises(FitFailed, match="no shift makes it symmetric"):
        check_time_symmetry("pion", np.concatenate([mixed] * 8), 1, np.arange(480), [])
    with pytest.raises(FitFailed, match=r"falls from the source on, .* write C\(t \+ 8\)"):
        check_time_symmetry("pion", np.roll(pion, 8, axis=1), 1, numbers, [])


def test_few_configurations_and_small_differences_give_a_warning() -> None:
    notes: list[str] = []
    few = np.roll(PION.samples(8, 16, np.random.default_rng(3)), 4, axis=1)
    check_time_symmetry("pion", few, 1, np.arange(8), notes)
    slight = PION.samples(400, 16, np.random.default_rng(3))
    slight[:, 9:] *= 1.2
    check_time_symmetry("pion", slight, 1, np.arange(400), notes)
    assert len(notes) == 2
    assert all("pion: C(t) and C(T - t) look different: expected C(T - t) = C(t)" in n for n in notes)


def test_sources_at_another_time_are_not_folded(tmp_path: Path) -> None:
    """The pion was .510(5) for .456(7). Baryons and Dirichlet time have no symmetry."""
    for boundary in ("antiperiodic", "dirichlet"):
        path = tmp_path / f"{boundary}.h5"
        write_synthetic_measurements(path, particles={"pion": PION, "nucleon": PION})
        with h5py.File(path, "a") as file:
            for dataset in file["correlators"].values():
                dataset[...] = np.roll(dataset[()], 4, axis=-1)
                dataset.attrs["boundary_t"] = boundary
    refused = analyze(tmp_path / "antiperiodic.h5").not_fitted
    assert "at t = 4 and" in refused["pion"]
    assert "a shift by 4 makes it symmetric: write C(t + 4) to the file" in refused["pion"]
    others = [refused.get("nucleon", ""), *analyze(tmp_path / "dirichlet.h5").not_fitted.values()]
    assert not any("symmetric" in reason for reason in others)
    write_synthetic_measurements(tmp_path / "good.h5")
    good = analyze(tmp_path / "good.h5")
    assert set(good.particles) >= {"pion", "rho", "nucleon"}
    assert not any("look different" in text for text in good.warnings)
