"""This module has the size of the terminal, as far as the environment says it."""

from __future__ import annotations

import os
import sys

#: The variables must say at least this: in less no text has room, and rich prints nothing at all.
_LEAST = {"COLUMNS": 20, "TERMINAL_WIDTH": 20, "LINES": 2}


def forget_odd_sizes() -> None:
    """Remove sizes from the environment that no terminal has: containers and CI set ``COLUMNS=0``.

    rich and typer then ask the terminal, or take 80 columns. Numbers that are too small, and texts that are
    no numbers, count as unknown. Call this before typer is imported.
    """
    for name, least in _LEAST.items():
        text = os.environ.get(name)
        if text is not None and not (text.isascii() and text.isdigit() and least <= float(text) <= 1e5):
            del os.environ[name]


def open_closed_streams() -> None:
    """Lead standard streams that were closed before the program began to the null device.

    Python has None in their place, and the next file that a library opens, perhaps one of results, would get
    their number and what is printed.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is not None:
            continue
        opened = os.open(os.devnull, os.O_RDWR)  # it has the lowest number that is free
        os.set_inheritable(opened, opened == number)
        setattr(sys, name, os.fdopen(opened, "r" if name == "stdin" else "w"))
