"""METAQ directories are read as they are: scripts in priority/ and todo/ have ``#METAQ FLAG VALUE`` lines.

METAQ (https://github.com/evanberkowitz/metaq) finds a flag with grep: the first line that contains both
#METAQ and the flag's name, anywhere; its third word is the value. Here the first word must be #METAQ and the
second the flag, exactly; where the readings differ, both are named in a warning. See doc/campaign/metaq.md.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..ground.errors import BadArgument, FileError

FLAGS = ("NODES", "GPUS", "MIN_WC_TIME", "LOG", "PROJECT", "MACHINE")
#: These folders have the tasks to do, in the order in which they are looked at.
TASK_FOLDERS = ("priority", "todo")
FOLDER_FILE = ".metaq"

_HEAD_BYTES = 1 << 20
_SUFFIXES = {"d": 86400, "hr": 3600, "min": 60}
_NUMBER = r"\d+(?:\.\d*)?|\.\d+"
_CLOCK = re.compile(rf"(?:(?:(?P<d>\d+)-)?(?P<h>\d+):)?(?P<m>\d+):(?P<s>{_NUMBER})")


@dataclass(frozen=True, slots=True)
class Requirement:
    """A script or a folder's .metaq file asks for these resources.

    Attributes
    ----------
    seconds
        Wall-clock time that must be left for it to be started.
    """

    nodes: int = 0
    gpus: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class MetaqTask:
    """This is a script of a METAQ directory.

    Attributes
    ----------
    path
        The absolute path of the script.
    folder
        ``priority`` or ``todo``.
    folder_bound
        The folder's .metaq: the folder is skipped while so much is not free; it is no demand of the task.
    log, project, machines
        The script has them; MACHINE is read and, as in METAQ, decides nothing.
    warnings
        They say what METAQ itself would have read or done differently.
    """

    path: Path
    folder: str
    requirement: Requirement
    folder_bound: Requirement = Requirement()
    log: str = ""
    project: str = ""
    machines: tuple[str, ...] = ()
    warnings: tuple[str, ...] = field(default=())

    @property
    def name(self) -> str:
        return self.path.name


def seconds(text: str) -> float:
    """Return seconds of ``S``, ``MM:SS``, ``HH:MM:SS``, ``D-HH:MM:SS``, ``5min``, ``2hr``, ``1d``.

    An empty text is 0, as a missing MIN_WC_TIME is.

    Raises
    ------
    BadArgument
        The text is none of these.
    """
    text = text.strip()
    if not text:
        return 0.0
    if match := re.fullmatch(rf"({_NUMBER})(d|hr|min)?", text):
        return float(match[1]) * _SUFFIXES.get(match[2], 1)
    if match := _CLOCK.fullmatch(text):
        days, hours, minutes = (int(match[key] or 0) for key in "dhm")
        return 86400.0 * days + 3600 * hours + 60 * minutes + float(match["s"])
    raise BadArgument(
        f"not a METAQ time: {text!r}; legal are S, MM:SS, HH:MM:SS, D-HH:MM:SS (S may be 1.5), 5min, 2hr, 1d"
    )


def read_flags(text: str) -> tuple[dict[str, str], list[str]]:
    """Return values of the flags in a script's text, and warnings. The first line with a flag wins.

    Returns
    -------
    tuple
        Flag -> value (only those that are there), and one warning for each reading of METAQ's that differs.
    """
    warnings = []
    if "\r" in text:
        warnings.append("DOS line ends: METAQ would take the carriage return for a part of the value")
        text = text.replace("\r", "")
    lines = [line for line in text.split("\n") if "#METAQ" in line]
    for words in map(str.split, lines):
        if words[0] == "#METAQ" and words[1:2] and words[1] not in FLAGS:
            warnings.append(f"#METAQ {words[1]}: no flag; passed over, as by METAQ ({', '.join(FLAGS)} are)")
    values: dict[str, str] = {}
    for flag in FLAGS:
        exact = (w for w in map(str.split, lines) if w[0] == "#METAQ" and w[1:2] == [flag])
        loose = (line.split() for line in lines if flag in line)
        ours, theirs = (_third(next(each, None)) for each in (exact, loose))
        if ours is not None:
            values[flag] = ours
        if (ours or "") != (theirs or ""):
            shown = "nothing" if ours is None else repr(ours)
            warnings.append(
                f"{flag}: METAQ would read {theirs or ''!r} from another line; read here: {shown}"
            )
    return values, warnings


def _third(words: list[str] | None) -> str | None:
    return None if words is None else words[2] if len(words) > 2 else ""


def _requirement(values: dict[str, str], where: Path, warnings: list[str]) -> Requirement:
    counts = {}
    for flag in ("NODES", "GPUS"):
        text = values.get(flag, "") or "0"
        if not re.fullmatch(r"\d+", text):
            raise FileError(f"{where}: #METAQ {flag} is {text!r}; it must be a whole number, at least 0")
        counts[flag.lower()] = int(text)
    text = values.get("MIN_WC_TIME", "")
    try:
        needed = seconds(text)
    except BadArgument as error:
        raise FileError(f"{where}: #METAQ MIN_WC_TIME: {error}") from None
    for part in re.findall(r"\d+", text.partition(".")[0]) if ":" in text else ():
        if re.fullmatch(r"0\d*[89]\d*", part):
            warnings.append(
                f"MIN_WC_TIME {text}: to METAQ's shell {part} is a faulty octal number, the time then 0"
            )
            break
    return Requirement(**counts, seconds=needed)


def read_task(path: Path, folder: str = "", bound: Requirement = Requirement()) -> MetaqTask:
    """Read a script's flags.

    Raises
    ------
    FileError
        The script cannot be read, or a value is not what its flag needs.
    """
    try:
        with open(path, "rb") as file:
            content = file.read(_HEAD_BYTES)
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from None
    values, warnings = read_flags(content.decode(errors="replace"))
    if not values:
        warnings.append("no #METAQ line: it needs no nodes, no GPUs and no time")
    if not os.access(path, os.X_OK):
        warnings.append("not executable: METAQ would fail to start it and count it as finished")
    requirement = _requirement(values, path, warnings)
    return MetaqTask(
        path=path,
        folder=folder,
        requirement=requirement,
        folder_bound=bound,
        log=values.get("LOG", ""),
        project=values.get("PROJECT", ""),
        machines=tuple(name for name in values.get("MACHINE", "").split(",") if name),
        warnings=tuple(warnings),
    )


@dataclass(slots=True)
class MetaqDirectory:
    """This is all that is to do in a METAQ directory, in METAQ's order, and all that METAQ passes over."""

    root: Path
    tasks: list[MetaqTask]
    warnings: list[str]


