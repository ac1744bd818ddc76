"""These tests cover correlators from arrays: what they hold, and that they are fitted as files are."""

import h5py
import numpy as np
import pytest

from trellis.analysis import (
    AnalysisError,
    Correlator,
    FitFailed,
    analyze,
    analyze_correlators,
    write_correlators,
)
from trellis.analysis.synthetic import NUCLEON, PION

COUNT, EXTENT = 60, 16


@pytest.fixture(scope="module")
def pion():
    return PION.samples(COUNT, EXTENT, np.random.default_rng(4))


def test_a_file_and_an_array_give_the_same_numbers(pion, tmp_path):
    """The file is written, read by `analyze`, and fitted: every number is that of the array."""
    numbers = np.arange(100, 100 + 10 * COUNT, 10)
    correlator = Correlator("pion", pion, configurations=numbers, symmetry=1, lattice=(8, 8, 8, EXTENT))
    path = write_correlators(tmp_path / "made" / "pion.h5", [correlator], beta=6.0)
    found = analyze(path, options={"max_states": 2}).particles["pion"]
    assert found == correlator.fit(max_states=2)
    assert abs(found.mass - 0.45) < 3 * found.mass_error < 0.1


def test_means_are_those_of_the_array(pion):
    mean = Correlator("pion", pion).mean()
    assert mean.x == list(range(EXTENT))
    np.testing.assert_allclose(mean.value, pion.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(mean.error, pion.std(axis=0, ddof=1) / np.sqrt(COUNT), rtol=1e-14)


def test_the_effective_mass_of_one_state_is_its_energy():
    """The effective masses of cosh, sinh and exp are exact: each is the formula of one state, times a factor
    for each configuration."""
    t, size = np.arange(EXTENT), 1 + 0.01 * np.random.default_rng(1).standard_normal((20, 1))
    for symmetry in (1, -1):
        shape = np.exp(-0.3 * t) + symmetry * np.exp(-0.3 * (EXTENT - t))
        found = Correlator("x", size * shape, symmetry=symmetry).effective_mass()
        np.testing.assert_allclose(found.value, 0.3, rtol=1e-9)
        assert len(found.x) >= EXTENT // 2 - 1
    found = Correlator("x", size * np.exp(-0.3 * t), symmetry=0, boundary_t="dirichlet").effective_mass()
    np.testing.assert_allclose(found.value, 0.3, rtol=1e-12)


@pytest.mark.parametrize(("type", "sign"), [("meson", 1), ("baryon", -1)])
def test_sources_are_shifted_and_averaged(type, sign):
    """Beyond the boundary the correlator of a source at t = 5 has the sign of an antiperiodic baryon."""
    exact = np.arange(1.0, EXTENT + 1)
    measured = np.empty((3, 2, EXTENT))
    times = np.array([[0, 5], [3, 9], [15, 1]])
    for row, column in np.ndindex(3, 2):
        for t in range(EXTENT):
            there = t + times[row, column]
            measured[row, column, there % EXTENT] = exact[t] * (sign if there >= EXTENT else 1)
    found = Correlator("x", measured, type=type, source_times=times)
    np.testing.assert_array_equal(found.values, np.tile(exact, (3, 1)))
    assert found.source_counts.tolist() == [2, 2, 2]


def test_rows_with_one_number_are_sources():
    rows = np.arange(5.0)[:, None] * np.ones(4)
    found = Correlator("x", rows, configurations=[30, 10, 30, 20, 10])
    assert found.numbers.tolist() == [10, 20, 30]
    assert found.source_counts.tolist() == [2, 1, 2]
    np.testing.assert_array_equal(found.values[:, 0], [2.5, 3.0, 1.0])


def test_unequal_sources_survive_the_file(pion, tmp_path):
    numbers = np.concatenate([np.arange(40), np.arange(20)])
    correlator = Correlator("pion", pion, configurations=numbers, symmetry=1)
    path = write_correlators(tmp_path / "pion.h5", [correlator])
    results = analyze(path)
    assert results.configurations.sources_per_configuration == [1, 2]
    assert any("1 to 2 sources" in note for note in results.notes)


def test_several_particles_at_once(pion):
    nucleon = NUCLEON.samples(COUNT, EXTENT, np.random.default_rng(5))
    results = analyze_correlators(
        [Correlator("pion", pion, symmetry=1), Correlator("nucleon", nucleon, type="baryon")],
        options={"max_states": 1, "ratios": [("pion", "nucleon")]},
    )
    assert set(results.particles) >= {"pion", "nucleon", "nucleon_parity_partner"}
    assert "pion/nucleon" in results.ratios


def test_a_moving_particle_has_its_momentum_in_its_name(pion):
    correlator = Correlator("pion", pion, symmetry=1, momentum=(1, 1, 0))
    assert correlator.fit(max_states=1).momentum_squared == 2
    assert correlator.label == "pion_p2"


def test_plots_are_drawn(pion, tmp_path):
    correlator = Correlator("pion", pion, symmetry=1)
    for name, fit in (("plain", None), ("fit", correlator.fit(max_states=1))):
        figure = correlator.plot(fit)
        figure.savefig(tmp_path / f"{name}.png")
        assert (tmp_path / f"{name}.png").stat().st_size > 5000
        assert len(figure.axes) >= 2


def test_a_fit_that_fails_says_why():
    constant = np.tile(np.exp(-0.3 * np.arange(EXTENT)), (20, 1))
    with pytest.raises(FitFailed, match="pion: expected at least 5 configurations with different"):
        Correlator("pion", constant, symmetry=0).fit()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"values": np.zeros((4, 1))}, "expected .configuration, time."),
        ({"values": np.full((4, 8), np.nan)}, "expected finite numbers, found nan in row 0"),
        ({"values": np.full((4, 8), 1e80)}, r"expected the largest between 1e-75 and 1e\+75, found 1.0e\+80"),
        ({"values": [["a"] * 8] * 4}, "expected numbers, found type <U1"),
        ({"type": "glueball"}, "type: expected meson or baryon, found 'glueball'"),
        ({"symmetry": 2}, "symmetry: expected .1, -1, 0 or None, for mesons, found 2"),
        ({"symmetry": 1, "type": "baryon"}, "symmetry: expected None or 0 for a baryon, found 1"),
        ({"parity": -1}, "parity: expected .1 or -1, for baryons, found -1"),
        ({"configurations": [1, 2]}, "expected 4 whole numbers of 64 bits, one for each row"),
        ({"streams": ["a", "b"]}, "expected 4 names, one for each number, found 2"),
        ({"streams": ["a|b"] * 4}, "expected a name of 1 to 64 characters"),
        ({"source_times": 8}, "expected whole numbers from 0 to 7, found 8"),
        ({"source_times": [1, 2]}, "source_times: expected one number"),
        ({"source_times": 1, "boundary_t": "dirichlet"}, "expected periodic or antiperiodic quarks"),
        ({"momentum": (1, 0)}, "momentum: expected three whole numbers"),
        ({"lattice": (8, 8, 8, 9)}, "lattice: expected .Lx, Ly, Lz, 8."),
    ],
)
def test_what_cannot_be_a_correlator_is_refused(changes, said):
    arguments = {"values": np.ones((4, 8))} | changes
    with pytest.raises(AnalysisError, match=said):
        Correlator("x", arguments.pop("values"), **arguments)


