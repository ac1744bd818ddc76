"""This module has the provenance of results: every file that trellis writes says by which version and build
it was made."""

from __future__ import annotations

import datetime
import importlib
from typing import Any

from .compiled_core import load
from .version import __version__, conventions_version, run_file_language


def now() -> str:
    """Return the time in UTC, in ISO 8601 with seconds."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def revision() -> str:
    """Return git's revision of the sources at the last build; "unknown" without git or from a tarball."""
    try:
        found = importlib.import_module("trellis._revision")
    except ImportError:
        return "unknown"
    return str(getattr(found, "REVISION", "unknown"))


def build_provenance() -> dict[str, Any]:
    """Return versions, revision, compiler, and numbers of ranks and threads, as plain values."""
    core = load()
    build = core.build()
    return {
        "trellis_version": __version__,
        "revision": revision(),
        "conventions_version": conventions_version,
        "run_file_language": run_file_language,
        "compiler": build["compiler"],
        "flags": build["flags"],
        "ranks": core.size(),
        "threads_per_rank": core.thread_count(),
    }


def write_root_attributes(
    root: Any, kind: str, run_file: str, lattice: tuple[int, ...], *, fixed_texts: bool = False
) -> None:
    """Write the attributes of the root of a result file. Collective.

    Parameters
    ----------
    root
        Group of the compiled part's HDF5.
    kind
        "measurement", "gauge_stream", "propagator".
    run_file
        The whole text of the run file.
    lattice
        Lx, Ly, Lz, Lt.
    fixed_texts
        The texts that decide how a file is read have a fixed length (h5py reads bytes): what is damaged in
        the heap of the others then cannot crash the HDF5 library of a reader.
    """
    from .parallel import broadcast

    set_deciding = root.set_fixed_text if fixed_texts else root.set_text
    set_deciding("kind", kind)
    for name, value in build_provenance().items():
        if isinstance(value, int):
            root.set_integer(name, value)
        else:
            (set_deciding if name == "conventions_version" else root.set_text)(name, value)
    root.set_text("run_file", run_file)
    root.set_integers("lattice", list(lattice))
    root.set_text("created", broadcast(now()))
