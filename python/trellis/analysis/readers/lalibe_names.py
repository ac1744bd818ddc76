"""The configuration of a file of lalibe's layout is the number in its name that differs between files.

Names are compared with the name of their folder, so that one folder for each configuration will do. Files
whose names differ in numbers alone are of one kind (spectrum, Feynman-Hellmann); within a kind the
configuration is the one number that differs, whatever stands beside it:
spec_l1648_a_100_gf1.0_mq0.0102.h5, spec_l1648_a_105_gf1.0_mq0.0102.h5. Places of sources, x0y0z0t0 or
x0_y0_z0_t0, do not count. Where a kind has a single file, its configuration is the number between dots,
dashes or underscores that another kind has too, or the last of them; without any number there is one
configuration, which is called 0. Where several numbers differ, nothing is guessed: the option
lalibe_configuration says which.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from ..records.errors import AnalysisError, MeasurementFileError

_PLACE = re.compile(r"x\d+_?y\d+_?z\d+_?t\d+")
_ALONE = re.compile(r"(?:^|[._-])(?:cfg|conf|config|configuration)?(\d+)(?=$|[._-])")

_LARGEST = 2**63 - 1  #: results can hold no larger number


def configuration_numbers(paths: list[Path], pattern: str | None) -> dict[Path, int]:
    """Return file -> number of its configuration.

    Parameters
    ----------
    pattern
        Regular expression with one group, the number, that is searched for in FOLDER/NAME; None: as above.

    Raises
    ------
    MeasurementFileError
        A name has no number, or several that differ.
    AnalysisError
        The pattern is no regular expression with one group.
    """
    found = _by_pattern(paths, pattern) if pattern is not None else _by_names(paths)
    for path, number in found.items():
        if number > _LARGEST:
            expected = f"a configuration's number of at most {_LARGEST}"
            raise MeasurementFileError(path, "name", expected=expected, found=number)
    return found


def _by_names(paths: list[Path]) -> dict[Path, int]:
    kinds: dict[str, list[Path]] = {}
    for path in paths:
        kinds.setdefault(re.sub(r"\d+", "#", _name(path)), []).append(path)
    found: dict[Path, int] = {}
    for members in kinds.values():
        if len(members) > 1:
            found |= _that_differ(members)
    single = [members[0] for members in kinds.values() if len(members) == 1]
    known = set(found.values())
    for path in single:
        numbers = [int(n) for n in _ALONE.findall(path.stem)]
        among = [n for n in numbers if n in known] or ([] if known else numbers)
        if among:
            found[path] = among[-1]
    without = [path for path in single if path not in found]
    if without and found:
        expected = "the configuration's number, as in spectrum_120.h5 (or the option lalibe_configuration)"
        raise MeasurementFileError(without[0], "name", expected=expected, found=without[0].name)
    return found | dict.fromkeys(without, 0)


def _name(path: Path) -> str:
    """Return folder and name, without places of sources."""
    return _PLACE.sub("", f"{path.absolute().parent.name}/{path.stem}")


def _that_differ(members: list[Path]) -> dict[Path, int]:
    """Return the one field of these names that differs."""
    fields = [[int(n) for n in re.findall(r"\d+", _name(path))] for path in members]
    columns = {tuple(column) for column in zip(*fields, strict=True) if len(set(column)) > 1}
    if len(columns) != 1:
        says = 'lalibe_configuration = "_a_([0-9]+)_" in the TOML file given to --options'
        found = f"{len(columns)}, as in {members[0].name} and {members[1].name}"
        expected = f"one number that differs from file to file (or the option {says})"
        raise MeasurementFileError(members[0], "name", expected=expected, found=found)
    return dict(zip(members, columns.pop(), strict=True))


def _by_pattern(paths: Iterable[Path], pattern: str) -> dict[Path, int]:
    try:
        expression = re.compile(pattern)
    except re.error as error:
        raise AnalysisError(f"lalibe_configuration: {pattern!r}: {error}") from None
    if expression.groups != 1:
        raise AnalysisError(
            f"lalibe_configuration: expected one group, as in _a_([0-9]+)_, found {expression.groups} in "
            f"{pattern!r}"
        )
    found = {}
    for path in paths:
        name = f"{path.absolute().parent.name}/{path.name}"
        match = expression.search(name)
        if match is None or not (match[1] or "").isdecimal():
            expected = f"a name in which {pattern!r} finds a number"
            raise MeasurementFileError(path, "name", expected=expected, found=name)
        found[path] = int(match[1])
    return found
