"""This module runs trellis convert-input: it makes a run file from the input of another program."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..ground.errors import BadArgument, FileError
from ..peer_inputs import from_milc, from_openacc, from_openqcd
from .output import Output

_CONVERTERS: dict[str, Callable[..., str]] = {
    "milc": from_milc,
    "openacc": from_openacc,
    "openqcd": from_openqcd,
}
#: Each of them takes these options, by the names of its parameters and as the command line has them.
_OPTIONS = {
    "milc": {"flavours": "--flavours", "tree_level": "--tree-level"},
    "openacc": {"action": "--action", "one_replica": "--one-replica"},
    "openqcd": {"extents": "--lattice", "periodic": "--periodic"},
}


def convert_input(source: Path, *, program: str, target: Path | None, json: bool, **options: Any) -> int:
    """Print the run file, or write it; what is not taken over goes to standard error.

    Parameters
    ----------
    program
        "milc", "openacc" or "openqcd".
    target
        The run file to write; None: print it.
    options
        Parameters of the converters; None and False: not given.
    """
    output = Output(json)
    given = {key: value for key, value in options.items() if value not in (None, False)}
    _require_options(program, given)
    if target is not None and target.exists():
        raise BadArgument(f"{target} is there already; it is not overwritten")
    try:
        text = _CONVERTERS[program](_read(source), **given)
    except BadArgument as error:
        raise BadArgument(f"{source}: {error}") from error
    for remark in remarks_of(text):
        output.remark(remark)
    if target is None:
        output.line(text.removesuffix("\n"))
    elif output.is_root:
        _write(target, text)
    output.result(
        {
            "run": "convert-input",
            "input": str(source),
            "output": str(target) if target is not None else None,
            "remarks": remarks_of(text),
            "run_file": text,
        }
    )
    return 0


def remarks_of(text: str) -> list[str]:
    """Return the comments at the head of a converter's run file but the first, which names the source."""
    head = itertools.takewhile(lambda line: line.startswith("# "), text.splitlines())
    return [line.removeprefix("# ") for line in head][1:]


def _require_options(program: str, given: dict[str, Any]) -> None:
    if program not in _CONVERTERS:
        raise BadArgument(f"--from: expected {', '.join(_CONVERTERS)}, found {program!r}")
    for other, names in _OPTIONS.items():
        for key in given if other != program else ():
            if key in names:
                raise BadArgument(f"{names[key]} is for --from {other}, found --from {program}")
    if program == "openqcd" and "extents" not in given:
        raise BadArgument("--from openqcd: expected --lattice X.Y.Z.T, which is compiled into the program")


def _read(source: Path) -> str:
    try:
        return source.read_text(encoding="utf-8", errors="replace")  # comments may be in any encoding
    except OSError as error:
        raise FileError(f"{source}: cannot be read: {error.strerror}") from error


def _write(target: Path, text: str) -> None:
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise FileError(f"{target}: cannot be written: {error.strerror}") from error


def parse_flavours(text: str | None) -> list[float] | None:
    """Turn "2,1,1" into [2.0, 1.0, 1.0]."""
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise BadArgument(f"--flavours: expected numbers such as 2,1,1, found {text!r}") from None
