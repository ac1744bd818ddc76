"""Files of one ensemble are compared and put together here."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from ...run_files.earlier import quark_type, translate_record
from ..records.errors import MeasurementFileError
from ..records.measurements import CorrelatorData, Measurements
from ..records.numbering import has_streams

#: These attributes of a correlator have to agree in all files.
_IDENTITY = (
    "type",
    "particle",
    "source",
    "sink",
    "boundary_t",
    "boundary_space",
    "kappa",
    "csw",
    "csw_temporal",
    "twisted_mass",
    "nu",
    "xi0",
    "mass",
    "fermion",
    "b5",
    "c5",
    "M5",
    "Ls",
    "strange_mass",
    "source_smearing",
    "sink_smearing",
)
#: These values hold for a file which does not name them; its csw_temporal is its csw.
_ABSENT = {"twisted_mass": 0.0, "nu": 1.0, "xi0": 1.0}
#: These tables of the run file (root attribute physics) decide what is measured; _physics adds some keys of
#: [source].
_TABLES = ("fermion", "sink", "smearing")
_SOURCE_KEYS = ("type", "width", "steps", "links", "momentum")


def merge(parts: list, result: Measurements) -> None:
    """Put the parts together in ascending order of configuration numbers, after comparing them."""
    if not parts:
        return
    _require_one_physics(result)
    first_path, _, reference = parts[0]
    owner: dict[int | tuple[str, int], Path] = {}
    _require_same_naming(parts)
    for path, numbers, data in parts:
        for number in numbers.tolist():
            if number in owner:
                said = number if isinstance(number, int) else f"{number[1]} of stream {number[0]}"
                found = f"configuration {said} again (also in {owner[number]})"
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


def _require_same_naming(parts: list) -> None:
    """Refuse files that say their stream beside files that do not: they cannot be told apart."""
    named = {has_streams(numbers): path for path, numbers, _ in parts}
    if len(named) > 1:
        expected = f"the name of its stream (/streams, or the option stream), as in {named[True]}"
        raise MeasurementFileError(named[False], "/configurations", expected=expected, found="none")


def _require_one_physics(result: Measurements) -> None:
    """Refuse files of run files that differ in more than where sources lie and how they are solved.

    Raises
    ------
    MeasurementFileError
        The message has the key, and both values.
    """
    first: tuple[str, dict] | None = None
    for file in result.files:
        found = _physics(file.attributes.get("physics"))
        if found is None:
            continue
        if first is None:
            first = file.path, found
        for key in sorted(first[1].keys() | found.keys()):
            expected, value = first[1].get(key), found.get(key)
            if expected != value:
                raise MeasurementFileError(
                    file.path, f"{key} of the run file", expected=f"{expected} as in {first[0]}", found=value
                )


def _physics(text: object) -> dict[str, object] | None:
    """Return table.key -> value, without what is not set; None where a file says nothing of it."""
    try:
        tables = json.loads(text) if isinstance(text, str) else None
    except json.JSONDecodeError:
        return None
    if not isinstance(tables, dict):
        return None
    tables = translate_record(tables, tables.get("run_file_language", 1))
    chosen = {name: tables.get(name) or {} for name in _TABLES}
    chosen["source"] = {key: (tables.get("source") or {}).get(key) for key in _SOURCE_KEYS}
    return {
        f"{name}.{key}": value
        for name, table in chosen.items()
        if isinstance(table, dict)
        for key, value in table.items()
        if value is not None
    }


def _identity(correlator: CorrelatorData, key: str) -> object:
    """Return the attribute, or the value that its absence means."""
    if key == "fermion":
        return quark_type(correlator.attributes)
    absent = correlator.attributes.get("csw") if key == "csw_temporal" else _ABSENT.get(key)
    return correlator.attributes.get(key, absent)


def _compare(path: Path, new: CorrelatorData, old: CorrelatorData, old_path: Path) -> None:
    for key in _IDENTITY:
        expected, found = _identity(old, key), _identity(new, key)
        if found != expected:
            raise MeasurementFileError(
                path,
                f"attribute {key} of {new.name}",
                expected=f"{expected!r} as in {old_path}",
                found=repr(found),
            )
    if not np.array_equal(new.momenta, old.momenta):
        expected = f"{old.momenta.tolist()} as in {old_path}"
        raise MeasurementFileError(
            path, f"momenta of {new.name}", expected=expected, found=new.momenta.tolist()
        )
