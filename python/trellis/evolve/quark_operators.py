"""This module has operators of the quarks of a run file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..quarks.domain_wall import MoebiusDomainWall
from ..quarks.operators import WilsonClover
from ..solve.staggered import HISQ, Staggered
from .smeared_links import smeared_links

if TYPE_CHECKING:
    from ..gauge.fields import GaugeField
    from ..run_files.measured_quarks import MeasuredQuark
    from ..run_files.quark import Quark
    from ..run_files.smearing import SmearingTable
    from ..run_files.valence import ValenceQuark

#: These are the operators by the names that tables of quarks give (`Quark.operator_name`).
_OPERATORS: dict[str, Any] = {
    operator.__name__: operator for operator in (WilsonClover, MoebiusDomainWall, Staggered, HISQ)
}


def make_operator(quark: Quark, U: GaugeField) -> Any:
    """Make the operator that a table of a run file describes; with several masses that of the first one.

    Parameters
    ----------
    quark
        The table.
    U
        The links, smeared as the run file says.

    Raises
    ------
    BadArgument
        The links do not suit the operator.
    """
    return _OPERATORS[quark.operator_name](U, **quark.operator_arguments())


def make_measured_operator(quark: MeasuredQuark, U: GaugeField, columns_per_solve: int) -> Any:
    """Make the operator of a quark with spin, whose solves with a fifth dimension have so many columns."""
    if quark.slices == 1:
        return make_operator(quark, U)
    arguments = quark.operator_arguments() | {"columns_per_solve": columns_per_solve}
    return _OPERATORS[quark.operator_name](U, **arguments)


class FlavourOperators:
    """These are the operators of several flavours on one field, which share smeared links.

    Parameters
    ----------
    U
        The thin links.
    """

    def __init__(self, U: GaugeField) -> None:
        self._thin = U
        self._smeared: dict[SmearingTable, GaugeField] = {}
        self._first: dict[str, Any] = {}

    def of(self, flavour: ValenceQuark) -> Any:
        """Make the operator of a flavour. Collective."""
        if flavour.smearing not in self._smeared:
            self._smeared[flavour.smearing] = smeared_links(flavour.smearing, self._thin)
        if not flavour.has_own_smearing:
            return make_operator(flavour, self._smeared[flavour.smearing])
        first = self._first.get(flavour.operator_name)
        if first is not None:
            return first.flavour(**flavour.operator_arguments())
        self._first[flavour.operator_name] = M = make_operator(flavour, self._smeared[flavour.smearing])
        return M
