"""Measurements whose numbers are irregular have errors as right as those of a regular chain, on every
path."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.signal import lfilter

from trellis.analysis import analyze, autocorrelation
from trellis.analysis.autocorrelation import error_factor, numbering_note
from trellis.analysis.statistics.separations import separation_sums, typical_spacing
from trellis.analysis.stream.flow_scales import ensemble_scales
from trellis.analysis.synthetic import write_synthetic_measurements

LENGTH, STEP, TAU, CHAINS = 2000, 10, 20.0, 500  # a chain is 100 tau_int long
REGULAR = np.arange(STEP, LENGTH + 1, STEP)
HALF = LENGTH // 2


def moved(numbers: NDArray) -> NDArray:
    """Return the numbers with one in the middle larger by one."""
    result = numbers.copy()
    result[len(numbers) // 2] += 1
    return result


def chosen(numbers: NDArray, count: int) -> NDArray:
    return np.sort(np.random.default_rng(1).choice(numbers, count, replace=False))


NUMBERS = {
    "moved": moved(REGULAR),
    "missing at random": chosen(REGULAR, len(REGULAR) // 2),
    "every 10, then every 4": np.concatenate([np.arange(STEP, HALF, STEP), np.arange(HALF, LENGTH, 4)]),
    "every 10, then every 7": np.concatenate([np.arange(STEP, HALF, STEP), np.arange(HALF, LENGTH, 7)]),
    "second half offset": np.where(REGULAR < HALF, REGULAR, REGULAR + 3),
    "gaps": REGULAR[REGULAR % 400 < 250],
    "any numbers": chosen(np.arange(1, LENGTH), len(REGULAR)),
    "every 10, every one for a while": np.union1d(REGULAR, np.arange(HALF, HALF + 100)),
    "ever farther apart": np.unique(np.geomspace(10, LENGTH, 60).astype(int)),
    "pairs of neighbours": np.sort(np.concatenate([np.arange(40, LENGTH, 40), np.arange(41, LENGTH, 40)])),
}


@cache
def chains() -> NDArray:
    """Return autoregressive chains of unit variance and mean 0; column t - 1 is trajectory t."""
    rho = (2 * TAU - 1) / (2 * TAU + 1)
    noise = np.random.default_rng(3).standard_normal((CHAINS, LENGTH + 10))
    noise[:, 1:] *= np.sqrt(1 - rho**2)
    return lfilter([1], [1, -rho], noise, axis=1)


@cache
def error_over_scatter(name: str) -> float:
    numbers = NUMBERS.get(name, REGULAR)
    found = [autocorrelation("x", chain[numbers - 1], numbers) for chain in chains()]
    errors, means = np.array([(a.error, a.mean) for a in found if a is not None]).T
    assert len(errors) == CHAINS
    return float(np.sqrt((errors**2).mean() / (means**2).mean()))


@pytest.mark.parametrize("name", NUMBERS)
def test_errors_are_the_scatter_of_the_means(name: str) -> None:
    """Means of 500 chains scatter by their errors to 3 %; errors were 3 times too small for `moved`."""
    assert 0.85 < error_over_scatter("regular") < 1.1
    assert 0.9 < error_over_scatter(name) / error_over_scatter("regular") < 1.1


def test_one_moved_number_changes_nothing() -> None:
    """One moved number changes neither error nor tau_int; the error was .077 for .216, and tau_int 10
    trajectories for 91."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(4001)
    for k in range(1, 4001):
        x[k] = 0.9895 * x[k - 1] + np.sqrt(1 - 0.9895**2) * x[k]
    n = np.arange(10, 4001, 10)
    m = np.where(n == 2010, 2011, n)
    first, second = (autocorrelation("x", x[t - 1], t) for t in (n, m))
    assert first is not None
    assert second is not None
    assert second.spacing == first.spacing == 10
    assert second.tau_int * second.spacing == pytest.approx(first.tau_int * first.spacing, rel=0.03)
    assert second.error == pytest.approx(first.error, rel=0.03)
    assert second.significant


@pytest.mark.parametrize("first", [10**12, 2**62 - 1000, 2**63 - 1 - LENGTH - 1])
def test_numbers_of_19_digits(first: int) -> None:
    """Twice such a number does not fit into 64 bits: the error was 3 times too small."""
    numbers, values = NUMBERS["moved"], chains()[0][NUMBERS["moved"] - 1]
    expected, found = (autocorrelation("x", values, numbers + shift) for shift in (0, first))
    assert expected is not None
    assert found is not None
    assert (found.error, found.tau_int) == (expected.error, expected.tau_int)


@pytest.mark.parametrize("count", [5, 6, 50, 301])
def test_sums_over_separations_are_those_of_pyerrors_for_regular_numbers(count: int) -> None:
    chain = lfilter([1], [1, -0.8], np.random.default_rng(count).standard_normal(count))
    expected = autocorrelation("x", chain, 7 * np.arange(count))
    found = separation_sums(chain - chain.mean(), 7 * np.arange(count))
    assert expected is not None
    assert (found.spacing, found.window) == (7, expected.window)
    for name in ("error", "tau_int", "tau_int_error"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-12)
    lags = min(len(expected.rho), len(found.rho))
    assert found.rho[:lags] == pytest.approx(expected.rho[:lags], abs=1e-12)
    assert expected.significant == (found.factor - found.factor_error > 1)


