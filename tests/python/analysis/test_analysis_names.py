"""Results have names of their own, and nothing that was measured is left out without a word."""

import numpy as np
import pytest

from trellis.analysis import AnalysisError, Correlator, analyze, analyze_correlators, write_correlators
from trellis.commands.analysis_summary import NOTHING_FITTED, run
from trellis.ground.errors import RunFileError

EXTENT, COUNT = 16, 30


def meson(name, energy, seed=1, **more):
    t = np.arange(EXTENT)
    shape = np.exp(-energy * t) + np.exp(-energy * (EXTENT - t))
    noise = 1 + 0.01 * np.random.default_rng(seed).standard_normal((COUNT, EXTENT))
    return Correlator(name, shape * noise, symmetry=1, **more)


GEVP = {"pion": {"matrix": [["a", "b"], ["b", "c"]], "t0": 2, "t_vectors": 4}}


@pytest.mark.parametrize(
    ("measured", "options", "said"),
    [
        (
            ["pion_0", "a", "b", "c"],
            {"gevp": GEVP},
            "pion_0: .* the correlator pion_0 and for state 0 of gevp.pion",
        ),
        (
            ["rho", "a", "d"],
            {"simultaneous": {"rho": ["a", "d"]}},
            "rho: .* for the simultaneous fit of a, d",
        ),
        (["x", "a", "d"], {"averages": {"x": ["a", "d"]}}, "averages: expected another name than 'x'"),
    ],
)
def test_two_results_with_one_name_are_refused(measured, options, said):
    """The second one would take the place of the first."""
    every = [meson(name, 0.3 + 0.1 * k, seed=k) for k, name in enumerate(measured)]
    with pytest.raises(AnalysisError, match=said):
        analyze_correlators(every, options=options)


def test_momenta_and_partners_have_names_of_their_own():
    moving = meson("a", 0.5, momentum=(1, 0, 0))
    with pytest.raises(
        AnalysisError, match=r"a_p1: .* the correlator a at \|n\|\^2 = 1 and for the correlator a_p1"
    ):
        analyze_correlators([moving, meson("a_p1", 0.3)])
    t = np.arange(EXTENT)
    values = np.exp(-0.5 * t) * (1 + 0.01 * np.random.default_rng(1).standard_normal((COUNT, EXTENT)))
    baryon = {"type": "baryon"}
    pair = [Correlator("nucleon", values, **baryon), Correlator("nucleon_parity_partner", values, **baryon)]
    with pytest.raises(AnalysisError, match=r"nucleon_parity_partner: .* the parity partner of nucleon"):
        analyze_correlators(pair)


def test_a_simultaneous_fit_may_take_the_place_of_its_member():
    every = [meson("pion", 0.3), meson("pion_smeared", 0.3, seed=2)]
    found = analyze_correlators(every, options={"simultaneous": {"pion": ["pion", "pion_smeared"]}})
    assert set(found.particles) == {"pion", "pion_smeared"}


@pytest.mark.parametrize("key", ["gevp", "simultaneous", "averages"])
@pytest.mark.parametrize("name", ["a/b", "x" * 300, "a$b_{$", ".a", "\udc80"])
def test_names_that_no_picture_can_have_are_refused_before_the_fits(key, name):
    value = GEVP["pion"] if key == "gevp" else ["a"]
    with pytest.raises(RunFileError, match="a name that can be that of a file"):
        analyze_correlators([meson("a", 0.3)], options={key: {name: value}})


def test_a_name_that_comes_twice_in_an_average_is_refused():
    with pytest.raises(RunFileError, match="expected each name once, found 'a' again"):
        analyze_correlators([meson("a", 0.3)], options={"averages": {"x": ["a", "a", "b"]}})


def test_an_array_at_a_momentum_and_its_file_give_the_same(tmp_path):
    moving = meson("pion", 0.5, momentum=(1, 0, 0))
    found = analyze(write_correlators(tmp_path / "m.h5", [moving]))
    assert found.particles["pion_p1"].mass == analyze_correlators([moving]).particles["pion_p1"].mass


def test_correlators_that_no_particle_is_named_for_are_listed(tmp_path, capsys):
    """Nothing is fitted by default of a file with such correlators alone, and the status says so."""
    import h5py

    path = write_correlators(tmp_path / "m.h5", [meson("gamma_9", 0.5)])
    with h5py.File(path, "a") as file:
        del file["correlators/gamma_9"].attrs["particle"]
    assert run(path, tmp_path / "out") == NOTHING_FITTED
    said = " ".join(capsys.readouterr().out.split())
    assert "gamma_9" in said
    assert "the option particles" in said
    assert "gamma_9" in analyze(path, options={"particles": ["gamma_9"]}).particles


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"name": 5}, "name: expected a name that can be that of a file"),
        ({"values": [[1.0, 2.0], [1.0]]}, "values: expected an array"),
        ({"values": np.ma.masked_greater(np.arange(64.0).reshape(4, 16), 60)}, "found 3 masked ones"),
        ({"lattice": 16}, r"lattice: expected \[Lx, Ly, Lz, 16\], found 16"),
        ({"lattice": (8.5, 8, 8, 16)}, "lattice: expected"),
        ({"lattice": (-8, 8, 8, 16)}, "lattice: expected"),
        ({"streams": 7}, "streams: expected 4 names"),
        ({"symmetry": np.array([1, 1])}, "symmetry: expected a whole number"),
        ({"configurations": np.array([1, 2, 3, 2**63], dtype=np.uint64)}, "whole numbers of 64 bits"),
        ({"boundary_t": "open"}, "boundary_t: expected periodic, antiperiodic or dirichlet, found 'open'"),
    ],
)
def test_plain_mistakes_are_named(arguments, said):
    given = {"name": "x", "values": np.ones((4, 16))} | arguments
    with pytest.raises(AnalysisError, match=said):
        Correlator(given.pop("name"), given.pop("values"), **given)


@pytest.mark.parametrize("beta", [np.nan, "six", True])
def test_a_beta_that_is_no_number_is_not_written(beta, tmp_path):
    with pytest.raises(AnalysisError, match="beta: expected a finite number"):
        write_correlators(tmp_path / "m.h5", [meson("a", 0.3)], beta=beta)
    assert not (tmp_path / "m.h5").exists()


def test_a_single_correlator_needs_no_list():
    assert "a" in analyze_correlators(meson("a", 0.3)).particles
    with pytest.raises(AnalysisError, match="expected correlators, found"):
        analyze_correlators([np.ones((4, 16))])
    few = Correlator("a", np.ones((3, 16)))
    with pytest.raises(AnalysisError, match=r"^a: "):
        few.fit()
