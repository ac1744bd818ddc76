"""A wheel carries the compiled part several times, for processors with more and with fewer instructions.

In a wheel (tools/wheel) the folder `builds` of the package has a folder for each set of instructions, by the
names that gcc's -march takes; a build of your own has one module beside this package and no such folder.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader
from pathlib import Path
from types import ModuleType

from .errors import BadArgument, NotAvailable

BUILDS = Path(__file__).resolve().parent.parent / "builds"
#: This variable names one of the builds, instead of the best that this processor can run.
VARIABLE = "TRELLIS_BUILD"
#: Linux gives these names to what levels of x86-64 have beyond the second (psABI, 3.1.1); the best level is
#: first.
_V3 = {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"}
_V4 = _V3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
_LEVELS = {"x86-64-v4": _V4, "x86-64-v3": _V3}


def processor_flags() -> set[str]:
    """Return the instruction sets that Linux says this processor has; none where it says nothing."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return set()
    line = next((line for line in text.splitlines() if line.startswith("flags")), "")
    return set(line.partition(":")[2].split())


def chosen_build(builds: Path, flags: set[str]) -> Path | None:
    """Return the module of the best build that the processor can run; None: there are no builds.

    Raises
    ------
    BadArgument
        The environment names a build that is not there.
    NotAvailable
        The processor can run none of them.
    """
    there = {
        level: path
        for level in _LEVELS
        for suffix in EXTENSION_SUFFIXES
        if (path := builds / level / f"_core{suffix}").is_file()
    }
    if not there:
        return None
    asked = os.environ.get(VARIABLE)
    if asked:
        if asked not in there:
            raise BadArgument(f"{VARIABLE}: expected {' or '.join(there)}, found {asked!r}")
        return there[asked]
    for level, path in there.items():
        if flags >= _LEVELS[level]:
            return path
    least = min(there, key=lambda level: len(_LEVELS[level]))
    missing = sorted(_LEVELS[least] - flags)
    raise NotAvailable(
        f"the compiled part is for processors with {least}; this one lacks {', '.join(missing)}: build "
        "trellis from its sources here (./bootstrap build)"
    )


def import_build() -> ModuleType | None:
    """Import the chosen build as trellis._core; return None if this is no wheel."""
    path = chosen_build(BUILDS, processor_flags())
    if path is None:
        return None
    package = __name__.partition(".")[0]
    name = f"{package}._core"
    loader = ExtensionFileLoader(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    sys.modules[package]._core = module  # type: ignore[attr-defined]
    return module
