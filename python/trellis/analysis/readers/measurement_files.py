"""Measurement files, one or several or folders of them, become one set of configurations here.

The layout is described in doc/howto/analyse.md. Nothing is guessed: a file that differs in lattice,
conventions or quantum numbers, a configuration that occurs twice and a number that is not finite are refused,
with the name of the file.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

import h5py
import numpy as np
from numpy.typing import NDArray

from ...ground.dataset_checksums import NAME as CHECKSUM
from ..records.errors import AnalysisError, MeasurementFileError
from ..records.measurements import CorrelatorData, InputFile, Measurements
from .files_in_folders import is_readable_file
from .gauge_streams import GAUGE_STREAM, names_of_streams
from .hdf5_files import DAMAGE
from .lalibe import LalibeCorrelator, by_configuration, is_lalibe, read_lalibe_file
from .merging import merge
from .numbers_of_files import numbers_with_streams, source_counts_of
from .root_attributes import check_root, numbers_of, plain, text_of, whole_numbers
from .series_readers import read_observables, read_stream, refuse_not_finite

MEASUREMENT = "measurement"
LALIBE = "lalibe"
_SUFFIXES = (".h5", ".hdf5")
_REQUIRED = ("type", "boundary_t")
#: /solves has these as attributes, for they depend on clocks; files of older versions have datasets.
_TIMES = ("seconds", "gflops")
_TYPES = ("meson", "baryon", "feynman_hellmann", "three_point", "midpoint")
#: A part is a file, the numbers of its configurations, and its correlators by name.
Part: TypeAlias = tuple[Path, NDArray, dict[str, CorrelatorData]]


FOREIGN_HINT = "files of other programs are named in the options, as foreign.format"


def read_measurements(
    paths: Path | str | Iterable[Path | str],
    *,
    lalibe_smearing: str | None = None,
    lalibe_configuration: str | None = None,
    stream: str | None = None,
) -> Measurements:
    """Read measurement and gauge stream files, or lalibe's (lalibe.py).

    Parameters
    ----------
    paths
        A file, a folder (all *.h5 and *.hdf5 in it, or where there are none those in the folders in it; files
        of other kinds are skipped with a note), or a list of both.
    lalibe_smearing
        "PS", "SS", ... where lalibe's files hold several.
    lalibe_configuration
        Regular expression that finds the configuration's number in FOLDER/NAME of lalibe's files; default:
        the number that differs from file to file.
    stream
        Regular expression with one group that finds the name of the stream in the path of a file, where files
        do not say it themselves (/streams).

    Raises
    ------
    MeasurementFileError
        A file is damaged, incomplete, or does not fit the others.
    AnalysisError
        There is nothing to read.
    """
    reader = _Reader(lalibe_smearing, lalibe_configuration, stream)
    collected = collect_files(paths)
    reader.streams = names_of_streams([path for path, _ in collected], stream)
    for path, chosen_by_name in collected:
        reader.read(path, chosen_by_name)
    found = reader.finished()
    if not reader.parts and not found.observables and found.thermalisation is None:
        names = ", ".join(str(p) for p, _ in collected[:3])
        raise AnalysisError(
            f"{names}: expected measurement files with correlators or observables, found none"
        )
    return found


def collect_files(paths: Path | str | Iterable[Path | str]) -> list[tuple[Path, bool]]:
    """Return the files behind `paths`, each with True if it was named itself (and not found in a folder)."""
    if isinstance(paths, (str, Path)):
        paths = [paths]
    files: dict[Path, bool] = {}
    for entry in map(Path, paths):
        if entry.is_dir():
            inside = _files_in(entry) or [p for sub in sorted(entry.iterdir()) for p in _files_in(sub)]
            if not inside:
                raise AnalysisError(
                    f"{entry}: expected at least one *.h5 file in this folder, found none ({FOREIGN_HINT})"
                )
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


def _files_in(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(p for p in folder.iterdir() if p.suffix in _SUFFIXES and is_readable_file(p))


class _Reader:
    """A reader puts file after file into one set of configurations."""

    def __init__(
        self, lalibe_smearing: str | None, lalibe_configuration: str | None, stream: str | None
    ) -> None:
        self.result = Measurements()
        self.parts: list[Part] = []
        self.run_files: set[str | None] = set()  #: it has the texts of those that measured the parts
        self.lalibe: dict[Path, dict[str, LalibeCorrelator]] = {}
        self.lalibe_smearing = lalibe_smearing
        self.lalibe_configuration = lalibe_configuration
        self.stream = stream
        self.streams: dict[Path, str] = {}  #: files of gauge generation have these names of streams
        self.skipped: dict[str, list[str]] = {}  #: each kind has its names

    def read(self, path: Path, chosen_by_name: bool) -> None:
        """Read through one descriptor: a run may replace the file meanwhile, and the
        record is of what was read.
        """
        with open(path, "rb") as raw:
            size = os.fstat(raw.fileno()).st_size
            try:
                handle = h5py.File(raw, "r")
            except OSError as error:
                found = f"{size} bytes that h5py cannot open ({error}); {FOREIGN_HINT}"
                raise MeasurementFileError(path, "file", expected="an HDF5 file", found=found) from error
            with handle as file:
                try:
                    kind = self._kind(path, file, chosen_by_name)
                    if kind is None:
                        return
                    count = self._content(path, file, kind)
                    attributes = {k: plain(v) for k, v in file.attrs.items() if k != "run_file"}
                    if path in self.streams:
                        attributes["stream"] = self.streams[path]
                except MeasurementFileError:  # it is an OSError too, but it says already what is wrong
                    raise
                except DAMAGE as error:
                    raise MeasurementFileError(
                        path, "content", expected="readable datasets", found=str(error)
                    ) from error
            raw.seek(0)
            digest = hashlib.file_digest(raw, "sha256").hexdigest()
        self.result.files.append(InputFile(str(path), kind, size, digest, count, attributes))

    def _kind(self, path: Path, file: h5py.File, chosen_by_name: bool) -> str | None:
        """Return the kind of a file; None for a file of another kind, which nobody has named."""
        kind = LALIBE if is_lalibe(file) else text_of(file.attrs.get("kind"))
        if kind in (MEASUREMENT, GAUGE_STREAM, LALIBE):
            return kind
        if not chosen_by_name:
            self.skipped.setdefault(repr(kind), []).append(path.name)
            return None
        expected = f'"{MEASUREMENT}" or "{GAUGE_STREAM}"'
        raise MeasurementFileError(path, "root attribute kind", expected=expected, found=repr(kind))

    def _content(self, path: Path, file: h5py.File, kind: str) -> int:
        """Return the number of configurations in it."""
        if kind == MEASUREMENT:
            self.run_files.add(text_of(file.attrs.get("run_file")))
            return _read_measurement(path, file, self.result, self.parts, self.stream)
        if kind == GAUGE_STREAM:
            return read_stream(path, file, self.result, self.streams.get(path, ""))
        self.lalibe[path], left_out = read_lalibe_file(path, file, self.lalibe_smearing)
        note = f"lalibe's files: not read: {', '.join(sorted(left_out))}"
        if left_out and note not in self.result.notes:
            self.result.notes.append(note)
        return 1

    def finished(self) -> Measurements:
        """Return all of it merged."""
        for kind, names in self.skipped.items():
            which = names[0] if len(names) == 1 else f"{len(names)} files, the first {names[0]},"
            whose = "its" if len(names) == 1 else "their"
            self.result.notes.append(f"{which} skipped: {whose} kind is {kind}")
        if names := sorted(set(self.streams.values())):
            self.result.notes.append(f"{len(names)} streams of gauge generation: {', '.join(names)}")
        whole, warnings = by_configuration(self.lalibe, self.lalibe_configuration)
        self.result.warnings += warnings
        _add_lalibe(whole, self.result, self.parts)
        merge(self.parts, self.result)
        if len(self.run_files) > 1:
            self.result.notes.append(f"measurements of {len(self.run_files)} different run files")
        return self.result


def _add_lalibe(
    configurations: dict[int, tuple[Path, dict[str, LalibeCorrelator]]],
    result: Measurements,
    parts: list[Part],
) -> None:
    """Add a part for each configuration; T is that of the first correlator."""
    for number, (path, correlators) in configurations.items():
        data = {}
        for name, c in correlators.items():
            lattice = (0, 0, 0, c.values.shape[1])
            if result.lattice not in (None, lattice):
                raise MeasurementFileError(
                    path, f"times of {name}", expected=result.lattice[3], found=lattice[3]
                )
            result.lattice = lattice
            data[name] = CorrelatorData(
                name, c.values[np.newaxis], np.array(c.momenta), np.array([c.sources]), c.attributes
            )
        parts.append((path, np.array([number]), data))


def _read_measurement(
    path: Path, file: h5py.File, result: Measurements, parts: list[Part], stream: str | None
) -> int:
    lattice = check_root(path, file, result)
    if "configurations" not in file:
        raise MeasurementFileError(path, "/configurations", expected="int64[n]", found="nothing")
    stored = file["configurations"]
    if not isinstance(stored, h5py.Dataset) or stored.ndim > 1 or stored.size in (0, None):
        found = list(stored.shape or []) if isinstance(stored, h5py.Dataset) else "a group"
        raise MeasurementFileError(path, "/configurations", expected="int64[n], n at least 1", found=found)
    numbers = np.atleast_1d(whole_numbers(path, "/configurations", numbers_of(path, stored), "int64[n]"))
    numbers = numbers_with_streams(path, file, numbers, stream)
    group = file.get("correlators")
    has_observables = isinstance(file.get("observables"), h5py.Group)
    if "correlators" not in file and "condensates" in file:
        group = {}  # these are condensates alone, whose means are observables
    elif not isinstance(group, h5py.Group) or len(group) == 0:
        raise MeasurementFileError(path, "/correlators", expected="a group with datasets", found="nothing")
    data = {name: _read_correlator(path, group[name], numbers, lattice[3]) for name in group}
    if data:
        parts.append((path, numbers, data))
    if has_observables:
        read_observables(path, file["observables"], numbers, result)
    if isinstance(file.get("solves"), h5py.Group):
        _read_solves(path, file["solves"], len(numbers), result)
    return len(numbers)


def _read_correlator(path: Path, dataset: h5py.Dataset, numbers: NDArray, time_extent: int) -> CorrelatorData:
    where = dataset.name
    if not isinstance(dataset, h5py.Dataset) or dataset.shape is None:
        found = "a group" if isinstance(dataset, h5py.Group) else "nothing in it"
        raise MeasurementFileError(path, where, expected="a dataset of numbers", found=found)
    if dataset.ndim != 4 or dataset.shape[0] != len(numbers) or dataset.shape[3] != time_extent:
        expected = f"[{len(numbers)} configurations, source, momentum, {time_extent} times]"
        raise MeasurementFileError(path, f"shape of {where}", expected=expected, found=list(dataset.shape))
    if dataset.dtype.kind not in "cf":
        raise MeasurementFileError(
            path, f"type of {where}", expected="complex128 or float64", found=dataset.dtype
        )
    attributes = {key: plain(value) for key, value in dataset.attrs.items() if key != CHECKSUM}
    for key in _REQUIRED:
        if key not in attributes:
            raise MeasurementFileError(
                path, f"attribute {key} of {where}", expected="a text", found="nothing"
            )
    if attributes["type"] not in _TYPES:  # no mass would be made of it, and nobody would say so
        raise MeasurementFileError(
            path, f"attribute type of {where}", expected=", ".join(_TYPES), found=repr(attributes["type"])
        )
    what = f"attribute momenta of {where}"
    momenta = whole_numbers(path, what, attributes.pop("momenta", [[0, 0, 0]]), "[momentum, 3]")
    if momenta.size % 3 != 0 or momenta.size == 0:
        raise MeasurementFileError(
            path, what, expected="three integers for each momentum", found=momenta.tolist()
        )
    momenta = momenta.reshape(-1, 3)
    if len(momenta) != dataset.shape[2]:
        expected = f"{dataset.shape[2]} momenta as in the dataset"
        raise MeasurementFileError(path, what, expected=expected, found=len(momenta))
    counts = source_counts_of(path, where, attributes, len(numbers), dataset.shape[1])
    values = numbers_of(path, dataset).astype(np.complex128)
    if dataset.shape[1] == 0:
        raise MeasurementFileError(
            path, f"shape of {where}", expected="at least one source", found=list(dataset.shape)
        )
    refuse_not_finite(path, where, values, numbers)
    return CorrelatorData(where.rsplit("/", 1)[-1], values.mean(axis=1), momenta, counts, attributes)


def _times(path: Path, group: h5py.Group, name: str, count: int) -> NDArray:
    """Return an attribute with a number for each configuration and source."""
    values = np.asarray(group.attrs[name])
    if values.dtype.kind not in "iuf" or values.ndim != 1 or values.size % max(count, 1):
        raise MeasurementFileError(
            path,
            f"/solves: attribute {name}",
            expected=f"real numbers, as many of each of {count} configurations",
            found=plain(values),
        )
    return values.astype(np.float64)


def _read_solves(path: Path, group: h5py.Group, count: int, result: Measurements) -> None:
    for name, dataset in group.items():
        if not isinstance(dataset, h5py.Dataset) or dataset.dtype.kind not in "iuf":
            found = f"type {dataset.dtype}" if isinstance(dataset, h5py.Dataset) else "a group"
            raise MeasurementFileError(path, f"/solves/{name}", expected="real numbers", found=found)
        values = numbers_of(path, dataset).astype(np.float64)
        if values.ndim < 1 or len(values) != count:
            expected = f"{count} configurations first"
            raise MeasurementFileError(
                path, f"shape of {dataset.name}", expected=expected, found=list(values.shape)
            )
        result.solves.setdefault(name, []).extend(values.reshape(count, -1))
    for name in _TIMES:
        if name in group.attrs and name not in group:
            values = _times(path, group, name, count)
            result.solves.setdefault(name, []).extend(values.reshape(count, -1))
    if "solver" in group.attrs:
        result.solves["solver"] = text_of(group.attrs["solver"])