@pytest.mark.parametrize("name", ["", "a/b", "../a", ".a"])
def test_a_name_that_pictures_cannot_have_is_refused(name):
    with pytest.raises(AnalysisError, match=f"name: expected .*, found {name!r}"):
        Correlator(name, np.ones((4, 8)))


def test_one_configuration_has_no_effective_mass(pion):
    with pytest.raises(AnalysisError, match=r"the effective mass of pion needs at least 2 .* found 1"):
        Correlator("pion", pion[:1]).effective_mass()


def test_a_stream_may_have_one_configuration(pion):
    """The Gamma method of pyerrors takes no such replica; sums over pairs do."""
    streams, numbers = ["a"] * (COUNT - 1) + ["b"], [*range(COUNT - 1), 0]
    found = Correlator("pion", pion, streams=streams, configurations=numbers, symmetry=1).fit(max_states=1)
    whole = Correlator("pion", pion, symmetry=1).fit(max_states=1)
    assert found.mass == pytest.approx(whole.mass, abs=whole.mass_error)
    assert found.mass_error == pytest.approx(whole.mass_error, rel=0.5)


def test_weights_that_samples_do_not_determine_are_left_out():
    """With 60 configurations and an autocorrelation time of 4 few directions of svd are known."""
    rng = np.random.default_rng(8)
    size = np.zeros((60, EXTENT // 2 + 1))
    for k in range(60):
        before = size[k - 1] if k else rng.standard_normal(size.shape[1])
        size[k] = np.exp(-1 / 4) * before + np.sqrt(1 - np.exp(-2 / 4)) * rng.standard_normal(size.shape[1])
    folded = np.concatenate([size, size[:, -2:0:-1]], axis=1)
    t = np.arange(EXTENT)
    values = (np.exp(-0.5 * t) + np.exp(-0.5 * (EXTENT - t))) * (1 + 0.03 * folded)
    found = Correlator("pion", values, symmetry=1).fit(weights="svd", autocorrelation="gamma")
    assert abs(found.mass - 0.5) < 4 * found.mass_error < 0.2


def test_correlators_of_other_configurations_are_refused(pion, tmp_path):
    first = Correlator("a", pion)
    with pytest.raises(
        AnalysisError, match=r"expected those of a \(60 from 0 to 59\), found 59 from 0 to 58"
    ):
        write_correlators(tmp_path / "x.h5", [first, Correlator("b", pion[:-1])])
    with pytest.raises(AnalysisError, match="found two correlators"):
        write_correlators(tmp_path / "x.h5", [first, first])
    with pytest.raises(AnalysisError, match=r"ends in \.h5 or \.hdf5"):
        write_correlators(tmp_path / "x.dat", [first])
    assert not (tmp_path / "x.h5").exists()


def test_a_wrong_symmetry_in_a_file_is_refused(pion, tmp_path):
    path = write_correlators(tmp_path / "x.h5", [Correlator("pion", pion, symmetry=1)])
    with h5py.File(path, "r+") as file:
        file["correlators/pion"].attrs["time_symmetry"] = 3
    with pytest.raises(AnalysisError, match=r"time_symmetry: expected .1, -1 or 0, found 3"):
        analyze(path)
