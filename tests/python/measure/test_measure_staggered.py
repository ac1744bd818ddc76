"""These tests cover trellis measure of staggered and HISQ quarks: channels, shared solves, condensates,
files, resumed runs."""

from __future__ import annotations

import itertools
from pathlib import Path

import h5py
import numpy as np
import pytest
from command_line import run as run_command

import trellis as tr
from trellis.analysis import AnalysisOptions, analyze
from trellis.hadrons.staggered_mesons import LOCAL_CHANNELS
from trellis.measure import Step
from trellis.run_files import MeasureRun, parse_run_file

HEAD = '[configurations]\nfiles = "field.*"\n[solver]\ntolerance = 1e-11\n'
HISQ = '[fermion]\ntype = "hisq"\nmass = 0.3\nepsilon = -0.1\n'
MASSES = '[fermion]\ntype = "staggered"\nmass = 0.2\nfurther_masses = [0.5, 0.1]\n'
SOURCES = "[source]\npositions = [[0, 0, 0, 0], [1, 2, 0, 3]]\n"
CONDENSATE = "[condensate]\nvectors = 3\nnoise_seed = 7\n"
OUT = '[output]\ndirectory = "{}"\n'


def measure(text: str, **keys: object) -> tr.measure.MeasureResult:
    return tr.measure.run(parse_run_file(text, MeasureRun), **keys)


GROUPS = ("correlators", "condensates", "observables", "solves")


def content(folder: Path, *groups: str) -> dict[str, bytes]:
    """Return the datasets of the first result."""
    with h5py.File(folder / "correlators.000001.h5") as file:
        names = [f"{group}/{name}" for group in groups or GROUPS for name in file.get(group, [])]
        return {name: file[name][()].tobytes() for name in names}


