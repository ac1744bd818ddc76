"""The earlier language of run files, of 70dd047 and versions before it, in words of the present one.

Files that people write are refused where they have old words, with the new ones beside them. Records of these
words, in states, results and propagators, are translated, so that runs which began with them go on.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..ground.version import run_file_language
from .quarks import word_to_phase
from .writing import toml_value

_WILSON_KINDS, _STAGGERED_KINDS = ("wilson", "clover", "twisted_mass"), ("staggered", "hisq")
#: Keys of quarks that not all types have; the earlier language had one table with all of them.
_TYPES_WITH = {
    "csw": ("clover", "twisted_mass"),
    "csw_temporal": ("clover", "twisted_mass"),
    "twisted_mass": ("twisted_mass",),
    "kappa": _WILSON_KINDS,
    "strange_kappa": _WILSON_KINDS,
    "hasenbusch": _WILSON_KINDS,
    "b5": ("domain_wall",),
    "c5": ("domain_wall",),
    "M5": ("domain_wall",),
    "Ls": ("domain_wall",),
    "epsilon": ("hisq",),
    "mu_over_ipiT": _STAGGERED_KINDS,
    "charge_thirds": _STAGGERED_KINDS,
    "b": _STAGGERED_KINDS,
    "e": _STAGGERED_KINDS,
}


@dataclass(frozen=True)
class OldWord:
    """A word of the earlier language that a file has.

    Attributes
    ----------
    path
        The keys and indices that lead to it.
    advice
        What to write in its place.
    """

    path: tuple[str | int, ...]
    advice: str


@dataclass
class Translation:
    """The content of a file in the present language, and the old words that it had."""

    content: dict[str, Any]
    old_words: list[OldWord] = field(default_factory=list)


def translate(content: Mapping[str, Any], *, is_record: bool = False) -> Translation:
    """Translate the tables of a run file; words of the present language stay as they are.

    Parameters
    ----------
    is_record
        True for the tables of a validated run, which have every key of the earlier language.
    """
    found = Translation(copy.deepcopy(dict(content)))
    tables = found.content
    if isinstance(tables.get("fermion"), dict):
        _translate_quark(tables["fermion"], ("fermion",), found, "wilson", is_record)
        _translate_boundary(tables["fermion"], found)
    _translate_each(tables.get("fermions"), ("fermions",), found, None, is_record)
    measure = tables.get("measure")
    if isinstance(measure, dict):
        _translate_each(measure.get("valence"), ("measure", "valence"), found, "staggered", is_record)
    return found


def translate_record(content: Mapping[str, Any], language: int) -> dict[str, Any]:
    """Translate the tables of a record that was written in this language.

    Records that name no language are of the first.
    """
    return dict(content) if language >= run_file_language else translate(content, is_record=True).content


def translate_state(record: Mapping[str, Any]) -> dict[str, Any]:
    """Translate the record of a state, with the parameters of its on-line measurements."""
    language = record.get("provenance", {}).get("run_file_language", 1)
    if language >= run_file_language:
        return dict(record)
    measured: dict[str, Any] = {}
    for name, table in record.get("measure", {}).items():
        kept = translate({"measure": {"valence": [table]}}, is_record=True).content["measure"]["valence"][0]
        measured[name] = kept if name.startswith("measure.valence ") else table
    return {**record, "physics": translate_record(record["physics"], language), "measure": measured}


def quark_type(attributes: Mapping[str, Any]) -> Any:
    """Return the type of quark that attributes of a correlator name, in the present language."""
    name = attributes.get("fermion")
    if name == "moebius":
        return "domain_wall"
    return _wilson_type(attributes) if name == "wilson_clover" else name


def _wilson_type(table: Mapping[str, Any]) -> str:
    """Return the type of a quark of the Wilson kinds with these coefficients."""
    if table.get("twisted_mass"):
        return "twisted_mass"
    return "clover" if table.get("csw") or table.get("csw_temporal") else "wilson"


def _translate_each(
    tables: Any, path: tuple[str, ...], found: Translation, default: str | None, is_record: bool
) -> None:
    for number, table in enumerate(tables if isinstance(tables, list) else []):
        if isinstance(table, dict):
            _translate_quark(table, (*path, number), found, default, is_record)


def _translate_quark(
    table: dict[str, Any],
    path: tuple[str | int, ...],
    found: Translation,
    default: str | None,
    is_record: bool,
) -> None:
    """Give a table of a quark its type, and leave out the keys of the other types that say nothing."""
    if "type" not in table and any(key in table for key in ("b5", "c5", "M5", "Ls")):
        return
    old = table.get("type", default)
    if old in ("wilson", "wilson_clover"):
        new: Any = _wilson_type(table)
    else:
        new = "domain_wall" if old == "moebius" else old
    if new is None:
        return
    if new != table.get("type"):
        said = f"found {toml_value(table['type'])}" if "type" in table else "missing"
        found.old_words.append(OldWord((*path, "type"), f"{said}; write type = {toml_value(new)}"))
    table["type"] = new
    for key in [key for key in table if new not in _TYPES_WITH.get(key, (new,))]:
        if is_record or _says_nothing(table[key]):
            del table[key]
            found.old_words.append(OldWord((*path, key), f"leave it out of type = {toml_value(new)}"))
    background = {key: table.pop(key) for key in ("b", "e") if key in table}
    if background:
        table["background"] = background
        for key in background:
            found.old_words.append(OldWord((*path, key), f"write background = {toml_value(background)}"))


def _says_nothing(value: Any) -> bool:
    return not any(value) if isinstance(value, list) else not value


def _translate_boundary(table: dict[str, Any], found: Translation) -> None:
    """Put boundary_t and boundary_space of [fermion] together."""
    keys = [key for key in ("boundary_t", "boundary_space") if key in table]
    if not keys:
        return
    time, space = table.pop("boundary_t", "antiperiodic"), table.pop("boundary_space", None)
    table["boundary"] = [*(space if isinstance(space, list) else [0.0, 0.0, 0.0]), word_to_phase(time)]
    for key in keys:
        advice = f"write boundary = {toml_value(table['boundary'])} (x, y, z, t)"
        found.old_words.append(OldWord(("fermion", key), advice))
