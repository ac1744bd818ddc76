"""This module puts the earlier languages of run files in words of the present one.

The first language is that of 70dd047 and versions before it; in the second the seed of a heat bath is a key
of [heatbath].

Files that people write are refused where they have old words, with the new ones beside them. Records of these
words, in states, results and propagators, are translated, so that runs which began with them go on.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..ground.version import run_file_language
from .phases import word_to_phase
from .writing import toml_value

#: The notice appears once where a record was translated.
TRANSLATED = "its run file is in an earlier language, and is translated"

_Path = tuple[str | int, ...]
_WILSON_KINDS, _STAGGERED_KINDS = ("wilson", "clover", "twisted_mass"), ("staggered", "hisq")
#: Not all types of quarks have these keys; the earlier language had one table with all of them.
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
    "rho": (*_WILSON_KINDS, "staggered"),
    "rho_mu_nu": (*_WILSON_KINDS, "staggered"),
    "levels": (*_WILSON_KINDS, "staggered"),
}
#: These keys of tables have another name now.
_RENAMED = {
    ("molecular_dynamics", "residual"): "tolerance",
    ("metropolis", "residual"): "tolerance",
    ("metropolis", "heat_bath_residual"): "heat_bath_tolerance",
    ("measure", "fermions", "residual"): "tolerance",
}
#: Each kind of smearing had these old keys: weight, steps, spatial; those of stout smearing are of both
#: dialects.
_STOUT_KEYS = ("stout_rho", "rho", "rho_mu_nu", "stout_steps", "levels", "stout_spatial")
_APE_KEYS = ("ape_alpha", "ape_steps", "ape_spatial")
#: The earlier language had these weights where it was given steps alone.
_STOUT_RHO, _APE_ALPHA = 0.1, 0.5


@dataclass(frozen=True)
class OldWord:
    """This is a word of the earlier language that a file has.

    Attributes
    ----------
    path
        The keys and indices that lead to it.
    advice
        It says what to write in its place.
    """

    path: _Path
    advice: str


@dataclass
class Translation:
    """This is the content of a file in the present language, with the old words that it had."""

    content: dict[str, Any]
    old_words: list[OldWord] = field(default_factory=list)


def translate(content: Mapping[str, Any]) -> Translation:
    """Translate a run file; words of the present language stay as they are."""
    return _Translator(content, 1, is_record=False).translation


def translate_record(content: Mapping[str, Any], language: int) -> dict[str, Any]:
    """Translate the tables of a record that was written in this language.

    Records that name no language are of the first. They have every key of a table, also those that its
    type does not take.
    """
    if language >= run_file_language:
        return dict(content)
    return _Translator(content, language, is_record=True).translation.content


def translate_state(record: Mapping[str, Any]) -> dict[str, Any]:
    """Translate the record of a state, with the parameters of its on-line measurements."""
    language = record.get("provenance", {}).get("run_file_language", 1)
    if language >= run_file_language:
        return dict(record)
    measured = {
        name: _translate_measured(name, table, language) for name, table in record.get("measure", {}).items()
    }
    return {**record, "physics": translate_record(record["physics"], language), "measure": measured}


def _translate_measured(name: str, table: dict[str, Any], language: int) -> dict[str, Any]:
    """Translate the parameters of "measure.loops", or of "measure.valence 'charm'"."""
    if name == "measure.loops":
        return translate_record({"measure": {"loops": table}}, language)["measure"]["loops"]
    if name.startswith("measure.valence "):
        return translate_record({"measure": {"valence": [table]}}, language)["measure"]["valence"][0]
    return table


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


def _says_nothing(value: Any) -> bool:
    return not any(value) if isinstance(value, list) else not value


class _Translator:
    """This is the translation of one file or record from a language, which is made table by table."""

    def __init__(self, content: Mapping[str, Any], language: int, *, is_record: bool) -> None:
        self.translation, self.is_record = Translation(copy.deepcopy(dict(content))), is_record
        if language < 2:
            self._from_first()
        self._seed()

    def _from_first(self) -> None:
        """Translate the words that the first language alone has."""
        for path in (("fermion",), ("fermions",), ("measure", "valence")):
            default = {"fermion": "wilson", "measure": "staggered"}.get(path[0])
            for where, table in self._tables(path):
                self._quark(where, table, default)
        for where, table in self._tables(("fermion",)):
            self._boundary(where, table)
        for where, table in self._tables(("measure", "valence")):
            self._background(where, table)
            self._smearing_within(where, table)
        for path in (("smearing",), ("source", "links")):
            for where, table in self._tables(path):
                self._smearing(where, table, table)
        for where, table in self._tables(("measure", "loops")):
            self._loops(where, table)
        for (*parents, key), new in _RENAMED.items():
            for where, table in self._tables(parents):
                if key in table:
                    table[new] = table.pop(key)
                    self._found((*where, key), f"write {new}")

    def _tables(self, path: Sequence[str]) -> list[tuple[_Path, dict[str, Any]]]:
        """Return the tables at a path, each with its own path: one, or those of a list of tables."""
        found: Any = self.translation.content
        for name in path:
            found = found.get(name) if isinstance(found, dict) else None
        if isinstance(found, dict):
            return [(tuple(path), found)]
        listed = found if isinstance(found, list) else []
        return [((*path, number), table) for number, table in enumerate(listed) if isinstance(table, dict)]

    def _found(self, path: _Path, advice: str) -> None:
        self.translation.old_words.append(OldWord(path, advice))

    def _seed(self) -> None:
        """Move the seed of a heat bath to [random]; a file of trajectories has no heat bath."""
        content = self.translation.content
        random = content.get("random", {})
        if "molecular_dynamics" in content or not isinstance(random, dict):
            return
        for where, table in self._tables(("heatbath",)):
            if "seed" in table:
                seed = table.pop("seed")
                content["random"] = {"seed": seed, **random}
                self._found((*where, "seed"), f"write seed = {toml_value(seed)} in [random]")

    def _quark(self, path: _Path, table: dict[str, Any], default: str | None) -> None:
        """Give a table of a quark its type, and leave out the keys of the other types that say nothing."""
        if "type" not in table and any(key in table for key in ("b5", "c5", "M5", "Ls")):
            return
        old = table.get("type", default)
        new = _wilson_type(table) if old in ("wilson", "wilson_clover") else old
        new = "domain_wall" if old == "moebius" else new
        if new is None:
            return
        if new != table.get("type"):
            said = f"found {toml_value(table['type'])}" if "type" in table else "missing"
            if table.get("type") == "wilson":
                key = "twisted_mass" if new == "twisted_mass" else "csw"
                said += f", which has no {key}"
            self._found((*path, "type"), f"{said}; write type = {toml_value(new)}")
        table["type"] = new
        for key in [key for key in table if new not in _TYPES_WITH.get(key, (new,))]:
            if self.is_record or _says_nothing(table[key]):
                del table[key]
                self._found((*path, key), f"leave it out of type = {toml_value(new)}")

    def _boundary(self, path: _Path, table: dict[str, Any]) -> None:
        """Put boundary_t and boundary_space of [fermion] together."""
        keys = [key for key in ("boundary_t", "boundary_space") if key in table]
        if not keys:
            return
        time, space = table.pop("boundary_t", "antiperiodic"), table.pop("boundary_space", None)
        table["boundary"] = [*(space if isinstance(space, list) else [0.0, 0.0, 0.0]), word_to_phase(time)]
        for key in keys:
            self._found((*path, key), f"write boundary = {toml_value(table['boundary'])} (x, y, z, t)")

    def _background(self, path: _Path, table: dict[str, Any]) -> None:
        """Put the quanta of a valence flavour into a table of their own."""
        background = {key: table.pop(key) for key in ("b", "e") if key in table}
        if background:
            table["background"] = background
        for key in background:
            self._found((*path, key), f"write background = {toml_value(background)}")

    def _smearing_within(self, path: _Path, table: dict[str, Any]) -> None:
        """Put the stout smearing of a valence flavour into a table of its own."""
        if any(key in table for key in ("rho", "rho_mu_nu", "levels")):
            own: dict[str, Any] = {}
            self._smearing(path, table, own, "smearing = {{ {} }}")
            if own:
                table["smearing"] = own

    def _smearing(self, path: _Path, table: dict[str, Any], target: dict[str, Any], form: str = "{}") -> None:
        """Move the old keys of smearing from a table to tables stout, ape and flow of a target.

        Parameters
        ----------
        form
            Advice shows a kind of smearing in it.
        """
        if self.is_record:
            target.update({kind: target.get(kind) for kind in ("ape", "stout", "flow")})
        stout = {key: table.pop(key) for key in _STOUT_KEYS if key in table}
        weights = [stout[key] for key in _STOUT_KEYS[:3] if stout.get(key) is not None]
        steps = stout.get("stout_steps") or stout.get("levels")
        rho = weights[-1] if weights else _STOUT_RHO
        self._move(
            path, target, "stout", stout, {"rho": rho, "steps": steps}, stout.get("stout_spatial"), form
        )
        ape = {key: table.pop(key) for key in _APE_KEYS if key in table}
        own = {"alpha": ape.get("ape_alpha", _APE_ALPHA), "steps": ape.get("ape_steps")}
        self._move(path, target, "ape", ape, own, ape.get("ape_spatial"), form)
        if "flow_time" in table:
            time = table.pop("flow_time")
            if time:
                target["flow"] = {"time": time}
            advice = f"write flow = {toml_value({'time': time})}" if time else "leave it out"
            self._found((*path, "flow_time"), advice)

    def _move(
        self,
        path: _Path,
        target: dict[str, Any],
        kind: str,
        old: dict[str, Any],
        new: dict[str, Any],
        spatial: Any,
        form: str,
    ) -> None:
        """Add one kind of smearing to a target, unless it has no steps."""
        if not old:
            return
        if self.is_record or spatial:
            new["spatial"] = bool(spatial)
        advice = "leave it out: links without steps stay as they are"
        if new["steps"]:
            target[kind] = new
            advice = f"write {form.format(f'{kind} = {toml_value(new)}')}"
        for key in old:
            self._found((*path, key), advice)

    def _loops(self, path: _Path, table: dict[str, Any]) -> None:
        """Put the smearing of loops, which was a word with weight and levels beside it, into a table."""
        old = {key: table[key] for key in ("smearing", "weight", "levels") if key in table}
        if not old or not isinstance(old.get("smearing", ""), str):
            return
        kind, weight, levels = (table.pop(key, None) for key in ("smearing", "weight", "levels"))
        new: dict[str, Any] = {name: None for name in ("ape", "stout", "flow")} if self.is_record else {}
        if kind in ("ape", "stout") and levels:
            new[kind] = {"alpha" if kind == "ape" else "rho": weight, "steps": levels, "spatial": True}
        advice = (
            f"write smearing = {toml_value(new)}" if kind in new and not self.is_record else "leave it out"
        )
        if new:
            table["smearing"] = new
        for key in old:
            self._found((*path, key), advice)
