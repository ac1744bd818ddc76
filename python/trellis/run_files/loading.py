"""This module turns TOML text into a validated run, with messages that name file, line and key."""

from __future__ import annotations

import re
import tomllib
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from ..ground.errors import RunFileError
from ..ground.nearest_word import did_you_mean
from .common import RunFile
from .earlier import translate

Run = TypeVar("Run", bound=BaseModel)

#: These are pydantic's words for something else in the place of a table.
_NO_TABLE = ("model_type", "model_attributes_type", "dict_type")
#: Only one kind of file has these tables; each kind stands before its own.
_KINDS = {
    "a run file of trellis generate": ("lattice", "action"),
    "a run file of trellis measure": ("configurations", "fermion"),
    "a file of trellis campaign": ("campaign", "task"),
    "a machine file of trellis campaign": ("nodes",),
}
_BYTE_ORDER_MARK = "\ufeff"  # a text that was read as plain UTF-8 begins with it

_NAMES = r"""((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)"""
#: The end keeps lines of a list, "[0, 0], [1, 2],", from being tables.
_HEADER = re.compile(rf"^\s*(\[\[?)\s*{_NAMES}\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(rf"^\s*{_NAMES}\s*=")


def load_run_file(path: Path | str, model: type[Run]) -> tuple[Run, str]:
    """Read and validate a run file.

    Returns
    -------
    run, text
        The validated run and the text of the file (for the provenance of results).

    Raises
    ------
    RunFileError
        The file cannot be read, is not TOML, or does not fit the model. The message lists every problem with
        its line.
    """
    text = _read_text(path)
    return parse_run_file(text, model, name=str(path)), text


def _read_text(path: Path | str) -> str:
    """Return the text of a file; some editors begin files with a mark, or end lines with two characters."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise RunFileError(
            f"{path}: expected a text in UTF-8, found byte 0x{error.object[error.start]:02x} at {error.start}"
        ) from error
    except OSError as error:
        raise RunFileError(f"{path}: cannot be read: {error.strerror}") from error


def parse_run_file(text: str, model: type[Run], name: str = "run file") -> Run:
    """Validate the text of a run file; see :func:`load_run_file`."""
    return validate_run(parse_toml(text, name), model, name, text)


def load_toml(path: Path | str) -> dict[str, Any]:
    """Read a TOML file without validating it.

    Raises
    ------
    RunFileError
        The file cannot be read, or is not TOML.
    """
    return parse_toml(_read_text(path), str(path))


def parse_toml(text: str, name: str) -> dict[str, Any]:
    """Return the content of TOML text without validating it; see :func:`load_toml`."""
    try:
        return tomllib.loads(text.removeprefix(_BYTE_ORDER_MARK))
    except tomllib.TOMLDecodeError as error:
        raise RunFileError(f"{name}: not valid TOML: {error}") from error


def validate_run(content: Mapping[str, Any], model: type[Run], name: str, text: str = "") -> Run:
    """Validate the content of a TOML file or of Python dictionaries; `text` gives the lines in messages.

    Raises
    ------
    RunFileError
        The content does not fit the model.
    """
    too_large = [
        _too_large(path, value, text) for path, value in _integers(content) if not -(2**63) <= value < 2**63
    ]
    if too_large:
        raise RunFileError("\n".join(f"{name}{problem}" for problem in too_large))
    if issubclass(model, RunFile) and not _of_another_kind(content, model):
        _require_present_words(content, name, text)
    try:
        return model.model_validate(content)
    except ValidationError as error:
        mistaken = _of_another_kind(content, model)
        if mistaken:
            raise RunFileError(f"{name}: {mistaken}") from None
        problems = [_describe(e, model, text) for e in _without_earlier_gaps(error.errors())]
        raise RunFileError("\n".join(f"{name}{problem}" for problem in problems)) from None


def _require_present_words(content: Mapping[str, Any], name: str, text: str) -> None:
    """Refuse words of the earlier language: one line for each, with what to write in its place."""
    problems = []
    for word in translate(content).old_words:
        line = line_of(text, word.path)
        key = ".".join(map(str, word.path))
        problems.append(f"{name}{f':{line}' if line else ''}: {key}: {word.advice}")
    if problems:
        raise RunFileError("\n".join(["words of an earlier language of run files:", *problems]))


def _of_another_kind(content: Mapping[str, Any], model: type[BaseModel]) -> str | None:
    """Return a message if the file is one of another kind or command; it replaces a line for each table."""
    wanted = [kind for kind, tables in _KINDS.items() if all(t in model.model_fields for t in tables)]
    found = [kind for kind, tables in _KINDS.items() if any(t in content for t in tables)]
    if len(wanted) != 1 or len(found) != 1 or wanted == found:
        return None
    has, needs = (" and ".join(f"[{t}]" for t in _KINDS[kind]) for kind in (found[0], wanted[0]))
    return f"expected {wanted[0]}, with {needs}; found {found[0]}, with {has}"


def _integers(content: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], int]]:
    """Yield all integers of a TOML file, each with the path of its key."""
    if isinstance(content, dict | list):
        for key, value in content.items() if isinstance(content, dict) else enumerate(content):
            yield from _integers(value, (*path, key))
    elif isinstance(content, int) and not isinstance(content, bool):
        yield path, content


def _too_large(path: tuple[str | int, ...], value: int, text: str) -> str:
    """Return the message about an integer beyond TOML's 64 bits, which Python reads nevertheless."""
    line = line_of(text, path)
    where = f":{line}" if line else ""
    return f"{where}: {'.'.join(map(str, path))}: expected an integer of 64 bits, found {value}"


def _without_earlier_gaps(errors: Sequence[Any]) -> list[Any]:
    """Drop the errors about missing values of a list but the last, which says how many it should have."""
    last = {e["loc"][:-1]: e["loc"] for e in errors if _is_gap(e)}
    return [e for e in errors if not _is_gap(e) or last[e["loc"][:-1]] == e["loc"]]


def _is_gap(error: Any) -> bool:
    return error["type"] == "missing" and isinstance(error["input"], list | tuple)


def _describe(error: Any, model: type[BaseModel], text: str) -> str:
    """Return ":LINE: key: what is wrong" about an error, without the file's name."""
    place = _place(error["loc"], model)
    path = place.path
    shown = ".".join(map(str, path)) or "(the whole file)"
    line = line_of(text, path)
    where = f":{line}" if line else ""
    if error["type"] == "extra_forbidden":
        return f"{where}: {shown}: {_unknown_key(str(path[-1]), place)}"
    if error["type"].startswith("union_tag_"):
        line = line_of(text, [*path, "type"])
        return f"{f':{line}' if line else ''}: {shown}.type: {_wrong_type(error, place)}"
    found = error["input"]
    if _is_gap(error):
        shown = ".".join(map(str, path[:-1]))
        return f"{where}: {shown}: expected exactly {int(path[-1]) + 1} values; found {list(found)}"
    if error["type"] == "missing":
        return f"{where}: {shown}: missing"
    if error["type"] == "too_long" and isinstance(found, list | tuple):
        count = "exactly" if error["ctx"].get("field_type") == "Tuple" else "at most"
        return f"{where}: {shown}: expected {count} {error['ctx']['max_length']} values; found {list(found)}"
    table_name = ".".join(part for part in path if isinstance(part, str))
    if error["type"] in _NO_TABLE:
        return f"{where}: [{table_name}] must be a table; found {found!r}"
    if error["type"] == "list_type" and place.inside:
        return f"{where}: [[{table_name}]] must be a list of tables; found {found!r}"
    message = error["msg"].removeprefix("Value error, ").replace("valid tuple", "valid list")
    if error["type"] == "value_error" and isinstance(found, dict):
        return f"{where}: {shown}: {message}"
    return f"{where}: {shown}: {message}; found {found!r}"


def _unknown_key(key: str, place: _Place) -> str:
    """Return what is wrong with a key that a table does not have."""
    valid = [field.alias or name for name, field in place.table.model_fields.items()]
    valid_here = f"Valid here: {', '.join(sorted(valid))}"
    others = [tag for table in place.siblings if key in table.model_fields for tag in _tags(table)]
    if others:
        return f"belongs to type {' or '.join(others)}, not to type {_tags(place.table)[0]}. {valid_here}"
    return f"unknown key{did_you_mean(key, valid) or '.'} {valid_here}"


def _wrong_type(error: Any, place: _Place) -> str:
    """Return what is wrong with the type of a table that is one of several."""
    tags = [tag for table in place.inside for tag in _tags(table)]
    expected = f"expected one of {', '.join(tags)}"
    if error["type"] == "union_tag_not_found":
        return f"missing: {expected}"
    found = str(error["ctx"]["tag"])
    return f"{expected}, found {found!r}{did_you_mean(found, tags)}"


@dataclass
class _Place:
    """This is the place of a file that a location of pydantic means.

    Attributes
    ----------
    path
        The keys and indices that lead there.
    table
        The model of the table that has the last key.
    siblings
        The other models that this table could have by another `type`.
    inside
        The models of the tables that the last key may hold; none where it holds a value.
    """

    path: list[str | int]
    table: type[BaseModel]
    siblings: list[type[BaseModel]]
    inside: list[type[BaseModel]]


def _place(location: tuple[str | int, ...], model: type[BaseModel]) -> _Place:
    """Return the place that a location means.

    pydantic adds the type below a key that may have several: "float", or the `type` of a table. The path is
    without it.
    """
    place = _Place([], model, [], [model])
    has_own_keys = False  # dict[str, ...]: the user names them
    candidates, siblings = [model], []
    for part in location:
        if isinstance(part, int):
            place.path.append(part)
            continue
        chosen = [table for table in candidates if len(candidates) > 1 and part in _tags(table)]
        if chosen:
            siblings = [table for table in candidates if table not in chosen]
            candidates = place.inside = chosen
        elif candidates:
            place.path.append(part)
            place.table = candidates[0]
            place.siblings, siblings = siblings, []
            field = place.table.model_fields.get(part)
            if field:
                candidates, has_own_keys = _models_in(field.annotation), _is_mapping(field.annotation)
                place.inside = candidates
        elif has_own_keys:
            place.path.append(part)
            has_own_keys = False
    return place


def _tags(table: type[BaseModel]) -> tuple[Any, ...]:
    """Return the values of `type` that a table has."""
    field = table.model_fields.get("type")
    return typing.get_args(field.annotation) if field is not None else ()


def _is_mapping(annotation: Any) -> bool:
    """Return True if an annotation is dict[...], or has it among others."""
    return typing.get_origin(annotation) is dict or any(map(_is_mapping, typing.get_args(annotation)))


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    """Return the table types in an annotation such as T, list[T], A | B or T | None."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in typing.get_args(annotation) for model in _models_in(argument)]


def line_of(text: str, location: Sequence[str | int]) -> int | None:
    """Return the line (from 1) of a key or table in TOML text.

    It is the table's line if the key is absent, and None if that is not found either. ("fermions", 1, "mass")
    is a key of the second [[fermions]]; an entry inside a value has the line of the value's key.
    """
    wanted = tuple(location)
    last: dict[tuple[str | int, ...], int] = {}  # a list of tables has the number of its latest one
    table: tuple[str | int, ...] = ()
    table_line = None
    for number, line in enumerate(text.splitlines(), start=1):
        header = _HEADER.match(line)
        if header:
            table = _table_path(_split(header[2]), header[1] == "[[", last)
            if table == wanted or (header[1] == "[[" and table[:-1] == wanted):
                return number
            if wanted[:-1] == table:
                table_line = number
            continue
        key = _KEY.match(line)
        path = (*table, *_split(key[1])) if key else None
        if path is not None and wanted[: len(path)] == path:
            return number
    return table_line


def _table_path(
    names: list[str], is_list: bool, last: dict[tuple[str | int, ...], int]
) -> tuple[str | int, ...]:
    """Return a header's path: fermions, 1, rational for [fermions.rational] of the second [[fermions]]."""
    path: tuple[str | int, ...] = ()
    for depth, name in enumerate(names, start=1):
        path += (name,)
        if is_list and depth == len(names):
            last[path] = last.get(path, -1) + 1
        if path in last:
            path += (last[path],)
    return path


def _split(dotted: str) -> list[str]:
    return [part.strip().strip("\"'") for part in dotted.split(".")]