@pytest.fixture(scope="module")
def fields(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fields")
    tr.quenched((4, 4, 4, 8), beta=6.0, seed=1, sweeps=4).write(folder / "field.1.ildg")
    return folder


@pytest.fixture
def folder(fields: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "field.1.ildg").symlink_to(fields / "field.1.ildg")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_hisq_has_the_eight_channels_of_a_smeared_source(folder: Path) -> None:
    text = HISQ + SOURCES + 'type = "gaussian"\nwidth = 1.0\nsteps = 4\n[sink]\ntype = "gaussian"\n'
    found = measure(HEAD + text + CONDENSATE + OUT.format("out"))
    assert found.solves == 3  # these are two sources and the condensate
    U = tr.read_gauge_field("field.1.ildg")
    M = tr.HISQ(U, mass=0.3, epsilon=-0.1)
    with h5py.File("out/correlators.000001.h5") as file:
        assert set(file["correlators"]) == set(LOCAL_CHANNELS)
        for place, at in enumerate([(0, 0, 0, 0), (1, 2, 0, 3)]):
            source = tr.gaussian_source(U, at, width=1.0, steps=4, has_spin=False)
            S = M.propagator(source, solver=tr.cg(tolerance=1e-12)).smear_sink(U, width=1.0, steps=4)
            for name, expected in tr.staggered_mesons(S, S).items():
                values = file["correlators"][name][0, place]
                np.testing.assert_allclose(values, expected, atol=1e-10 * abs(expected).max())
        expected = M.observables(n_f=1, vectors=3, seed=7, configuration=1).condensate
        np.testing.assert_allclose(file["condensates/condensate"][0], expected, rtol=1e-9)
        assert file["observables/condensate"][0] == file["condensates/condensate"][0].mean()
        attributes = dict(file["correlators/rho_t_x"].attrs)
        assert (attributes["sink"], attributes["partner"]) == ("gamma_x gamma_t", "gamma_x gamma5")
        assert (attributes["fermion"], attributes["mass"], attributes["epsilon"]) == ("hisq", 0.3, -0.1)
        assert "partner" not in file["correlators/pion_5"].attrs
        assert file["solves"].attrs["solves"] == 3


def test_masses_of_a_source_share_a_solve(folder: Path) -> None:
    text = MASSES + SOURCES + 'type = "wall"\n[correlators]\nlocal_mesons = ["pion_5", "rho_t_y"]\n'
    steps: list[Step] = []
    found = measure(HEAD + text + CONDENSATE + OUT.format("out"), on_progress=steps.append)
    assert found.solves == 3
    assert [step.completed for step in steps if step.what == "propagators"] == [0, 1, 2]
    U, masses = tr.read_gauge_field("field.1.ildg"), (0.2, 0.5, 0.1)
    M = tr.Staggered(U, mass=1.0)
    with h5py.File("out/correlators.000001.h5") as file:
        names = [f"m{a}_m{b}" for a, b in itertools.combinations_with_replacement(masses, 2)]
        wanted = {f"pion_5_{pair}" for pair in names} | {f"rho_t_{pair}_y" for pair in names}
        assert set(file["correlators"]) == wanted
        wall = tr.wall_source(U.geometry, 3, has_spin=False, sites="corners")
        quarks = dict(zip(masses, M.propagators(wall, masses=masses), strict=True))
        for a, b in itertools.combinations_with_replacement(masses, 2):
            mesons = tr.staggered_mesons(quarks[a], quarks[b])
            data = file["correlators"][f"rho_t_m{a}_m{b}_y"]
            np.testing.assert_allclose(data[0, 1], mesons["rho_t_y"], atol=1e-8)
            assert (data.attrs["mass"], data.attrs["antiquark_mass"]) == (a, b)
            assert ("partner" in file["correlators"][f"pion_5_m{a}_m{b}"].attrs) == (a != b)
        expected = M.condensates(masses=masses, vectors=3, seed=7, configuration=1).condensate
        for mass, values in zip(masses, expected, strict=True):
            np.testing.assert_allclose(file[f"condensates/condensate_m{mass}"][0], values, rtol=1e-8)
        assert list(file["solves"].attrs["masses"]) == list(masses)
        assert file["solves/iterations"].shape == (1, 3)
        assert (file["solves/relative_residual"][0] <= 1e-11).all()


@pytest.mark.parametrize("format", ["hdf5", "lime"])
def test_a_stopped_run_and_stored_propagators_have_the_same_bits(folder: Path, format: str) -> None:
    text = HEAD + MASSES + SOURCES + CONDENSATE
    keep = f'propagators = true\npropagator_format = "{format}"\n'
    measure(text + OUT.format("whole"))

    def stop(step: Step) -> None:
        if step.what == "propagators" and step.completed == 1:
            raise KeyboardInterrupt

    assert measure(text + OUT.format("stopped") + keep, on_progress=stop).stopped
    assert measure(text + OUT.format("stopped") + keep, resume=True).solves == 1
    assert content(folder / "stopped") == content(folder / "whole")
    suffix = {"hdf5": "h5", "lime": "lime"}[format]
    assert (folder / f"stopped/propagator_m0.5.000001.1.{suffix}").is_file()
    more = HEAD + MASSES + SOURCES + "[correlators]\nmax_momentum_squared = 1\n"
    stored = '[stored_propagators]\ndirectory = "stopped"\n'
    read = measure(more + stored + OUT.format("read"))
    assert (read.solves, read.stored_propagators) == (0, 6)
    measure(more + OUT.format("solved"))
    assert content(folder / "read", "correlators") == content(folder / "solved", "correlators")
    # A propagator that is missing is solved for with all others, so that its bits are the same.
    (folder / f"stopped/propagator_m0.5.000001.1.{suffix}").unlink()
    with pytest.raises(tr.BadArgument, match="found neither"):
        measure(more + stored + OUT.format("error"))
    read = measure(more + stored + 'missing = "solve"\n' + OUT.format("mixed"))
    assert (read.solves, read.stored_propagators) == (1, 5)
    assert content(folder / "mixed", "correlators") == content(folder / "solved", "correlators")
    other = more.replace("mass = 0.2", "mass = 0.3").replace("[0.5, 0.1]", "[]")
    with pytest.raises(tr.BadArgument, match=r"fermion: expected Staggered\(mass=0.3.*mass = 0.2, not 0.3"):
        measure(other + stored + OUT.format("other"))


def test_one_mass_may_start_from_a_stored_guess_and_have_any_solver(folder: Path) -> None:
    one = HEAD + '[fermion]\ntype = "staggered"\nmass = {}\n' + '[correlators]\nlocal_mesons = ["pion_5"]\n'
    measure(one.format(0.2) + OUT.format("first") + "propagators = true\n")
    guess = '[stored_propagators]\ndirectory = "first"\nuse = "guess"\n'
    with h5py.File("first/correlators.000001.h5") as file:
        iterations = file["solves/iterations"][0, 0]
    measure(one.format(0.201) + guess + OUT.format("near"))
    with h5py.File("near/correlators.000001.h5") as file:
        assert file["solves/iterations"][0, 0] < iterations
    gcr = one.format(0.2).replace("[solver]\n", '[solver]\ntype = "gcr"\n')
    measure(gcr + OUT.format("gcr"))
    with h5py.File("gcr/correlators.000001.h5") as file, h5py.File("first/correlators.000001.h5") as first:
        name = "correlators/pion_5"
        np.testing.assert_allclose(file[name][:], first[name][:], rtol=1e-9)
        assert "gcr" in file["solves"].attrs["solver"]


def test_doubtful_keys_are_warned_of(folder: Path) -> None:
    text = HISQ + '[source]\ntype = "gaussian"\nwidth = 4.0\nsteps = 5\n'
    text += "[correlators]\nmax_momentum_squared = 4\n" + OUT.format("out")
    (folder / "run.toml").write_text(HEAD + text)
    said = run_command("measure", "run.toml", cwd=folder).stderr
    assert said.count("width^2 / (16 steps) is above 1/6") == 1
    assert "here at least 6" in said
    assert said.count("beyond L/4 on [4, 4, 4] are smaller momenta of another local meson") == 1


def test_the_example_runs(folder: Path) -> None:
    text = (Path(__file__).resolve().parents[3] / "examples/staggered_mesons.toml").read_text()
    found = measure(text.replace("hisq/configuration.*.ildg", "field.1.ildg"))
    assert found.solves == 3
    with h5py.File(found.files[0]) as file:
        assert len(file["correlators"]) == 6 * 5
        assert len(file["observables"]) == 3


def test_ranks_have_the_same_bits(folder: Path) -> None:
    (folder / "run.toml").write_text(HEAD + MASSES + SOURCES + CONDENSATE + OUT.format("alone"))
    run_command("measure", "run.toml", cwd=folder)
    (folder / "run.toml").write_text(HEAD + MASSES + SOURCES + CONDENSATE + OUT.format("two"))
    said = run_command("measure", "run.toml", cwd=folder, ranks=2).stdout
    assert "3 solves, at most" in said
    assert content(folder / "two") == content(folder / "alone")


def test_analyses_read_channels_and_condensates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for number in range(1, 13):
        tr.quenched((4, 4, 4, 16), beta=6.0, seed=number, sweeps=3).write(f"field.{number}.ildg")
    text = HISQ + '[source]\ntype = "noise"\nnoise_seed = 3\n' + CONDENSATE
    measure(HEAD + text + OUT.format("all"))
    options = AnalysisOptions(minimum_configurations=6)
    results = analyze("all", options=options)
    assert set(results.particles) | set(results.not_fitted) == {"pion_5", "pion_t5", "rho", "rho_t"}
    assert results.particles["pion_5"].mass > 0.5
    assert results.particles["pion_5"].image == 1
    with_partner = results.particles["rho"]
    assert with_partner.members == ["rho_x", "rho_y", "rho_z"]
    assert "log(Eo)" in with_partner.fit.parameters
    assert "log(Eo)" not in results.particles["pion_5"].fit.parameters
    # Condensates stand alone, with more vectors than one solve has.
    measure(
        HEAD
        + HISQ
        + CONDENSATE.replace("3", "15")
        + "[correlators]\nlocal_mesons = []\n"
        + OUT.format("condensates")
    )
    with h5py.File("condensates/correlators.000001.h5") as file:
        assert "correlators" not in file
        assert file["solves/iterations"].shape == (1, 2)
        assert file["condensates/condensate"].shape == (1, 15)
        with h5py.File("all/correlators.000001.h5") as few:
            first = few["condensates/condensate"][0]
        np.testing.assert_allclose(file["condensates/condensate"][0, :3], first, rtol=1e-8)
    assert "condensate" in analyze("condensates", options=options).observables


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ('[correlators]\nmesons = ["pion"]', "correlators.mesons: belongs to quarks with spin; mesons of"),
        (
            "[deflation]\nmodes = 4",
            'deflation: belongs to quarks with spin, found fermion.type = "staggered"',
        ),
        ('[feynman_hellmann]\ncurrents = ["A3"]', "feynman_hellmann.currents: belongs to quarks with spin"),
        ('[solver]\ntype = "gcr"', 'solver.type: several masses share one multi-shift solve.*expected "cg"'),
        ('[solver]\neven_odd = "none"', 'solver.even_odd: .*another form than "none"'),
        ('[source]\nsites = "all"', "source.sites: expected source.type = .wall. or .noise. beside it"),
        (
            '[source]\ntype = "noise"\nnoise_seed = 1\n[correlators]\nmax_momentum_squared = 1',
            "max_momentum_squared: with a source of type noise expected 0",
        ),
        ("[correlators]\nlocal_mesons = []", "nothing is made of the solves: give correlators.local_mesons"),
        (
            '[stored_propagators]\ndirectory = "x"\nuse = "guess"',
            "stored_propagators.use: several masses share one multi-shift solve, which starts from zero",
        ),
    ],
)
def test_what_staggered_quarks_do_not_have_is_refused(tables: str, message: str) -> None:
    text = '[configurations]\nfiles = "field.*"\n' + MASSES + tables + "\n" + OUT.format("out")
    with pytest.raises(tr.RunFileError, match=message):
        parse_run_file(text, MeasureRun)


def test_other_refusals() -> None:
    head, out = '[configurations]\nfiles = "field.*"\n', OUT.format("out")
    for text, message in (
        (MASSES.replace("0.5, 0.1", "0.5, 0.2"), "further_masses: twice the same mass"),
        (HISQ + "[smearing]\nstout = { rho = 0.1, steps = 1 }\n", "smearing: hisq has its own two levels"),
        (
            '[fermion]\ntype = "wilson"\nkappa = 0.1\n' + CONDENSATE,
            "condensate: belongs to a fermion of type",
        ),
        (
            '[fermion]\ntype = "wilson"\nkappa = 0.1\n[source]\ntype = "wall"\nsites = "all"\n',
            "source.sites: belongs to a fermion of type",
        ),
    ):
        with pytest.raises(tr.RunFileError, match=message):
            parse_run_file(head + text + out, MeasureRun)
