"""Files of other programs become measurements: the program is named, and nothing is guessed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from ..records.errors import AnalysisError
from ..records.foreign_options import ForeignOptions
from ..records.measurements import InputFile, Measurements
from .files_in_folders import is_readable_file
from .foreign_chroma import read_chroma
from .foreign_entries import Entry, put_together
from .foreign_hadrons import read_hadrons
from .foreign_milc import read_milc
from .foreign_openqcd import read_openqcd
from .foreign_openqcd_fields import is_quark_field, read_quark_fields
from .foreign_pyerrors import read_ms5_xsf, read_sfcf
from .foreign_table import read_table
from .lalibe_names import configuration_numbers
from .numbers_of_files import stream_in_path
from .packed_files import ends_with_a_line, without_packing

#: Files with these ends of names are taken from folders; files that are named themselves may have any.
_SUFFIXES = {
    "table": (".txt", ".dat", ".csv"),
    "chroma": (".xml", ".lime"),
    "milc": (".txt", ".out", ".corr", ".dat"),
    "hadrons": (".h5",),
    "openqcd": (".ms.dat", ".ms3.dat"),
    "openqcd_ms5_xsf": tuple(f".ms5_xsf_{quarks}.dat" for quarks in ("dd", "du", "ud", "uu")),
}


def read_foreign(
    paths: Path | str | Iterable[Path | str], options: ForeignOptions, stream: str | None = None
) -> Measurements:
    """Read correlators, or the flow of openQCD, in the format of another program.

    Parameters
    ----------
    paths
        A file, a folder (all files in it whose names end as those of the format do), or a list of both. Of
        sfcf the folder that holds those of the streams.
    options
        The format, and what files do not say.
    stream
        Regular expression with one group that finds the name of the stream in the path of a file.

    Raises
    ------
    MeasurementFileError
        A file is not of this format, is damaged, or does not fit the others.
    AnalysisError
        Nothing is there, or something that the format needs is not said.
    """
    result = Measurements()
    given = [Path(paths)] if isinstance(paths, (str, Path)) else [Path(p) for p in paths]
    if options.format == "sfcf":
        if len(given) != 1:
            raise AnalysisError(
                f"sfcf: expected one folder, which holds those of the streams, found {len(given)}"
            )
        for folder in given:
            put_together(read_sfcf(folder, options), result)
            inside = [path for path in sorted(folder.rglob("*")) if path.is_file()]
            result.files += [_input_file(path, "sfcf") for path in inside]
        return _checked(result, given, options)
    files = _files(given, options.format)
    names = {path: "" if stream is None else stream_in_path(path, stream) for path in files}
    if options.format == "openqcd":
        read_openqcd(files, [names[path] for path in files], options, result)
    else:
        put_together(_with_symmetry(_entries(files, names, options), options), result)
    if options.spatial_extent and result.lattice is not None and not result.lattice[0]:
        L = options.spatial_extent
        result.lattice = (L, L, L, result.lattice[3])
    result.files = [_input_file(path, options.format) for path in files]
    if options.format in ("table", "milc"):
        result.warnings += [
            f"{path}: the last line has no end: the file may be cut off within its last number"
            for path in files
            if not ends_with_a_line(path)
        ]
    return _checked(result, given, options)


def _checked(result: Measurements, paths: list[Path], options: ForeignOptions) -> Measurements:
    if not result.correlators and not result.observables:
        listed = ", ".join(map(str, paths[:3]))
        raise AnalysisError(f"{listed}: expected correlators in the format {options.format}, found none")
    unknown = sorted((options.symmetry.keys() | options.types.keys()) - result.correlators.keys())
    if unknown:
        raise AnalysisError(
            f"foreign: symmetry and types: expected names among {sorted(result.correlators)}, found {unknown}"
        )
    return result


def _files(paths: list[Path], kind: str) -> list[Path]:
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = [p for p in sorted(path.rglob("*")) if is_readable_file(p) and _is_of(kind, p)]
            if not inside:
                expected = " or ".join(_SUFFIXES.get(kind, (".s0, .s1 and so on",)))
                raise AnalysisError(
                    f"{path}: expected files that end in {expected} in this folder, found none"
                )
            found += inside
        elif path.is_file():
            found.append(path)
        else:
            raise AnalysisError(f"{path}: expected a file or a folder, found nothing there")
    if not found:
        raise AnalysisError("expected at least one file, found an empty list")
    once: dict[Path, Path] = {}
    for path in found:
        once.setdefault(path.resolve(), path)
    return list(once.values())


def _is_of(kind: str, path: Path) -> bool:
    return is_quark_field(path) if kind == "openqcd_ms4" else _named(kind, path).endswith(_SUFFIXES[kind])


def _named(kind: str, path: Path) -> str:
    """Return the name by which a folder's files are chosen; those of text may be packed."""
    return without_packing(path.name) if kind in ("table", "chroma", "milc") else path.name


def _entries(files: list[Path], streams: dict[Path, str], options: ForeignOptions) -> Iterator[Entry]:
    if options.format == "table":
        for path in files:
            yield from read_table(path, options, streams[path])
    elif options.format == "hadrons":
        for name in dict.fromkeys(streams.values()):
            yield from read_hadrons([p for p in files if streams[p] == name], options, name)
    elif options.format == "openqcd_ms4":
        for name in dict.fromkeys(streams.values()):
            yield from read_quark_fields([p for p in files if streams[p] == name], options, name)
    elif options.format == "openqcd_ms5_xsf":
        yield from read_ms5_xsf(files, streams)
    else:
        read = read_chroma if options.format == "chroma" else read_milc
        for path, number in _numbers(files, streams, options).items():
            yield from read(path, number, options, streams[path])


def _numbers(files: list[Path], streams: dict[Path, str], options: ForeignOptions) -> dict[Path, int]:
    """Return the numbers of the configurations, stream by stream: names of streams may have numbers, too."""
    found: dict[Path, int] = {}
    for name in dict.fromkeys(streams.values()):
        own = [path for path in files if streams[path] == name]
        try:
            found |= configuration_numbers(own, options.configuration)
        except AnalysisError as error:
            text = str(error).replace("lalibe_configuration", "foreign.configuration")
            raise AnalysisError(text) from None
    return found


def _with_symmetry(entries: Iterable[Entry], options: ForeignOptions) -> Iterator[Entry]:
    for entry in entries:
        if entry.name in options.symmetry:
            said = {"time_symmetry": options.symmetry[entry.name]}
            yield replace(entry, attributes=entry.attributes | said)
        else:
            yield entry


def _input_file(path: Path, kind: str) -> InputFile:
    with open(path, "rb") as raw:
        digest = hashlib.file_digest(raw, "sha256").hexdigest()
    return InputFile(str(path), kind, path.stat().st_size, digest, 1, {})
