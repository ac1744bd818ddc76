"""This module has linear operators that a user writes in Python, as preconditioners."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..ground.arguments import instance
from ..ground.compiled_core import load
from ..ground.copies_and_pickles import NoArray, SharedByCopies
from ..ground.errors import BadArgument
from ..quarks.operators import QuarkOperator

Function = Callable[[NDArray[np.complex128]], NDArray[np.complex128]]


class CustomOperator(SharedByCopies, NoArray):
    """This is a linear operator that is a Python function; :func:`custom_operator` returns it.

    Parameters
    ----------
    M, apply, name
        They are those of :func:`custom_operator`.
    flags
        They say whether it is linear, hermitian and positive.

    Raises
    ------
    BadArgument
        The compiled part refuses the operator.

    Attributes
    ----------
    operator_like : object
        The operator on whose fields it acts.
    name : str
        Messages and reports have it.
    is_linear, is_hermitian, is_positive : bool
        They are declared of it.
    """

    _no_array = "a solver takes it as its preconditioner"

    def __init__(self, M: QuarkOperator, apply: Function, name: str, flags: tuple[bool, bool, bool]) -> None:
        self.operator_like, self.name = M, name
        self.is_linear, self.is_hermitian, self.is_positive = flags

        def call(field: Any) -> Any:
            return M._field(f"what {name} returns", apply(M._to_numpy(field)))

        self._core = load().CustomOperator(M._core, call, name, *flags)

    def __repr__(self) -> str:
        return f"<CustomOperator {self.name} on fields of {self.operator_like!r}>"


def custom_operator(
    M: QuarkOperator,
    apply: Function,
    *,
    linear: bool = True,
    hermitian: bool = False,
    positive: bool = False,
    name: str = "custom operator",
) -> CustomOperator:
    """Return a linear operator on the fields of M that is a Python function: a preconditioner to try an idea
    with.

    Parameters
    ----------
    M
        The operator whose fields it acts on.
    apply
        ``apply(psi)`` returns a new array of the shape of psi, which is that of ``M.apply``: this rank's part
        of one right-hand side. It is called on all ranks at the same time.
    linear, hermitian, positive
        They are declared of it; tr.cg takes it as a preconditioner only where all three hold.
    name
        Messages and reports have it.

    Raises
    ------
    BadArgument
        `M` is no operator, `apply` cannot be called, or positive is declared without hermitian.
    """
    instance("M", M, QuarkOperator)
    if not callable(apply):
        raise BadArgument(f"apply must be a function of an array, found {apply!r}")
    flags = (instance("linear", linear, bool), instance("hermitian", hermitian, bool))
    if instance("positive", positive, bool) and not hermitian:
        raise BadArgument("an operator that is positive is hermitian: declare that, too")
    return CustomOperator(M, apply, instance("name", name, str), (*flags, positive))
