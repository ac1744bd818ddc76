"""This module makes the pages of run-file keys: Markdown from the schema of each kind of file."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from typing import Any

from trellis.commands.schema import KINDS

Schema = dict[str, Any]

#: Bounds of a 32-bit integer say no more than its type.
_PLAIN_BOUNDS = {2**31 - 1, -(2**31), 2**63 - 1, -(2**63)}


def schema_of(kind: str) -> Schema:
    """Return the JSON schema of a kind of file."""
    model = getattr(importlib.import_module(f"trellis.{KINDS[kind].module}"), KINDS[kind].model)
    schema: Schema = model.model_json_schema()
    return schema


def pages() -> dict[str, str]:
    """Return the name and the Markdown of each page, with the page that lists them first."""
    made = {kind: page(kind, schema_of(kind)) for kind in KINDS}
    return {"README": _front(), **made}


def _front() -> str:
    lines = [
        "# Keys of all files",
        "",
        "Each page has all keys of one kind of file: their types, limits, defaults and meaning. The pages "
        "are made from the models that read the files. An unknown key is refused. `trellis schema KIND` "
        "prints the same as JSON schema.",
        "",
        "```{toctree}",
        ":maxdepth: 1",
        "",
        *(f"{KINDS[kind].files[0].upper()}{KINDS[kind].files[1:]} <{kind}>" for kind in KINDS),
        "```",
        "",
    ]
    return "\n".join(lines)


def page(kind: str, schema: Schema) -> str:
    """Return the Markdown of one kind: a section for each table, in the order in which tables are met."""
    lines = [f"# Keys of `{kind}`", "", f"These are the keys of {KINDS[kind].files}.", ""]
    if schema.get("description"):
        lines += [_plain(schema["description"]), ""]
    titles = {name: _title(paths, schema["$defs"][name]) for name, paths in tables(schema).items() if name}
    for name, paths in tables(schema).items():
        lines += _section(kind, name, paths, titles, schema)
    return "\n".join(lines)


def tables(schema: Schema) -> dict[str, list[str]]:
    """Return the headers that each table of a schema may have, the shortest first; "" is the file."""
    found: dict[str, list[str]] = {}

    def visit(name: str, path: str, header: str) -> None:
        headers = found.setdefault(name, [])
        if header in headers or path.count(".") > 6:
            return
        headers.append(header)
        table = schema["$defs"][name] if name else schema
        for key, value in table.get("properties", {}).items():
            for child, is_list in _named(value):
                below = f"{path}.{key}".lstrip(".")
                visit(child, below, f"[[{below}]]" if is_list else f"[{below}]")

    visit("", "", "")
    return {
        name: sorted(headers, key=lambda header: header.count("."))
        for name, headers in found.items()
        if not name or "properties" in schema["$defs"][name]
    }


def _named(value: Schema, is_list: bool = False) -> Iterator[tuple[str, bool]]:
    """Yield the tables that a value may be, and True for those of a list ([[table]])."""
    if "$ref" in value:
        yield value["$ref"].rsplit("/", 1)[1], is_list
    for way in ("anyOf", "oneOf", "allOf"):
        for one in value.get(way, []):
            yield from _named(one, is_list)
    if isinstance(value.get("items"), dict):
        yield from _named(value["items"], True)
    if isinstance(value.get("additionalProperties"), dict):
        yield from _named(value["additionalProperties"], is_list)


def _title(paths: list[str], table: Schema) -> str:
    variant = _variant(table)
    return f"`{paths[0]}`" + (f" with {variant}" if variant else "")


def _section(kind: str, name: str, paths: list[str], titles: dict[str, str], schema: Schema) -> list[str]:
    table = schema["$defs"][name] if name else schema
    if not name:
        lines = ["## The file itself", ""]
    else:
        lines = [f"({_target(kind, name)})=", f"## {titles[name]}", ""]
        if len(paths) > 1:
            lines += ["It may also stand at " + ", ".join(f"`{path}`" for path in paths[1:]) + ".", ""]
        if table.get("description"):
            lines += [_plain(table["description"]), ""]
    if "enum" in table:
        lines += [f"One of {', '.join(_value(one) for one in table['enum'])}.", ""]
    required = set(table.get("required", []))
    for key, value in table.get("properties", {}).items():
        tables_of_key = {child for child, _ in _named(value) if "properties" in schema["$defs"][child]}
        links = [f"[{titles[child]}](#{_target(kind, child)})" for child in sorted(tables_of_key)]
        where = f" Keys: {', '.join(links)}." if links else ""
        lines += [f"`{key}`", f": *{_type_and_default(value, key in required, schema)}.*{where}"]
        if value.get("description"):
            lines += ["", f"  {_plain(value['description'])}"]
        lines.append("")
    return lines


def _target(kind: str, name: str) -> str:
    return f"keys-{kind}-{name.lower()}"


def _variant(table: Schema) -> str:
    """Return the `type = "..."` that chooses this table where several may stand in one place."""
    for key, value in table.get("properties", {}).items():
        if "const" in value:
            return f"`{key} = {json.dumps(value['const'])}`"
    return ""


def _type_and_default(value: Schema, is_required: bool, schema: Schema) -> str:
    words = type_in_words(value, schema)
    if is_required:
        return f"{words}; required"
    default = value.get("default")
    if default is None:
        return f"{words}; optional"
    if isinstance(default, dict) and default:
        return f"{words}; optional"
    return f"{words}; default {_value(default)}"


def type_in_words(value: Schema, schema: Schema) -> str:
    """Return the type of a value and its limits, such as "integer, at least 1"."""
    if "$ref" in value:
        target = schema["$defs"][value["$ref"].rsplit("/", 1)[1]]
        return type_in_words(target, schema) if "enum" in target else "table"
    if "const" in value:
        return f"always {_value(value['const'])}"
    if "enum" in value:
        return f"one of {', '.join(_value(one) for one in value['enum'])}"
    for way in ("anyOf", "oneOf", "allOf"):
        if way in value:
            ways = [type_in_words(one, schema) for one in value[way] if one.get("type") != "null"]
            return " or ".join(dict.fromkeys(ways))
    kind = value.get("type")
    if kind == "array":
        return _list_in_words(value, schema)
    if kind == "object":
        inner = value.get("additionalProperties")
        return f"table of {type_in_words(inner, schema)}" if isinstance(inner, dict) else "table"
    words = {"number": "number", "integer": "integer", "string": "text", "boolean": "true or false"}
    return ", ".join([words.get(str(kind), "any value"), *_limits(value)])


def _list_in_words(value: Schema, schema: Schema) -> str:
    if "prefixItems" in value:
        kinds = list(dict.fromkeys(type_in_words(one, schema) for one in value["prefixItems"]))
        return f"list of {len(value['prefixItems'])} values, each {' or '.join(kinds)}"
    items = value.get("items")
    inner = type_in_words(items, schema) if isinstance(items, dict) and items else ""
    least, most = value.get("minItems"), value.get("maxItems")
    if least is not None and least == most:
        return f"list of {least} values" + (f", each {inner}" if inner else "")
    counts = [f"at least {least}" if least else "", f"at most {most}" if most else ""]
    said = " and ".join(one for one in counts if one)
    return "list" + (f" ({said})" if said else "") + (f", each {inner}" if inner else "")


def _limits(value: Schema) -> Iterator[str]:
    says = {
        "minimum": "at least",
        "exclusiveMinimum": "above",
        "maximum": "at most",
        "exclusiveMaximum": "below",
    }
    for key, words in says.items():
        if key in value and value[key] not in _PLAIN_BOUNDS:
            yield f"{words} {value[key]:g}"
    if "minLength" in value:
        yield "not empty" if value["minLength"] == 1 else f"at least {value['minLength']} characters"
    if "pattern" in value:
        yield f"of the form `{value['pattern']}`"


def _value(value: object) -> str:
    return f"`{json.dumps(value, ensure_ascii=False)}`"


def _plain(text: str) -> str:
    """Return a description as Markdown: what Markdown would take for its own signs is escaped."""
    pieces = " ".join(text.split()).split("`")
    for index in range(0, len(pieces), 2):  # nothing changes between backquotes
        for sign in ("\\", "*", "_", "[", "]", "<", ">", "$", "|"):
            pieces[index] = pieces[index].replace(sign, f"\\{sign}")
    return "`".join(pieces)
