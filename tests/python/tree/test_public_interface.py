"""These tests look at the public interface as a person meets it: types for a checker, docstrings with what
they have to say."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import trellis as tr
from trellis.quarks.dense_matrices import DenseOperator
from trellis.solve.bound import BoundSolver
from trellis.solve.custom_operator import CustomOperator

#: These have no name in the package: its functions return them.
HANDED_OUT = {"BoundSolver": BoundSolver, "CustomOperator": CustomOperator, "DenseOperator": DenseOperator}
#: Functions of the package make these and its users do not, or they are plain containers of numbers.
NOT_CALLED = {
    "BoundSolver",
    "DenseOperator",
    "Eigenvectors",
    "FlowHistory",
    "Multigrid",
    "Propagator",
    "SolveReport",
    "StaggeredCondensates",
    "StaggeredObservables",
    "StaggeredPropagator",
    "WilsonObservables",
}


def public() -> Iterator[tuple[str, Callable]]:
    """Return functions, methods (inherited ones too) and the constructors of classes, by name."""
    for name, value in ({name: getattr(tr, name) for name in tr.__all__} | HANDED_OUT).items():
        if not inspect.isclass(value):
            yield name, value
            continue
        is_plain = issubclass(value, Exception) and "__init__" not in value.__dict__
        if name not in NOT_CALLED and not is_plain:
            yield name, value
        for key, member in inspect.getmembers_static(value):
            function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
            if (
                inspect.isfunction(function)
                and not key.startswith("_")
                and function.__module__.startswith("trellis")
            ):
                yield f"{name}.{key}", function


PUBLIC = dict(public())


def parameters(function: Callable) -> dict[str, inspect.Parameter]:
    called = function.__init__ if inspect.isclass(function) else function
    found = inspect.signature(called).parameters
    return {name: p for name, p in found.items() if name not in ("self", "cls") and name[0] != "_"}


def section(text: str, title: str) -> str:
    """Return the text of one section of a numpydoc docstring."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", text, re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


@pytest.mark.parametrize("name", PUBLIC)
def test_parameters_have_types_and_words(name: str) -> None:
    function = PUBLIC[name]
    text = inspect.getdoc(function) or ""
    described = re.findall(r"^(\w[\w, ]*?)(?: : .*)?$", section(text, "Parameters"), re.MULTILINE)
    words = {word for line in described for word in line.split(", ")}
    for parameter, of in parameters(function).items():
        assert of.annotation is not inspect.Parameter.empty, f"{name}: {parameter} has no type"
        assert parameter in words, f"{name}: {parameter} is not described"
    if not inspect.isclass(function):
        assert inspect.signature(function).return_annotation is not inspect.Signature.empty, name


#: Nothing that these take can be refused.
NEVER_RAISE = {"GaugeField", "NotConverged", "SolveReport.with_roof", "abort"}


@pytest.mark.parametrize("name", [n for n, f in PUBLIC.items() if parameters(f) and n not in NEVER_RAISE])
def test_what_can_be_refused_is_said(name: str) -> None:
    assert section(inspect.getdoc(PUBLIC[name]) or "", "Raises")


def test_the_package_says_that_it_has_types() -> None:
    """Without the marker, a type checker passes over the package where it is installed."""
    assert (Path(tr.__file__).parent / "py.typed").exists()