def read_directory(root: Path) -> MetaqDirectory:
    """Read priority/ and todo/ with all folders below them; hold/, working/ and finished/ are left alone.

    Raises
    ------
    FileError
        It is no METAQ directory, or a script cannot be read.
    """
    root = root.absolute()
    if not any((root / name).is_dir() for name in TASK_FOLDERS):
        raise FileError(f"{root}: no METAQ directory (neither priority/ nor todo/ is there)")
    found = MetaqDirectory(root, [], [])
    for name in TASK_FOLDERS:
        folder = root / name
        if not folder.is_dir():
            continue
        bound = Requirement()
        if (folder / FOLDER_FILE).is_file():
            values, notes = read_flags((folder / FOLDER_FILE).read_text(errors="replace"))
            bound = _requirement(values, folder / FOLDER_FILE, notes)
            found.warnings += [f"{folder / FOLDER_FILE}: {note}" for note in notes]
        for path in _scripts(folder, found.warnings):
            found.tasks.append(read_task(path, name, bound))
    _warn_of_equal_names(found)
    return found


def _scripts(folder: Path, warnings: list[str]) -> Iterator[Path]:
    """Yield plain files below a folder, sorted by their whole path; no part of a path begins with a dot."""
    found = []
    for where, folders, names in os.walk(folder):
        here = Path(where)
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in [*folders, *names]:
            if (here / name).is_symlink() and not name.startswith("."):
                warnings.append(
                    f"{here / name}: a symbolic link, which METAQ passes over; passed over here too"
                )
        if here != folder and FOLDER_FILE in names:
            warnings.append(f"{here / FOLDER_FILE}: METAQ reads this file in a task folder only; not read")
        found += [here / n for n in names if not n.startswith(".") and not (here / n).is_symlink()]
    for path in found:
        if not str(path).isprintable():
            raise FileError(f"{str(path)!r}: a campaign file cannot name it: rename it")
    return iter(sorted(path for path in found if path.is_file()))


def _warn_of_equal_names(found: MetaqDirectory) -> None:
    """Warn of scripts with one name: working/ and finished/ are flat, and the later one
    overwrites the earlier.
    """
    seen: dict[str, Path] = {}
    for task in found.tasks:
        if task.name in seen:
            found.warnings.append(
                f"{task.path}: has the name of {seen[task.name]}; in METAQ's working/ they collide"
            )
        seen.setdefault(task.name, task.path)
