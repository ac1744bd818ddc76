"""This module makes the page of commands: Markdown from the parsers of the `trellis` program."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer

from trellis.commands.cli import app

#: These are commands and parameters of typer, whose base classes are its own affair.
Command = Any
Parameter = Any

#: It finds an option in a sentence, with the value that it may have.
_OPTION = re.compile(r"(--[a-z][\w-]*(?:=[\w=-]+)?)")


def page() -> str:
    """Return the Markdown of all commands, with their arguments and options."""
    lines = [
        "# Commands",
        "",
        "These are all commands of the program `trellis`, made from its parsers. `trellis COMMAND --help` "
        "prints the same. The exit status is 0 where a command did its work, 2 where its words are wrong, "
        "and 1 where something else is wrong; Ctrl-C gives 130. Runs that stop so that they can go on "
        "([run files](../howto/run_files.md)), `analyze` ([analyse](../howto/analyse.md)), `watch` "
        "([watch](../howto/watch.md)) and campaigns ([campaigns](../campaign/README.md)) have further ones. "
        "Most commands take `--json`, and then print one JSON object.",
        "",
    ]
    for words, command in commands():
        lines += _section(words, command)
    return "\n".join(lines)


def commands() -> Iterator[tuple[list[str], Command]]:
    """Yield the words of each command, and the command: groups before their own commands."""
    program = typer.main.get_command(app)
    context = typer.Context(program, info_name="trellis")
    yield from _below([], program, context)


def _below(words: list[str], group: Command, context: typer.Context) -> Iterator[tuple[list[str], Command]]:
    for name in getattr(group, "list_commands", lambda _: [])(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        yield [*words, name], command
        yield from _below([*words, name], command, typer.Context(command, info_name=name, parent=context))


def _section(words: list[str], command: Command) -> list[str]:
    name = " ".join(["trellis", *words])
    shown = [parameter for parameter in command.params if not getattr(parameter, "hidden", False)]
    lines = [f"{'#' * (1 + len(words))} `{name}`", "", _text(command.help or ""), ""]
    if not hasattr(command, "list_commands"):
        lines += ["```text", *_usage_lines(name, [_usage(parameter) for parameter in shown]), "```", ""]
    for parameter in shown:
        lines += [f"`{_spelling(parameter)}`", f": {_meaning(parameter)}", ""]
    return lines


def _usage_lines(name: str, words: list[str], width: int = 72) -> list[str]:
    """Return the usage of a command in lines that fit a page; no option is parted from its value."""
    lines = [name]
    for word in words:
        if len(lines[-1]) + len(word) + 1 > width:
            lines.append("   ")
        lines[-1] += f" {word}"
    return lines


def _is_option(parameter: Parameter) -> bool:
    return bool(parameter.param_type_name == "option")


def _usage(parameter: Parameter) -> str:
    if _is_option(parameter):
        option = parameter.opts[0] if parameter.is_flag else f"{parameter.opts[0]} {_value_name(parameter)}"
        return option if parameter.required else f"[{option}]"
    name = _value_name(parameter)
    return name if parameter.required else f"[{name}]"


def _spelling(parameter: Parameter) -> str:
    if not _is_option(parameter):
        return _value_name(parameter)
    names = ", ".join([*parameter.opts, *parameter.secondary_opts])
    return names if parameter.is_flag else f"{names} {_value_name(parameter)}"


def _value_name(parameter: Parameter) -> str:
    if parameter.metavar:
        return parameter.metavar
    if _is_option(parameter):
        return str(parameter.bare_type()).upper()
    return str(parameter.name).upper() + ("..." if parameter.nargs == -1 else "")


def _meaning(parameter: Parameter) -> str:
    words = [_text(getattr(parameter, "help", None) or "")]
    default = parameter.default
    is_switch = _is_option(parameter) and parameter.is_flag
    if default not in (None, "", ()) and not callable(default) and not is_switch:
        words.append(f"Default: `{default}`.")
    return " ".join(word for word in words if word)


def _text(text: str) -> str:
    """Return help as Markdown: typer's own marks of colour are left out, Markdown's signs are escaped, and
    options are code, since two hyphens would become a dash.
    """
    kept = re.sub(r"\[/?(?:bold|italic|dim|cyan|green|yellow|red|blue)[^\]]*\]", "", text.replace("\f", ""))
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n\s*\n", kept.replace("\\[", "["))]
    return "\n\n".join(
        "".join(
            _words(part, is_option=number % 2 == 1) for number, part in enumerate(_OPTION.split(paragraph))
        )
        for paragraph in paragraphs
    )


def _words(text: str, *, is_option: bool) -> str:
    return f"`{text}`" if is_option else re.sub(r"([\\*_<>$|\[\]])", r"\\\1", text)
