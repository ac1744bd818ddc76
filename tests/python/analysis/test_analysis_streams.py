"""These tests cover several streams of one ensemble: their numbers, their weights, and the coverage of
errors."""

import numpy as np
import pyerrors
import pytest

from trellis.analysis import (
    AnalysisError,
    Correlator,
    MeasurementFileError,
    analyze,
    autocorrelation,
    bin_series,
    write_correlators,
)
from trellis.analysis.records.numbering import numbers_in_streams, plain_numbers, streams_of
from trellis.analysis.statistics.autocorrelation import gamma_method, observable_of
from trellis.analysis.statistics.separations import separation_sums
from trellis.analysis.synthetic import PION


def chain(rng, count, rho):
    """Return an AR(1) chain of unit variance: 2 tau_int = (1 + rho) / (1 - rho)."""
    noise = rng.standard_normal(count)
    for k in range(1, count):
        noise[k] = rho * noise[k - 1] + np.sqrt(1 - rho**2) * noise[k]
    return noise


def numbered(*lengths, step=1, first=0):
    """Return streams a, b ... which all begin with the same number."""
    names = [chr(97 + i) for i, length in enumerate(lengths) for _ in range(length)]
    return numbers_in_streams(names, np.concatenate([first + step * np.arange(n) for n in lengths]))


def test_the_mean_weights_measurements_and_not_streams():
    values = np.concatenate([np.full(30, 1.0), np.full(10, 5.0)]) + np.tile([0.1, -0.1], 20)
    assert autocorrelation("x", values, numbered(30, 10)).mean == pytest.approx(2.0, rel=1e-14)


def test_regular_streams_are_replicas_of_pyerrors():
    """Deviations count from the mean of all streams: the sums are those of pyerrors with them, and with no
    others."""
    rng = np.random.default_rng(7)
    values, numbers = np.concatenate([chain(rng, 400, 0.6), chain(rng, 250, 0.6)]), numbered(400, 250, step=5)
    deviations = [values[:400] - values.mean(), values[400:] - values.mean()]
    there = [5 * np.arange(400), 5 * np.arange(250)]
    means = [values.mean()] * 2
    reference = pyerrors.Obs(deviations, ["e|a", "e|b"], idl=[list(n) for n in there], means=means)
    reference.gamma_method(S=2.0)
    found = autocorrelation("x", values, numbers)
    assert found.error == pytest.approx(reference.dvalue, rel=1e-13)
    assert found.tau_int == pytest.approx(reference.e_tauint["e"], rel=1e-13)
    assert found.spacing == 5
    assert found.count == 650


def test_own_sums_agree_with_those_of_pyerrors():
    """For streams of one length, the sums over real separations are those of the replicas."""
    rng = np.random.default_rng(3)
    values, numbers = np.concatenate([chain(rng, 500, 0.7) for _ in range(3)]), numbered(500, 500, 500)
    own = separation_sums(values - values.mean(), numbers)
    found = gamma_method("x", observable_of(values, numbers))
    assert own.window == found.window
    assert own.error == pytest.approx(found.error, rel=1e-3)
    assert own.tau_int == pytest.approx(found.tau_int, rel=1e-3)


@pytest.mark.parametrize("kept", [1.0, 0.5])
def test_errors_of_streams_cover_the_mean(kept):
    """Four streams of 150 with 2 tau_int = 4, whole and with half of the measurements, have pulls of width
    one."""
    rng = np.random.default_rng(11)
    pulls = []
    for _ in range(150):
        values, numbers = np.concatenate([chain(rng, 150, 0.6) for _ in range(4)]), numbered(*[150] * 4)
        chosen = np.sort(rng.choice(600, int(600 * kept), replace=False))
        found = autocorrelation("x", values[chosen], numbers[chosen])
        pulls.append(found.mean / found.error)
    assert abs(np.mean(pulls)) < 4 / np.sqrt(150)
    assert 0.85 < np.std(pulls) < 1.15  # the width is known to 1 / sqrt(300) = 0.06


def test_bins_stay_in_their_stream():
    values, numbers = bin_series(np.arange(9.0), numbered(5, 4), 2)
    assert values.tolist() == [1.5, 3.5, 5.5, 7.5]
    assert plain_numbers(numbers).tolist() == [2, 4, 1, 3]
    assert [name for name, _, _ in streams_of(numbers)] == ["a", "b"]


def test_numbers_of_a_stream_have_to_ascend():
    values = np.arange(8.0)
    wrong = numbers_in_streams(["a"] * 4 + ["b"] * 4, [1, 2, 3, 4, 1, 3, 2, 4])
    with pytest.raises(ValueError, match="ascend, found 2 of stream b after 3 of stream b"):
        autocorrelation("x", values, wrong)


def streams(count=40):
    rng = np.random.default_rng(2)
    samples = np.concatenate([PION.samples(count, 16, rng, tau_exp=1.5) for _ in range(3)])
    return samples, np.tile(np.arange(0, 4 * count, 4), 3), np.repeat(["a", "b", "c"], count)


def test_files_of_streams_have_the_same_numbers(tmp_path):
    """One file for each stream, told apart by the path, and one file that says it give the same results."""
    samples, numbers, names = streams()
    whole = Correlator("pion", samples, configurations=numbers, streams=names, symmetry=1)
    found = whole.fit(max_states=1, autocorrelation="gamma")
    assert abs(found.mass - 0.45) < 4 * found.mass_error
    one_file = analyze(
        write_correlators(tmp_path / "all.h5", [whole]),
        options={"max_states": 1, "autocorrelation": "gamma"},
    )
    assert one_file.particles["pion"] == found
    assert one_file.configurations.streams == names.tolist()
    assert (one_file.configurations.first, one_file.configurations.last) == (0, 156)
    for name in "abc":
        own = names == name
        part = Correlator("pion", samples[own], configurations=numbers[own], symmetry=1)
        write_correlators(tmp_path / f"stream_{name}" / "pion.h5", [part])
    folders = [tmp_path / f"stream_{name}" for name in "abc"]
    options = {"max_states": 1, "autocorrelation": "gamma", "stream": "/stream_([a-c])/"}
    assert analyze(folders, options=options).particles["pion"] == found
    with pytest.raises(MeasurementFileError, match="each number once, found configuration 0 again"):
        analyze(folders)


def test_streams_that_cannot_be_told_are_refused(tmp_path):
    samples, numbers, names = streams(10)
    whole = Correlator("pion", samples, configurations=numbers, streams=names, symmetry=1)
    path = write_correlators(tmp_path / "all.h5", [whole])
    own = Correlator("pion", samples[:10], configurations=1000 + numbers[:10], symmetry=1)
    other = write_correlators(tmp_path / "other.h5", [own])
    with pytest.raises(MeasurementFileError, match="expected the name of its stream"):
        analyze([path, other])
    with pytest.raises(MeasurementFileError, match="expected a stream's name by 'run_"):
        analyze(other, options={"stream": "run_([0-9]+)"})
    with pytest.raises(AnalysisError, match="expected a regular expression with one group, found 0"):
        analyze(other, options={"stream": "run"})
