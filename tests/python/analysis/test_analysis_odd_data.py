"""These tests cover trellis analyze of little, constant, noisy and mixed data: results with errors, or a
sentence."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from trellis.analysis import MeasurementFileError, analyze, read_measurements
from trellis.analysis.synthetic import write_synthetic_measurements
from trellis.commands.analysis_summary import NOTHING_FITTED, run


def edited(path: Path, change: Callable[[np.ndarray], np.ndarray], **options: Any) -> Path:
    """Write a measurement file whose correlators, [configuration, source, momentum, time], are changed."""
    write_synthetic_measurements(path, **options)
    with h5py.File(path, "a") as file:
        for dataset in file["correlators"].values():
            dataset[...] = change(dataset[()]).astype(complex)
    return path


def combined(values: np.ndarray, of: int) -> np.ndarray:
    """Return configurations each of which is a sum of the first few."""
    weights = np.random.default_rng(3).random((len(values), of))
    return np.tensordot(weights / weights.sum(axis=1, keepdims=True), values[:of], axes=1)


def noise(values: np.ndarray) -> np.ndarray:
    return np.random.default_rng(1).standard_normal(values.shape)


def lost_after(values: np.ndarray, t: int) -> np.ndarray:
    """Return values that are large at the source, and noise of mean zero from there on, from both sides."""
    result, end = values.copy(), values.shape[-1] - t + 1
    result[..., t:end] = 1e-3 * noise(values[..., t:end])
    return result


def errors_without_size(content: Any, path: str = "") -> Iterator[str]:
    """Yield every number that is not finite, and every error of a value that is 0."""
    if isinstance(content, dict):
        for key, value in content.items():
            yield from errors_without_size(value, f"{path}.{key}")
    elif isinstance(content, list):
        for k, value in enumerate(content):
            yield from errors_without_size(value, f"{path}[{k}]")
    elif isinstance(content, float):
        is_statistical = path.endswith(("mass_error", "statistical_error", ".error"))
        if not math.isfinite(content) or (is_statistical and content == 0):
            yield f"{path} = {content}"


SAME = "configurations with different correlators, found"
#: Each entry has what is done to good data, and a part of the reason why nothing is fitted.
ODD: dict[str, tuple[Callable[[np.ndarray], np.ndarray], dict, str]] = {
    "all equal": (lambda v: np.broadcast_to(v[0], v.shape), {}, f"{SAME} 1 among 60"),
    "two of many": (lambda v: v[np.arange(len(v)) % 2], {}, f"{SAME} 2 among 60"),
    "sums of two": (lambda v: combined(v, 2), {}, "time slices to vary in"),
    "zero": (lambda v: 0 * v, {}, "not zero at t = 1, found 0"),
    "noise alone": (noise, {}, "the signal ends at t = 0"),
    "lost at once": (lambda v: lost_after(v, 1), {}, "the signal ends at t = 0"),
    "lost at 3": (lambda v: lost_after(v, 3), {}, "the signal ends at t = 2;"),
    "alternating": (lambda v: v * (-1.0) ** np.arange(v.shape[-1]), {}, "the signal ends at t = 1"),
    "T = 4": (lambda v: v, {"lattice": (4, 4, 4, 4)}, "t = 2, the last that fits use of 4 times"),
    "T = 3": (lambda v: v, {"lattice": (4, 4, 4, 3)}, "t = 1, the last that fits use of 3 times"),
    "T = 2": (lambda v: v, {"lattice": (4, 4, 4, 2)}, "t = 1, the last that fits use of 2 times"),
}


@pytest.mark.parametrize(("change", "options", "reason"), ODD.values(), ids=ODD.keys())
def test_odd_data_are_named(
    tmp_path: Path,
    capsys: pytest.CaptureFixture,
    change: Callable[[np.ndarray], np.ndarray],
    options: dict,
    reason: str,
) -> None:
    """Nothing is fitted, the reason is in the report, and no number lacks an error."""
    path = edited(tmp_path / "odd.h5", change, **options)
    assert run(path, tmp_path / "out") == NOTHING_FITTED == 4
    assert (tmp_path / "out" / "report.html").exists()
    content = json.loads((tmp_path / "out" / "results.json").read_text())
    assert reason in content["not_fitted"]["pion"]
    assert not content["particles"]
    assert list(errors_without_size(content)) == []
    assert re.search(r"not fitted: ([a-z]+, )*pion", capsys.readouterr().out)
    assert "pion" in (tmp_path / "out" / "report.html").read_text()


def test_the_same_number_on_all_configurations(tmp_path: Path) -> None:
    """A baryon has the same number on one time slice: the weights of its fits would be infinite."""

    def frozen(values: np.ndarray) -> np.ndarray:
        values[..., 3] = values[0, ..., 3]
        return values

    results = analyze(edited(tmp_path / "odd.h5", frozen))
    assert "the same on all 60 at t = 3" in results.not_fitted["nucleon"]
    with h5py.File(tmp_path / "odd.h5", "a") as file:
        for dataset in file["correlators"].values():
            dataset[..., 0] = 0
    results = analyze(tmp_path / "odd.h5", options={"t_min_first": 0})
    assert "the same on all 60 at t = 0" in results.not_fitted["nucleon"]


def test_a_single_time_is_refused_in_words(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """A single time is refused in a sentence; it was an IndexError."""
    write_synthetic_measurements(tmp_path / "one.h5", lattice=(4, 4, 4, 1))
    assert run(tmp_path / "one.h5", tmp_path / "out") == 1
    assert "expected a correlator of at least 2 times, found T = 1" in capsys.readouterr().err


@pytest.mark.parametrize("t", [1, 3, 5, 8, 11, 15])
def test_a_time_without_numbers_is_named(tmp_path: Path, t: int) -> None:
    """Zeros at one time on all configurations made windows end there, or halved the folded correlator."""

    def cleared(values: np.ndarray) -> np.ndarray:
        values[..., t] = 0
        return values

    results = analyze(edited(tmp_path / "odd.h5", cleared))
    said = f"expected numbers at every time, found 0 on all 60 configurations at t = {t}"
    assert results.not_fitted["pion"] == said
    assert results.not_fitted["rho"] == f"rho_x: {said}"
    if t < 15:  # files of forward states have zeros at the end
        assert results.not_fitted["nucleon"] == said


def test_one_member_of_an_average_without_numbers_is_named(tmp_path: Path) -> None:
    write_synthetic_measurements(tmp_path / "odd.h5")
    with h5py.File(tmp_path / "odd.h5", "a") as file:
        file["correlators/rho_y"][..., 5] = 0
        file["correlators/pion"][:3, ..., 6] = 0
        file["correlators/nucleon"][..., 12:] = 0
    results = analyze(tmp_path / "odd.h5")
    assert results.not_fitted["rho"].startswith("rho_y: expected numbers at every time")
    (said,) = [text for text in results.warnings if "pion" in text]
    assert said.startswith("pion: exactly 0 at t = 6 on 3 of 60 configurations")
    assert "nucleon" in results.particles


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_few_configurations(tmp_path: Path, capsys: pytest.CaptureFixture, count: int) -> None:
    write_synthetic_measurements(tmp_path / "few.h5", configurations=range(count))
    assert run(tmp_path / "few.h5", tmp_path / "out") == 1
    said = capsys.readouterr().err
    assert "at least 5 independent configurations (options.minimum_configurations = 5)" in said
    assert f", found {count}" in said


def test_a_sign_and_a_phase_change_nothing(tmp_path: Path) -> None:
    """Correlators have the other sign or a phase: conventions differ, masses do not."""
    plain = analyze(edited(tmp_path / "plain.h5", lambda v: v))
    negative = analyze(edited(tmp_path / "negative.h5", lambda v: -v))
    for name, particle in plain.particles.items():
        if not name.endswith("partner"):
            assert negative.particles[name].mass == pytest.approx(particle.mass, rel=1e-9)
            assert negative.particles[name].mass_error == pytest.approx(particle.mass_error, rel=1e-6)


def test_copies_of_configurations_are_warned_about(tmp_path: Path) -> None:
    path = edited(tmp_path / "copies.h5", lambda v: np.concatenate([v[:55], v[:5]]))
    said = " ".join(analyze(path).warnings)
    assert "5 configurations have the same correlators as another one, the first 650 those of 100" in said
    assert "have the same" not in " ".join(analyze(edited(tmp_path / "plain.h5", lambda v: v)).warnings)


def two_files(folder: Path, sources: int = 2) -> tuple[Path, Path]:
    folder.mkdir(exist_ok=True)
    first, second = folder / "a.h5", folder / "b.h5"
    write_synthetic_measurements(first, configurations=range(1, 21))
    write_synthetic_measurements(second, configurations=range(21, 41), sources=sources, seed=2)
    return first, second


def test_unequal_numbers_of_sources(tmp_path: Path) -> None:
    two_files(tmp_path / "in", sources=1)
    results = analyze(tmp_path / "in")
    assert any("1 to 2 sources on a configuration" in note for note in results.notes)
    assert results.configurations.sources_per_configuration == [1, 2]
    assert not list(errors_without_size(json.loads(results.to_json())))


PHYSICS = {
    "run_file_language": 2,
    "fermion": {"type": "twisted_mass", "kappa": 0.13, "csw": 1.0, "twisted_mass": 0.02},
    "smearing": {"stout": {"rho": 0.1, "steps": 1, "spatial": False}, "ape": None},
    "source": {"type": "gaussian", "width": 2.0, "positions": [[0, 0, 0, 0]], "shift_seed": 1},
    "sink": {"type": "point"},
    "solver": {"tolerance": 1e-9},
}


@pytest.mark.parametrize(
    ("table", "key", "value", "is_refused"),
    [
        ("fermion", "twisted_mass", 0.01, True),
        ("smearing", "stout", {"rho": 0.1, "steps": 2, "spatial": False}, True),
        ("source", "width", 3.0, True),
        ("source", "positions", [[0, 0, 0, 4]], False),
        ("solver", "tolerance", 1e-12, False),
    ],
)
def test_results_of_two_run_files(
    tmp_path: Path, table: str, key: str, value: object, is_refused: bool
) -> None:
    """Other sources and accuracies may be put together, other quarks and smearings may not."""
    changed = {**PHYSICS, table: {**PHYSICS[table], key: value}}
    for path, physics in zip(two_files(tmp_path / "in"), (PHYSICS, changed), strict=True):
        with h5py.File(path, "a") as file:
            file.attrs["physics"] = json.dumps(physics)
    if not is_refused:
        assert len(read_measurements(tmp_path / "in").configurations) == 40
        return
    with pytest.raises(MeasurementFileError) as raised:
        read_measurements(tmp_path / "in")
    said = str(raised.value)
    assert f"b.h5: {table}.{key} of the run file: expected {PHYSICS[table][key]} as in" in said
    assert said.endswith(f"found {value}")


def test_other_smearings_of_other_programs(tmp_path: Path) -> None:
    """Files without the tables of a run file are compared by the attributes of their correlators."""
    _, second = two_files(tmp_path / "in")
    with h5py.File(second, "a") as file:
        for dataset in file["correlators"].values():
            dataset.attrs["source_smearing"] = "gaussian width=2 steps=4"
    with pytest.raises(MeasurementFileError, match="attribute source_smearing of nucleon: expected None"):
        read_measurements(tmp_path / "in")


@pytest.mark.parametrize(
    ("key", "value", "absent"),
    [
        ("nu", 0.9, "1.0"),
        ("xi0", 3.4, "1.0"),
        ("twisted_mass", 0.01, "0.0"),
        ("csw_temporal", 1.2, "1.0"),
        ("csw_temporal", 1.0, None),
        ("nu", 1.0, None),
    ],
)
def test_quarks_that_differ_in_one_parameter(
    tmp_path: Path, key: str, value: float, absent: str | None
) -> None:
    """A parameter that a file does not name has its usual value: files that name that one go with it."""
    for path in two_files(tmp_path / "in"):
        with h5py.File(path, "a") as file:
            for dataset in file["correlators"].values():
                dataset.attrs["csw"] = 1.0
                if path.name == "b.h5":
                    dataset.attrs[key] = value
    if absent is None:
        assert len(read_measurements(tmp_path / "in").configurations) == 40
        return
    with pytest.raises(MeasurementFileError, match=f"attribute {key} of .*expected {absent} as in") as raised:
        read_measurements(tmp_path / "in")
    assert str(raised.value).endswith(f"found {value}")


def with_currents(folder: Path, count: int, change: Callable[[str, np.ndarray], np.ndarray]) -> Path:
    """Return a nucleon, its Feynman-Hellmann and three-point functions and the midpoint of domain walls."""
    rng = np.random.default_rng(6)
    times = np.arange(16)
    C = np.exp(-0.5 * times) * (1 + 0.02 * rng.standard_normal((count, 16)))
    N = C * (1.2 * times + 0.02 * rng.standard_normal((count, 16)))
    sets = {"nucleon": C, "fh_A3_UU": 1.5 * N, "fh_A3_DD": 0.5 * N}
    sets |= {"three_point_A3_t03": 1.2 * C[:, 3:4] * (1 + 0.01 * rng.standard_normal((count, 16)))}
    sets |= {"midpoint": 2e-3 * C * (1 + 0.1 * rng.standard_normal((count, 16))), "midpoint_pion": C}
    kinds = {"nucleon": "baryon", "fh": "feynman_hellmann", "three": "three_point", "midpoint": "midpoint"}
    with h5py.File(folder / "currents.h5", "w") as file:
        file.attrs.update(kind="measurement", lattice=[8, 8, 8, 16])
        file["configurations"] = np.arange(count)
        for name, values in sets.items():
            changed = np.broadcast_to(change(name, values), values.shape)
            dataset = file.create_dataset(f"correlators/{name}", data=changed[:, None, None, :] + 0j)
            kind = kinds[name.split("_")[0]]
            dataset.attrs.update(type=kind, boundary_t="antiperiodic", particle="nucleon", momenta=[0, 0, 0])
    return folder / "currents.h5"


@pytest.mark.parametrize(
    ("part", "value", "name", "reason"),
    [
        ("", 0.0, "m_res", "expected a pion without zeros, found 0 at t = 2"),
        ("", 0.0, "nucleon charges", "C: expected configurations that differ, found 40 equal ones"),
        ("midpoint", 2.0, "m_res", "expected configurations that differ, found 1 on each"),
        ("nucleon", None, "nucleon charges", "C: expected numbers at every time, found 0 on all 40"),
        ("fh_A3", None, "nucleon charges", "N of A: expected numbers at every time, found 0 on all 40"),
        ("midpoint$", None, "m_res", "midpoint: expected numbers at every time, found 0"),
        ("three_point", None, "three-point functions of A", "0 on all 40 configurations at t = 2"),
        ("three_point", 0.0, "three-point functions of A", "expected configurations that differ"),
    ],
)
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_charges_of_odd_data(tmp_path: Path, part: str, value: float | None, name: str, reason: str) -> None:
    """A charge that has no error is left out with its reason; the report with its figures is made."""

    def change(name: str, values: np.ndarray) -> np.ndarray:
        if not re.match(part, name):
            return values
        return np.full_like(values, value) if value is not None else np.where(np.arange(16) == 2, 0, values)

    path = with_currents(tmp_path, 40, change)
    results = analyze(path, output=tmp_path / "out")
    assert reason in results.not_fitted[name]
    assert not list(errors_without_size(json.loads(results.to_json())))
    assert (tmp_path / "out" / "report.html").exists()


def test_charges_do_not_depend_on_the_sign_of_the_nucleon(tmp_path: Path) -> None:
    plain, turned = (
        analyze(with_currents(tmp_path, 40, lambda name, v, sign=sign: sign * v)).nucleon_charges
        for sign in (1, -1)
    )
    assert plain is not None
    assert turned is not None
    assert turned.charges["A"].value == pytest.approx(plain.charges["A"].value, rel=1e-12)
    assert turned.three_point["A"].midpoint == plain.three_point["A"].midpoint


def test_a_chain_that_never_accepts_is_warned_about(tmp_path: Path) -> None:
    """The series of such a chain stand still, and <exp(-dH)> underflows to 0."""
    with h5py.File(tmp_path / "stream.h5", "w") as file:
        file.attrs.update(kind="gauge_stream", lattice=[4, 4, 4, 8])
        file["trajectory"] = np.arange(1, 31)
        file["observables/dH"] = 7771 + np.random.default_rng(3).standard_normal(30)
        for name in ("accepted", "exp_minus_dH"):
            file[f"observables/{name}"] = np.zeros(30)
    results = analyze(tmp_path / "stream.h5")
    assert any("none of 30 trajectories was accepted" in text for text in results.warnings)


def test_a_susceptibility_that_was_added_later(tmp_path: Path) -> None:
    """The tables of on-line measurements may change when a run goes on: those of both are taken."""
    rng = np.random.default_rng(2)
    with h5py.File(tmp_path / "stream.h5", "w") as file:
        file.attrs.update(kind="gauge_stream", lattice=[4, 4, 4, 8])
        file["trajectory"] = np.arange(1, 41)
        file["observables/plaquette"] = 0.6 + 0.001 * rng.standard_normal(40)
        for name, numbers, shape in (
            ("condensate.l", np.arange(2, 41, 2), (20, 4)),
            ("number_density.l", np.arange(2, 41, 2), (20, 4)),
            ("susceptibility_connected.l", np.arange(22, 41, 2), (10, 4)),
            ("susceptibility_disconnected.l", np.arange(22, 41, 2), (10,)),
        ):
            file[f"occasional/{name}/trajectory"] = numbers
            imaginary = 0 if name == "condensate.l" else 1j * rng.standard_normal(shape)
            file[f"occasional/{name}/value"] = rng.standard_normal(shape) + imaginary
    results = analyze(tmp_path / "stream.h5")
    assert results.stream is not None
    assert results.observables["number_density.l_real"].count == 20
    assert results.stream.derived["quark_number_susceptibility.l"].error > 0


def test_the_summary_names_a_particle_once(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    assert run(edited(tmp_path / "odd.h5", lambda v: 0 * v), tmp_path / "out") == NOTHING_FITTED
    said = capsys.readouterr().out
    assert "not fitted: nucleon, pion, rho: expected a correlator" in said.replace("\n", "")


def test_what_is_not_fitted_is_listed_by_reason(capsys: pytest.CaptureFixture) -> None:
    from types import SimpleNamespace

    from rich.console import Console

    from trellis.commands.analysis_summary import _print_not_fitted

    reasons = {f"meson_{n:02d}": "no signal" for n in range(9)} | {"pion": "one configuration"}
    _print_not_fitted(SimpleNamespace(not_fitted=reasons), Console(width=200))  # type: ignore[arg-type]
    assert capsys.readouterr().out.splitlines() == [
        "not fitted: meson_00, meson_01, meson_02, meson_03 and 5 more: no signal",
        "not fitted: pion: one configuration",
    ]
