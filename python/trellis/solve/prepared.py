"""This module has results that are computed once for an operator and used by many of its solves, like low
modes."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from ..ground.errors import BadArgument
from ..ground.operator_records import OperatorRecord

if TYPE_CHECKING:
    from ..quarks.operators import QuarkOperator


class Prepared(ABC):
    """This is a result with one life cycle: it is made for an operator, refused for another, written to
    files, updated.

    Attributes
    ----------
    operator : object
        Name, parameters and plaquette of the operator.
    even_odd : str
        "symmetric", "asymmetric" or "none": the system of the operator that it belongs to.
    """

    operator: OperatorRecord
    even_odd: str
    #: This text names its kind in messages, in the plural.
    _what = "what was prepared"

    @abstractmethod
    def write(self, path: str | os.PathLike, *, run_file: str = "") -> None:
        """Write it to a file."""

    @abstractmethod
    def update(self, M: QuarkOperator, *, allow_not_converged: bool = False) -> Prepared:
        """Make it anew for another operator, from what is known of this one."""

    def _require_operator(self, M: QuarkOperator, form: str) -> None:
        """Raise BadArgument unless it belongs to M, or to its even-odd system of a form that is not
        "none"."""
        difference = self.operator.difference(M._record)
        if difference:
            raise BadArgument(f"the {self._what} do not belong to {M!r}: they are those of {difference}")
        if form != self.even_odd:
            raise BadArgument(
                f"the solver's even-odd form is {form!r}, that of the {self._what} is {self.even_odd!r}"
            )
