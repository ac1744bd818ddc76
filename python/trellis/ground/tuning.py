"""This module has the tuner's cache, which says which ways of walking over the lattice and of moving halos
between ranks were fastest.

It is in files of the user's cache folder.

All ways give the same bits, so nothing here changes a result, and no trouble with a file ends a run. Each
process that records writes a file of its own and renames it; readers merge all files. There are no locks.

TRELLIS_TUNE says what happens: `off` (the default ways, without trials), `read` (the default: cached ways,
and trials in this process for what the cache does not have) or `on` (likewise, and what trials find is kept).
How halos travel is tried in `on` alone, where rank 0 chooses for all ranks.
The key `machine.tune` of a run file comes before it. TRELLIS_CACHE names the folder, else
XDG_CACHE_HOME/trellis or ~/.cache/trellis.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import platform
import socket
import uuid
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from .compiled_core import load
from .crash_safe_files import write_json
from .errors import Error
from .parallel import broadcast

TuneMode = Literal["off", "read", "on"]

#: The files have this version; readers pass over those of another one.
SCHEMA = 1
#: A process that writes takes older files of its machine and build into its own from this number on.
MOST_FILES = 16
#: Trellis writes no larger files; they belong to something else.
_MOST_BYTES = 16 << 20
_KEY = ("kernel", "storage", "lattice", "cut", "columns", "threads", "working_set_bits")

Choice = dict[str, Any]


@dataclass(slots=True)
class Cache:
    """These are the choices that the files of a folder have for this machine and this build of the kernels.

    Attributes
    ----------
    choices
        Each key has the best of all files: a way that was timed again replaces older choices, else the
        fastest stays.
    files
        Files that were read and belong to this machine and build.
    foreign
        The number of files of other machines, builds or schemata.
    damaged
        One sentence for each damaged file, which says what is wrong with it.
    """

    choices: dict[tuple, Choice] = field(default_factory=dict)
    files: list[Path] = field(default_factory=list)
    foreign: int = 0
    damaged: list[str] = field(default_factory=list)

    def add(self, choices: Iterable[Choice]) -> None:
        """Merge these choices into the table."""
        for choice in choices:
            key = tuple(choice[name] for name in _KEY)
            there = self.choices.get(key)
            if there is None or _rank(choice) < _rank(there):
                self.choices[key] = choice


def _rank(choice: Choice) -> tuple[int, float]:
    """Return the rank of a choice; a smaller one is better."""
    return -choice["repeats"], choice["seconds"]


def cache_folder() -> Path:
    """Return the folder of the tuner's files, which need not exist."""
    if named := os.environ.get("TRELLIS_CACHE"):
        return Path(named) / "tuning"
    base = os.environ.get("XDG_CACHE_HOME") or ""
    if not os.path.isabs(base):  # relative paths are to be ignored, says the XDG base directory specification
        base = os.path.expanduser("~/.cache")
    if not os.path.isabs(base):  # a user whom the machine does not know has no home, and no folder named "~"
        base = "/nonexistent/.cache"
    return Path(base) / "trellis" / "tuning"


def processor() -> str:
    """Return the model of this machine's processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def this_machine() -> dict[str, str]:
    """Return backend, processor and a hash of the kernels' build, on which all choices depend."""
    return {"backend": "cpu", "processor": processor(), "build": load().kernel_source_hash()}


def halo_ways(cache: Cache) -> dict[str, int]:
    """Return the number of halos in a cache that travel in each way, by the name of the way."""
    names = load().halo_way_names()
    ways = [choice["way"] for choice in cache.choices.values() if choice["kernel"].startswith("halo on ")]
    return {name: count for number, name in enumerate(names) if (count := ways.count(number))}


def read_cache(folder: Path | None = None) -> Cache:
    """Merge all files of the folder.

    Parameters
    ----------
    folder
        Default: :func:`cache_folder`.
    """
    cache = Cache()
    machine = this_machine()
    with contextlib.suppress(OSError):
        for path in sorted((folder or cache_folder()).glob("*.json")):
            _read_file(path, machine, cache)
    return cache


