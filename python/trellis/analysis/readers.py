"""Reading measurement files: one file, several, or folders of them, into one set of configurations.

The layout is described in doc/howto/analyse.md. Nothing is guessed: a file that differs in lattice,
conventions or quantum numbers, a configuration that occurs twice and a number that is not finite are refused,
with the name of the file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import h5py
import numpy as np
from numpy.typing import NDArray

from .errors import AnalysisError, MeasurementFileError
from .lalibe import LalibeConfiguration, is_lalibe, read_lalibe_file

MEASUREMENT = "measurement"
GAUGE_STREAM = "gauge_stream"
_SUFFIXES = (".h5", ".hdf5")
#: Attributes of a correlator that have to agree in all files.
_IDENTITY = (
    "type",
    "particle",
    "source",
    "sink",
    "boundary_t",
    "kappa",
    "csw",
    "mass",
    "fermion",
    "b5",
    "c5",
    "M5",
    "Ls",
)
_REQUIRED = ("type", "boundary_t")


@dataclass
class CorrelatorData:
    """One correlator on all configurations, averaged over the sources of each.

    Attributes
    ----------
    values
        complex128, shape [configuration, momentum, time]; time counts from the source.
    momenta
        int, shape [momentum, 3].
    source_counts
        Sources per configuration, shape [configuration].
    attributes
        The attributes of the dataset (type, particle, source, sink, boundary_t, ...).
    """

    name: str
    values: NDArray
    momenta: NDArray
    source_counts: NDArray
    attributes: dict


@dataclass
class ObservableSeries:
    """A number per trajectory, for the time series and the autocorrelation."""

    name: str
    trajectories: NDArray
    values: NDArray


@dataclass
class ArraySeries:
    """An array per trajectory: values[trajectory, ...]; axis: what the second index stands for, or None."""

    name: str
    trajectories: NDArray
    values: NDArray
    axis: NDArray | None = None


@dataclass
class InputFile:
    """Where data came from."""

    path: str
    kind: str
    bytes: int
    sha256: str
    configurations: int
    attributes: dict


@dataclass
class Measurements:
    """All that was read.

    Attributes
    ----------
    lattice
        (Lx, Ly, Lz, Lt).
    configurations
        Trajectory numbers, ascending, shape [configuration].
    correlators, observables
        By name. Noise vectors of a stream's traces are averaged in `observables`.
    arrays
        On-line measurements that are arrays: noise vectors, flows, Wilson loops.
    solves
        Solver records: column name -> list of arrays [source] per configuration, plus "solver": text.
    """

    lattice: tuple[int, int, int, int] | None = None
    beta: float | None = None
    conventions_version: str | None = None
    configurations: NDArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    correlators: dict[str, CorrelatorData] = field(default_factory=dict)
    observables: dict[str, ObservableSeries] = field(default_factory=dict)
    arrays: dict[str, ArraySeries] = field(default_factory=dict)
    solves: dict = field(default_factory=dict)
    run_files: list[str] = field(default_factory=list)
    files: list[InputFile] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read_measurements(
    paths: Path | str | Iterable[Path | str], *, lalibe_smearing: str | None = None
) -> Measurements:
    """Read measurement and gauge stream files, or lalibe's (lalibe.py).

    Parameters
    ----------
    paths
        A file, a folder (all *.h5 and *.hdf5 in it, files of other kinds are skipped with a note), or a list
        of both.
    lalibe_smearing
        "PS", "SS", ... where lalibe's files hold several.

    Raises
    ------
    MeasurementFileError
        A file is damaged, incomplete, or does not fit the others.
    AnalysisError
        There is nothing to read.
    """
    collected = collect_files(paths)
    result = Measurements()
    parts: list[tuple[Path, NDArray, dict[str, CorrelatorData]]] = []
    others: dict[int, LalibeConfiguration] = {}
    for path, chosen_by_name in collected:
        _read_file(path, chosen_by_name, result, parts, others, lalibe_smearing)
    _add_lalibe(others, result, parts)
    if not parts and not result.observables:
        names = ", ".join(str(p) for p, _ in collected[:3])
        raise AnalysisError(
            f"{names}: expected measurement files with correlators or observables, found none"
        )
    _merge(parts, result)
    return result


def collect_files(paths: Path | str | Iterable[Path | str]) -> list[tuple[Path, bool]]:
    """The files behind `paths`, each with True if it was named itself (and not found in a folder)."""
    if isinstance(paths, (str, Path)):
        paths = [paths]
    files: dict[Path, bool] = {}
    for entry in map(Path, paths):
        if entry.is_dir():
            inside = sorted(p for p in entry.iterdir() if p.suffix in _SUFFIXES and p.is_file())
            if not inside:
                raise AnalysisError(f"{entry}: expected at least one *.h5 file in this folder, found none")
            for path in inside:
                files.setdefault(path, False)
        elif entry.is_file():
            files[entry] = True
        else:
            raise AnalysisError(
                f"{entry}: expected a measurement file or a folder of them, found nothing there"
            )
    if not files:
        raise AnalysisError("expected at least one measurement file, found an empty list")
    return list(files.items())


def _read_file(
    path: Path,
    chosen_by_name: bool,
    result: Measurements,
    parts: list,
    others: dict[int, LalibeConfiguration],
    lalibe_smearing: str | None,
) -> None:
    try:
        handle = h5py.File(path, "r")
    except OSError as error:
        found = f"{path.stat().st_size} bytes that h5py cannot open ({error})"
        raise MeasurementFileError(path, "file", expected="an HDF5 file", found=found) from error
    with handle as file:
        kind = _text(file.attrs.get("kind"))
        if is_lalibe(file):
            kind = "lalibe"
        elif kind not in (MEASUREMENT, GAUGE_STREAM):
            if not chosen_by_name:
                result.notes.append(f"{path.name} skipped: its kind is {kind!r}")
                return
            expected = f'"{MEASUREMENT}" or "{GAUGE_STREAM}"'
            raise MeasurementFileError(path, "root attribute kind", expected=expected, found=repr(kind))
        try:
            count = _read_measurement(path, file, result, parts) if kind == MEASUREMENT else 0
            if kind == GAUGE_STREAM:
                count = _read_stream(path, file, result)
            if kind == "lalibe":
                left_out, count = read_lalibe_file(path, file, lalibe_smearing, others), 1
                note = f"lalibe's files: not read: {', '.join(sorted(left_out))}"
                if left_out and note not in result.notes:
                    result.notes.append(note)
        except (OSError, KeyError, TypeError) as error:  # truncated or damaged inside
            raise MeasurementFileError(
                path, "content", expected="readable datasets", found=str(error)
            ) from error
        attributes = {k: _plain(v) for k, v in file.attrs.items() if k != "run_file"}
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    result.files.append(InputFile(str(path), kind, path.stat().st_size, digest, count, attributes))


def _add_lalibe(others: dict[int, LalibeConfiguration], result: Measurements, parts: list) -> None:
    """A part for each configuration; T from the first correlator."""
    for number, configuration in sorted(others.items()):
        data = {}
        for name, c in configuration.correlators.items():
            lattice = (0, 0, 0, c.values.shape[1])
            if result.lattice not in (None, lattice):
                raise MeasurementFileError(
                    configuration.path, f"times of {name}", expected=result.lattice[3], found=lattice[3]
                )
            result.lattice = lattice
            data[name] = CorrelatorData(
                name, c.values[np.newaxis], np.array(c.momenta), np.array([c.sources]), c.attributes
            )
        parts.append((configuration.path, np.array([number]), data))


def _check_root(path: Path, file: h5py.File, result: Measurements) -> tuple[int, int, int, int]:
    """Compare lattice, beta and conventions with the files before; remember the run file."""
    lattice = np.asarray(file.attrs.get("lattice", []), dtype=np.int64).ravel()
    if lattice.shape != (4,) or np.any(lattice < 1):
        raise MeasurementFileError(
            path, "root attribute lattice", expected="[Lx, Ly, Lz, Lt]", found=lattice.tolist()
        )
    new = {"lattice": tuple(int(x) for x in lattice)}
    if "beta" in file.attrs:
        new["beta"] = float(file.attrs["beta"])
    if "conventions_version" in file.attrs:
        new["conventions_version"] = _text(file.attrs["conventions_version"])
    for key, value in new.items():
        known = getattr(result, key)
        if known is not None and known != value:
            expected = f"{known} as in the files before"
            raise MeasurementFileError(path, f"root attribute {key}", expected=expected, found=value)
        setattr(result, key, value)
    run_file = _text(file.attrs.get("run_file"))
    if run_file and run_file not in result.run_files:
        result.run_files.append(run_file)
    return new["lattice"]


def _read_measurement(path: Path, file: h5py.File, result: Measurements, parts: list) -> int:
    lattice = _check_root(path, file, result)
    if "configurations" not in file:
        raise MeasurementFileError(path, "/configurations", expected="int64[n]", found="nothing")
    numbers = np.atleast_1d(np.asarray(file["configurations"][()], dtype=np.int64))
    group = file.get("correlators")
    if not isinstance(group, h5py.Group) or len(group) == 0:
        raise MeasurementFileError(path, "/correlators", expected="a group with datasets", found="nothing")
    data = {name: _read_correlator(path, group[name], numbers, lattice[3]) for name in group}
    parts.append((path, numbers, data))
    if isinstance(file.get("observables"), h5py.Group):
        _read_observables(path, file["observables"], numbers, result)
    if isinstance(file.get("solves"), h5py.Group):
        _read_solves(path, file["solves"], len(numbers), result)
    return len(numbers)


def _read_correlator(path: Path, dataset: h5py.Dataset, numbers: NDArray, time_extent: int) -> CorrelatorData:
    where = dataset.name
    if dataset.ndim != 4 or dataset.shape[0] != len(numbers) or dataset.shape[3] != time_extent:
        expected = f"[{len(numbers)} configurations, source, momentum, {time_extent} times]"
        raise MeasurementFileError(path, f"shape of {where}", expected=expected, found=list(dataset.shape))
    if dataset.dtype.kind not in "cf":
        raise MeasurementFileError(
            path, f"type of {where}", expected="complex128 or float64", found=dataset.dtype
        )
    attributes = {key: _plain(value) for key, value in dataset.attrs.items()}
    for key in _REQUIRED:
        if key not in attributes:
            raise MeasurementFileError(
                path, f"attribute {key} of {where}", expected="a text", found="nothing"
            )
    momenta = np.asarray(attributes.pop("momenta", [[0, 0, 0]]), dtype=np.int64).reshape(-1, 3)
    if len(momenta) != dataset.shape[2]:
        expected = f"{dataset.shape[2]} momenta as in the dataset"
        raise MeasurementFileError(
            path, f"attribute momenta of {where}", expected=expected, found=len(momenta)
        )
    values = np.asarray(dataset[()], dtype=np.complex128)
    if dataset.shape[1] == 0:
        raise MeasurementFileError(
            path, f"shape of {where}", expected="at least one source", found=list(dataset.shape)
        )
    _refuse_not_finite(path, where, values, numbers)
    counts = np.full(len(numbers), dataset.shape[1])
    return CorrelatorData(where.rsplit("/", 1)[-1], values.mean(axis=1), momenta, counts, attributes)


def _refuse_not_finite(path: Path, where: str, values: NDArray, numbers: NDArray) -> None:
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        first = tuple(int(i) for i in bad[0])
        found = (
            f"{len(bad)} that are not, first {values[first]} in configuration {numbers[first[0]]} at {first}"
        )
        raise MeasurementFileError(path, where, expected="finite numbers", found=found)


def _read_observables(
    path: Path, group: h5py.Group, numbers: NDArray, result: Measurements, after: int | None = None
) -> None:
    """Series of all datasets; `after`: those of a stream without its thermalisation."""
    keep = np.ones(len(numbers), dtype=bool) if after is None else numbers > after
    all_numbers = numbers
    for name, dataset in group.items():
        if name == "trajectory":
            continue
        values = np.asarray(dataset[()])
        if values.shape != all_numbers.shape:
            raise MeasurementFileError(
                path, dataset.name, expected=f"{len(all_numbers)} numbers", found=list(values.shape)
            )
        values, numbers = values[keep], all_numbers[keep]
        _refuse_not_finite(path, dataset.name, values, numbers)
        _add_series(result, name, numbers, values)


def _read_stream(path: Path, file: h5py.File, result: Measurements) -> int:
    _check_root(path, file, result)
    group = file.get("observables")
    if not isinstance(group, h5py.Group):
        raise MeasurementFileError(path, "/observables", expected="a group with datasets", found="nothing")
    trajectory = file.get("trajectory", group.get("trajectory"))
    if trajectory is None:
        raise MeasurementFileError(path, "/trajectory", expected="int64[n]", found="nothing")
    numbers = np.atleast_1d(np.asarray(trajectory[()], dtype=np.int64))
    after = int(file.attrs.get("thermalisation", 0))
    _read_observables(path, group, numbers, result, after=after)
    if isinstance(file.get("occasional"), h5py.Group):
        for name, series in file["occasional"].items():
            _read_occasional(path, name, series, result, after)
    return len(numbers)


def _read_occasional(path: Path, name: str, group: h5py.Group, result: Measurements, after: int) -> None:
    """A series with trajectory numbers of its own; arrays of noise vectors also as their mean."""
    numbers = np.asarray(group["trajectory"][()], dtype=np.int64)
    values = np.asarray(group["value"][()])
    if len(values) != len(numbers):
        raise MeasurementFileError(
            path, group["value"].name, expected=f"{len(numbers)} entries", found=list(values.shape)
        )
    keep = numbers > after
    numbers, values = numbers[keep], values[keep]
    if values.ndim == 1:
        finite = np.isfinite(values)
        if not finite.all():
            result.notes.append(f"{name}: not reached on {np.sum(~finite)} of {len(finite)} configurations")
        _add_series(result, name, numbers[finite], values[finite])
        return
    _refuse_not_finite(path, group["value"].name, values, numbers)
    axis = np.asarray(group["axis"][()]) if "axis" in group else None
    old = result.arrays.get(name)
    if old is not None and old.values.shape[1:] != values.shape[1:]:
        raise MeasurementFileError(
            path, group["value"].name, expected=list(old.values.shape[1:]), found=list(values.shape[1:])
        )
    if values.ndim == 2 and axis is None:
        _add_series(result, name, numbers, values.mean(axis=1))
    if old is not None:
        numbers = np.concatenate([old.trajectories, numbers])
        values = np.concatenate([old.values, values])
    numbers, first = np.unique(numbers, return_index=True)
    result.arrays[name] = ArraySeries(name, numbers, values[first], axis)


def _add_series(result: Measurements, name: str, numbers: NDArray, values: NDArray) -> None:
    old = result.observables.get(name)
    if old is not None:
        numbers = np.concatenate([old.trajectories, numbers])
        values = np.concatenate([old.values, values])
    numbers, first = np.unique(numbers, return_index=True)
    result.observables[name] = ObservableSeries(name, numbers, values[first])


def _read_solves(path: Path, group: h5py.Group, count: int, result: Measurements) -> None:
    for name, dataset in group.items():
        values = np.asarray(dataset[()], dtype=np.float64)
        if values.ndim < 1 or len(values) != count:
            expected = f"{count} configurations first"
            raise MeasurementFileError(
                path, f"shape of {dataset.name}", expected=expected, found=list(values.shape)
            )
        result.solves.setdefault(name, []).extend(values.reshape(count, -1))
    if "solver" in group.attrs:
        result.solves["solver"] = _text(group.attrs["solver"])


def _merge(parts: list, result: Measurements) -> None:
    """Put the parts together in ascending order of configuration numbers, after comparing them."""
    if not parts:
        return
    first_path, _, reference = parts[0]
    owner: dict[int, Path] = {}
    for path, numbers, data in parts:
        for number in numbers.tolist():
            if number in owner:
                found = f"configuration {number} again (also in {owner[number]})"
                raise MeasurementFileError(path, "/configurations", expected="each number once", found=found)
            owner[number] = path
        if data.keys() != reference.keys():
            expected = f"{sorted(reference)} as in {first_path}"
            raise MeasurementFileError(path, "/correlators", expected=expected, found=sorted(data))
        for name, new in data.items():
            _compare(path, new, reference[name], first_path)
    numbers = np.concatenate([n for _, n, _ in parts])
    order = np.argsort(numbers)
    result.configurations = numbers[order]
    for name, model in reference.items():
        values = np.concatenate([data[name].values for _, _, data in parts])[order]
        counts = np.concatenate([data[name].source_counts for _, _, data in parts])[order]
        result.correlators[name] = CorrelatorData(name, values, model.momenta, counts, model.attributes)
    versions = {f.attributes.get("trellis_version") for f in result.files}
    if len(versions) > 1:
        result.notes.append(f"files of several versions of trellis: {sorted(map(str, versions))}")
    if len(result.run_files) > 1:
        result.notes.append(f"{len(result.run_files)} different run files")


def _compare(path: Path, new: CorrelatorData, old: CorrelatorData, old_path: Path) -> None:
    for key in _IDENTITY:
        if new.attributes.get(key) != old.attributes.get(key):
            expected = f"{old.attributes.get(key)!r} as in {old_path}"
            found = repr(new.attributes.get(key))
            raise MeasurementFileError(path, f"attribute {key} of {new.name}", expected=expected, found=found)
    if not np.array_equal(new.momenta, old.momenta):
        expected = f"{old.momenta.tolist()} as in {old_path}"
        raise MeasurementFileError(
            path, f"momenta of {new.name}", expected=expected, found=new.momenta.tolist()
        )


def _text(value: object) -> str | None:
    if value is None:
        return None
    return value.decode() if isinstance(value, bytes) else str(value)


def _plain(value: object) -> object:
    """HDF5 attribute -> text, number or list."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, np.ndarray):
        return [_plain(v) for v in value.tolist()] if value.ndim else _plain(value.item())
    return value.item() if isinstance(value, np.generic) else value
