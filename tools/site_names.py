"""This module makes the pages of the Python interface: one for each room, with all names that it makes
public.

The pages hold directives of Sphinx, which reads docstrings and signatures from the sources; the compiled part
is not needed.
"""

from __future__ import annotations

import importlib
import inspect
import types
from collections.abc import Iterator

import trellis

#: A room has a title and what it is for; names come from trellis.__all__ and from the rooms themselves.
ROOMS = {
    "gauge": ("Gauge fields", "Lattices, links, their files, starts and the gradient flow."),
    "quarks": ("Quarks", "Operators, sources, propagators and their files, dense matrices."),
    "solve": ("Solvers", "Solver values, low modes, multigrid, and what noise and staggered solves give."),
    "hadrons": ("Hadrons", "Two-point and three-point functions, currents."),
    "evolve": ("Configurations", "Heat bath and the terms of molecular dynamics."),
    "ground": ("Ranks, scales, errors, reports", "What all rooms share."),
}
#: These submodules are public by name.
MODULES = {
    "measure": "trellis measure from Python",
    "generate": "trellis generate from Python",
    "glass": "trellis glass from Python",
    "analysis": "Analysis",
    "report": "Reports",
    "run_files": "Run files",
    "errors": "Errors",
}
#: These classes have no name in the package; its functions return them.
HANDED_OUT = {
    "quarks": ["trellis.quarks.dense_matrices.DenseOperator"],
    "solve": ["trellis.solve.bound.BoundSolver", "trellis.solve.custom_operator.CustomOperator"],
}


def public_names() -> dict[str, list[str]]:
    """Return the full public names by page: those of trellis by room, then those of its submodules."""
    found: dict[str, list[str]] = {room: [] for room in ROOMS}
    for name in trellis.__all__:
        room = trellis._SUBMODULE_OF.get(name, f"solve.{name}").split(".")[0]
        found[room].append(f"trellis.{name}")
    for room, names in HANDED_OUT.items():
        found[room] += names
    for module in MODULES:
        listed = importlib.import_module(f"trellis.{module}").__all__
        found[module] = [f"trellis.{module}.{name}" for name in listed]
    return found


def first_names(names: dict[str, list[str]]) -> dict[str, str]:
    """Return for each public name the one under which its object is described: the first that it has."""
    first: dict[int, str] = {}
    return {name: first.setdefault(id(object_of(name)), name) for listed in names.values() for name in listed}


def pages() -> dict[str, str]:
    """Return the name and the Markdown of each page, with the page that lists them first."""
    names = public_names()
    first = first_names(names)
    made = {page: _page(page, names[page], first) for page in names}
    return {"README": _front(names, first), **made}


def _title(page: str) -> str:
    return ROOMS[page][0] if page in ROOMS else MODULES[page]


def _front(names: dict[str, list[str]], first: dict[str, str]) -> str:
    lines = [
        "# Python interface",
        "",
        "All public names, by room. They are made from the docstrings of the sources.",
        "",
        "```{toctree}",
        ":maxdepth: 1",
        "",
        *names,
        "```",
        "",
        "## All names",
        "",
    ]
    for page, listed in names.items():
        shown = ", ".join(f"{{any}}`{name.rsplit('.', 1)[1]} <{first[name]}>`" for name in listed)
        lines += [f"{_title(page)}", f": {shown}", ""]
    return "\n".join(lines)


def _page(page: str, names: list[str], first: dict[str, str]) -> str:
    lines = [f"# {_title(page)}", ""]
    if page in ROOMS:
        lines += [ROOMS[page][1], ""]
    lines += ["```{eval-rst}"]
    if page in MODULES:
        lines += [f".. automodule:: trellis.{page}", "   :no-members:", ""]
    for name in names:
        lines += [f".. currentmodule:: {_home(page)}", "", *_directive(name, first[name]), ""]
    return "\n".join([*lines, "```", ""])


def _home(page: str) -> str:
    return f"trellis.{page}" if page in MODULES else "trellis"


def _directive(name: str, described_as: str) -> Iterator[str]:
    value = object_of(name)
    if name != described_as:
        yield f"* :any:`{name.rsplit('.', 1)[1]} <{described_as}>`"
    elif not inspect.isclass(value):
        yield f".. autofunction:: {name}" if callable(value) else f".. autodata:: {name}"
    elif issubclass(value, Exception):
        yield f".. autoexception:: {name}"
        yield "   :show-inheritance:"
    else:
        yield f".. autoclass:: {name}"
        if not hasattr(value, "model_json_schema"):
            yield "   :members:"
            yield "   :inherited-members: tuple, Exception, NotPickled, ABC"
        else:  # its keys have pages of their own
            yield "   :no-members:"


def object_of(name: str) -> object:
    """Return what a full name names, whatever part of it is the module."""
    parts = name.split(".")
    for length in range(len(parts) - 1, 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            found = getattr(found, part)
        return found
    raise ValueError(f"expected the full name of an object, found {name}")


def public_name_of() -> dict[str, str]:
    """Return the public name of each object by the full name of its definition, for links of annotations."""
    found = {}
    for names in public_names().values():
        for name in names:
            value = object_of(name)
            if isinstance(value, type | types.FunctionType):
                found.setdefault(f"{value.__module__}.{value.__qualname__}", name)
    return found
