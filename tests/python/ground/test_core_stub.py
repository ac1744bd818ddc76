"""The stub of the compiled core (_core.pyi) says what the compiled classes have."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import trellis
from trellis.ground.compiled_core import load

STUB = ast.parse((Path(trellis.__file__).parent / "_core.pyi").read_text())
CLASSES = [node for node in STUB.body if isinstance(node, ast.ClassDef)]
#: The stub has this word for nanobind's numpy.ndarray[dtype=complex128].
ARRAY = "NDArray[np.complex128]"


def compiled_members(name: str) -> dict[str, tuple[list[str], str]]:
    """Return parameters and the type returned, from nanobind's signatures."""
    found = {}
    for key, member in vars(getattr(load(), name)).items():
        function = member.fget if isinstance(member, property) else member
        if (key.startswith("_") and key != "__init__") or not hasattr(function, "__nb_signature__"):
            continue
        ((text, *_),) = function.__nb_signature__
        inside, returned = re.fullmatch(r"def \w* ?\((.*)\) -> (.*)", text).groups()
        inside = re.sub(r"\[[^]]*\]", "", inside)  # types have commas of their own
        parameters = [part.split(":")[0].strip() for part in inside.split(",")]
        returned = returned.replace("trellis._core.", "").replace("numpy.ndarray[dtype=complex128]", ARRAY)
        returned = returned.replace("numpy.ndarray[dtype=float64]", "NDArray[np.float64]")
        found[key] = (parameters, returned)
    return found


def stub_members(node: ast.ClassDef) -> dict[str, tuple[list[str], str]]:
    return {
        member.name: ([a.arg for a in member.args.args], ast.unparse(member.returns))
        for member in node.body
        if isinstance(member, ast.FunctionDef)
    }


@pytest.mark.parametrize("node", CLASSES, ids=lambda node: node.name)
def test_members(node: ast.ClassDef) -> None:
    stub, compiled = stub_members(node), compiled_members(node.name)
    assert set(stub) == set(compiled)
    for name, (parameters, returned) in stub.items():
        assert parameters == compiled[name][0], name
        # The bindings make "dict", "list" and "tuple" alone by hand, and only the stub says of what.
        bare = compiled[name][1] if compiled[name][1] in ("dict", "list", "tuple") else None
        assert returned == compiled[name][1] or returned.startswith(f"{bare}["), name


def test_something_is_compared() -> None:
    assert {"GaugeField", "Propagator"} <= {node.name for node in CLASSES}
