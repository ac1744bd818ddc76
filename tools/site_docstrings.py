"""This module makes docstrings as Sphinx gets them: signs of formulas escaped, and attributes as a list of
definitions."""

from __future__ import annotations

import re

#: This stays as it is: ``code``, `code`, and roles such as :func:`read_gauge_field`.
_CODE = re.compile(r"``.+?``|:[a-z:]+:`[^`]+`|`[^`]+`")
_SIGN = re.compile(r"[*|\\]|(?<=\w)_(?!\w)")


def escaped(line: str) -> str:
    """Return a line in which |x|, a * b and D_ are what they look like, and no marks of reStructuredText."""
    kept, begin = [], 0
    for code in _CODE.finditer(line):
        kept += [_SIGN.sub(r"\\\g<0>", line[begin : code.start()]), code[0]]
        begin = code.end()
    return "".join([*kept, _SIGN.sub(r"\\\g<0>", line[begin:])])


def rewritten(lines: list[str], *, is_value: bool) -> list[str]:
    """Return the lines of a docstring for napoleon.

    Parameters
    ----------
    lines
        The docstring, without its common indentation.
    is_value
        True for attributes and properties, whose first line napoleon would read as "type: text".
    """
    found: list[str] = []
    in_attributes = in_literal = False
    for number, line in enumerate(lines):
        below = lines[number + 1] if number + 1 < len(lines) else ""
        if in_literal and line and not line.startswith(" "):
            in_literal = False
        if _is_rule(below):  # this line is the title of a section
            in_attributes = line == "Attributes"
            found.append(line)
        elif line.lstrip().startswith((">>>", "...", "..")) or in_literal:
            found.append(line)
        elif in_attributes and line and not line.startswith((" ", "-")):
            found.append(", ".join(f"``{name}``" for name in line.split(" : ")[0].split(", ")))
        else:
            found.append(line if _is_rule(line) else escaped(line))
        in_literal = in_literal or line.rstrip().endswith("::")
    if is_value and found:
        found[0] = f": {found[0]}"
    return found


def _is_rule(line: str) -> bool:
    return len(line) >= 3 and set(line) == {"-"}