@pytest.mark.parametrize(
    ("numbers", "spacing"),
    [
        (REGULAR, 10),
        *((NUMBERS[n], 10) for n in ("moved", "missing at random", "second half offset", "gaps")),
        (NUMBERS["every 10, then every 4"], 4),
        (NUMBERS["every 10, then every 7"], 7),
        (NUMBERS["pairs of neighbours"], 39),  # with 1, hardly any pair would have a separation of 2 ... 38
        (np.concatenate([REGULAR, 10**12 + REGULAR]), 10),
        (np.array([10, 20, 31, 40, 50]), 10),
    ],
)
def test_the_spacing_is_the_smallest_common_step(numbers: NDArray, spacing: int) -> None:
    assert typical_spacing(numbers) == spacing


@pytest.mark.parametrize(
    "numbers",
    [[1, 2, 3, 4, 6], [1, 10, 1000, 10**6, 10**12], [2**k for k in range(12)], [0, 1, 2, 3, 10**9]],
)
def test_handfuls_of_measurements_have_an_error(numbers: list[int]) -> None:
    """The error is never below that of independent measurements, and the work does not grow with the
    holes."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        found = autocorrelation("x", rng.standard_normal(len(numbers)), np.array(numbers))
        assert found is not None
        assert 0.9 * found.naive_error < found.error < 3 * found.naive_error
        assert np.isfinite([found.tau_int, found.tau_int_error]).all()


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ([1, 2, 3, 4, 4], "found 4 after 4"),
        ([1, 2, 5, 4, 6], "found 4 after 5"),
        ([1, 2, 3, 4], "expected 5 trajectory numbers"),
        ([1, 2, 3, 4, 5.5], "that are integers"),
    ],
)
def test_numbers_that_are_none_are_refused(numbers: list[float], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        autocorrelation("x", np.arange(5.0), np.array(numbers))


@pytest.mark.parametrize("name", ["moved", "every 10, then every 4"])
def test_paths_of_a_report_agree(tmp_path: Path, name: str) -> None:
    """For t0 of files, t0 of a stream and the factor of charges, errors are those of one series.

    The test has E(t) = a_n / t, and t0 = 0.3 / mean a.
    """
    numbers, t = NUMBERS[name], np.linspace(0, 3, 31)
    slopes = 0.15 * (1 + 0.05 * chains()[0][numbers - 1])
    energies = np.concatenate([np.zeros((len(numbers), 1)), slopes[:, None] / t[1:]], axis=1)
    files = [tmp_path / f"correlators.{number:06d}.h5" for number in numbers]
    for path, number, energy in zip(files, numbers, energies, strict=True):
        with h5py.File(path, "w") as file:
            file["configurations"], file["flow/time"] = np.array([number]), t
            file["flow/energy_clover"] = energy[np.newaxis]
    with h5py.File(tmp_path / "stream.h5", "w") as file:
        file.attrs.update(kind="gauge_stream", lattice=[4, 4, 4, 8])
        file["trajectory"] = np.arange(1, numbers[-1] + 1)
        file["observables/plaquette"] = chains()[1][: numbers[-1]]
        file["occasional/flow_energy_clover/trajectory"] = numbers
        file["occasional/flow_energy_clover/value"] = energies
        file["occasional/flow_energy_clover/axis"] = t
    series = autocorrelation("a", slopes, numbers)
    assert series is not None
    error = 0.3 / slopes.mean() ** 2 * series.error
    assert ensemble_scales(files).t0.dvalue == pytest.approx(error, rel=1e-6)
    results = analyze(tmp_path / "stream.h5")
    assert results.stream is not None
    assert results.stream.flow is not None
    assert results.stream.flow.t0.error == pytest.approx(error, rel=1e-6)
    assert results.stream.flow.t0.tau_int == pytest.approx(series.tau_int, rel=1e-6)
    assert error_factor(slopes, numbers, "auto")[0] == pytest.approx(series.variance_factor, rel=1e-12)
    (note,) = [note for note in results.notes if "irregular" in note]
    assert note == numbering_note("flow_energy_clover", numbers)
    assert f"in units of {series.spacing} trajectories" in note


def test_masses_of_irregular_configurations(tmp_path: Path) -> None:
    """The error of a pion was a third of its scatter after one configuration had moved."""
    found = []
    for numbers in (REGULAR, moved(REGULAR)):
        write_synthetic_measurements(
            tmp_path / "x.h5", configurations=numbers.tolist(), tau_exp=8.0, sources=1, seed=4
        )
        found.append(analyze(tmp_path / "x.h5", options={"particles": ["pion"]}))
    first, second = (results.particles["pion"] for results in found)
    assert first.autocorrelation_factor > 5
    assert second.mass_error == pytest.approx(first.mass_error, rel=0.03)
    assert second.tau_int == pytest.approx(first.tau_int, rel=0.03)
    assert not any("irregular" in note for note in found[0].notes)
    said = "configurations, plaquette: 200 numbers from 10 to 2000 are irregular (steps of 9 to 11)"
    assert sum(said in note for note in found[1].notes) == 1