def _read_file(path: Path, machine: dict[str, str], cache: Cache) -> None:
    from pydantic import ValidationError

    try:
        if path.stat().st_size > _MOST_BYTES:
            cache.damaged.append(f"{path} has more than {_MOST_BYTES >> 20} MiB")
            return
        head_model, choices_model = _file_models()
        text = path.read_bytes()
        head = head_model.model_validate_json(text)
        if head.schema_ != SCHEMA or head.machine != machine:
            cache.foreign += 1
            return
        found = choices_model.model_validate_json(text)
    except FileNotFoundError:  # another process has just merged it into its own
        return
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        cache.damaged.append(f"{path} is damaged: {where + ': ' if where else ''}{first['msg']}")
        return
    except OSError as error:
        cache.damaged.append(f"{path} cannot be read: {error.strerror}")
        return
    cache.files.append(path)
    cache.add(choice.model_dump() for choice in found.choices)


@lru_cache(maxsize=1)
def _file_models() -> tuple[Any, Any]:
    """Return the models of a file's head (its machine) and of its choices.

    pydantic is imported only if there is a file to read.
    """
    from pydantic import BaseModel, ConfigDict, Field

    class TunedWay(BaseModel):
        model_config = ConfigDict(strict=True, extra="forbid")
        kernel: str
        storage: str
        lattice: str
        cut: str
        columns: int = Field(ge=1, lt=2**31)
        threads: int = Field(ge=1, lt=2**31)
        working_set_bits: int = Field(ge=0, le=64)
        way: int = Field(ge=0, lt=2**31)
        seconds: float = Field(gt=0, allow_inf_nan=False)
        repeats: int = Field(ge=0, lt=2**30)  # the compiled part adds to it

    class Head(BaseModel):
        model_config = ConfigDict(strict=True, extra="ignore")
        schema_: int = Field(alias="schema")
        machine: dict[str, str]

    class Choices(BaseModel):
        model_config = ConfigDict(strict=True, extra="ignore")
        choices: list[TunedWay]

    return Head, Choices


def write_choices(choices: Iterable[Choice], folder: Path | None = None) -> Path:
    """Write these choices into a file of this process, together with those of many older ones.

    Parameters
    ----------
    choices
        They are as the core's take_tuner_records() gives them.
    folder
        Default: :func:`cache_folder`. It is made.

    Returns
    -------
    Path
        The new file.

    Raises
    ------
    OSError, FileError
        It cannot be written.
    """
    folder = folder or cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}.json"
    older = read_cache(folder)
    merged = Cache()
    taken = older.files if len(older.files) >= MOST_FILES else []
    if taken:
        merged.choices = older.choices
    merged.add(choices)
    content = {"schema": SCHEMA, "machine": this_machine(), "choices": list(merged.choices.values())}
    write_json(path, content)
    for file in taken:  # the new one is there before: a reader finds each choice at least once
        with contextlib.suppress(OSError):
            file.unlink()
    return path


_is_prepared = False


def prepare(mode: TuneMode | None = None, warn: Callable[[str], None] | None = None) -> None:
    """Set the tuner's mode and fill it from the cache, once in a process. Collective: rank 0 reads.

    Parameters
    ----------
    mode
        It is that of a run file; the default is TRELLIS_TUNE, or `read`.
    warn
        Gets a line for each damaged file; default: a Python warning.

    Raises
    ------
    BadArgument
        TRELLIS_TUNE is another word.
    """
    global _is_prepared
    if _is_prepared:
        return
    core = load()
    mode_there = core.tuner_mode()  # it refuses another word
    _is_prepared = True
    if mode is not None:
        core.set_tuner_mode(mode)
    if (mode or mode_there) == "off":
        return
    cache = broadcast(read_cache() if core.rank() == 0 else Cache())
    for choice in cache.choices.values():
        core.fill_tuner(**choice)
    if core.rank() != 0:
        return
    warn = warn or (lambda text: warnings.warn(text, RuntimeWarning, stacklevel=3))
    if cache.damaged:
        others = f" (and {len(cache.damaged) - 1} others)" if len(cache.damaged) > 1 else ""
        warn(f"the tuner's cache: {cache.damaged[0]}{others}; what it had is tried again")
    if (mode or mode_there) == "on":
        atexit.register(lambda: keep(core.take_tuner_records(), warn))


def keep(choices: list[Choice], warn: Callable[[str], None]) -> Path | None:
    """Write these choices, if there are any; a warning says why that cannot be.

    Parameters
    ----------
    choices
        They are as the core's take_tuner_records() gives them.
    warn
        Gets the reason where they cannot be written.

    Returns
    -------
    Path or None
        The new file.
    """
    if not choices:
        return None
    try:
        return write_choices(choices)
    except (OSError, Error) as error:
        warn(f"the tuner's cache: {cache_folder()}: {error}; what was tuned in this run is not kept")
        return None
