"""People write durations in these ways."""

from __future__ import annotations

import math
import re

from ..ground.errors import BadArgument

_UNITS = {"s": 1, "sec": 1, "min": 60, "m": 60, "h": 3600, "hr": 3600, "d": 86400}
_WITH_UNIT = re.compile(r"^([0-9]*\.?[0-9]+)\s*(s|sec|min|m|h|hr|d)$")
_CLOCK = re.compile(r"^(?:(\d+)-)?(\d+(?::\d+){1,2})$")


def parse_seconds(text: str | float | int) -> float:
    """Return seconds of 90, "90", "90s", "1.5min", "2h", "1d", "MM:SS", "HH:MM:SS" or "D-HH:MM:SS".

    Raises
    ------
    BadArgument
        The text is none of these, negative, or not finite.
    """
    seconds = _seconds(text)
    if seconds is None or not math.isfinite(seconds):
        raise BadArgument(
            f"not a duration: {text!r}; write 90, '90s', '5min', '2h', '1d', '1:30:00' or '1-12:00:00'"
        )
    return seconds


def _seconds(text: str | float | int) -> float | None:
    if isinstance(text, (int, float)) and not isinstance(text, bool):
        return float(text) if 0 <= text < 1e300 else None
    word = str(text).strip().lower()
    if re.fullmatch(r"[0-9]*\.?[0-9]+", word):
        return float(word)
    if match := _WITH_UNIT.match(word):
        return float(match[1]) * _UNITS[match[2]]
    if match := _CLOCK.match(word):
        parts = [int(part) for part in match[2].split(":")]
        if match[1] and len(parts) < 3:
            parts.append(0)  # the form was D-HH:MM
        seconds = 0
        for part in parts:
            seconds = 60 * seconds + part
        return float(seconds + 86400 * int(match[1] or 0))
    return None


def show_seconds(seconds: float) -> str:
    """Return "42 s", "3 min 5 s", "2 h 10 min" or "1 d 4 h"."""
    if seconds < 60:
        return f"{seconds:.3g} s"
    whole = round(seconds)
    for unit, size, below, name in (("min", 60, 1, "s"), ("h", 3600, 60, "min"), ("d", 86400, 3600, "h")):
        if whole < size * (60 if unit == "min" else 24) or unit == "d":
            rest = whole % size // below
            return f"{whole // size} {unit}" + (f" {rest} {name}" if rest else "")
    raise AssertionError
