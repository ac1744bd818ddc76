"""Nucleon correlators with a current in a measurement: Feynman-Hellmann, and fixed sinks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..bound_solvers import BoundSolver
from ..errors import BadArgument, NotConverged
from ..feynman_hellmann import (
    conserved_current_propagator,
    feynman_hellmann_propagator,
    nucleon_feynman_hellmann,
)
from ..gauge import GaugeField
from ..propagators import Propagator
from ..run_files.contractions import FeynmanHellmannTable, ThreePointTable
from ..sequential import nucleon_sequential_source, nucleon_three_point
from ..solvers import SolveReport

Tables = dict[str, NDArray[np.complex128]]


@dataclass(frozen=True)
class Current:
    """A current by the name of run files: factor times gamma, and the projector of the nucleon."""

    gamma: str
    factor: complex
    spin: Literal["unpolarised", "polarised"]
    conserved: Literal["vector", "axial"] | None = None
    direction: Literal["x", "y", "z", "t"] = "t"


def _currents() -> dict[str, Current]:
    table = {"S": Current("1", 1, "unpolarised"), "P": Current("gamma5", 1, "polarised")}
    axes: tuple[Literal["x", "y", "z", "t"], ...] = ("x", "y", "z", "t")
    for n, axis in enumerate(axes, start=1):
        vector, axial = f"gamma_{axis}", f"gamma_{axis} gamma5"
        table[f"V{n}"] = Current(vector, 1, "unpolarised")
        table[f"A{n}"] = Current(axial, -1j, "polarised")
        table[f"V{n}_conserved"] = Current(vector, 1, "unpolarised", "vector", axis)
        table[f"A{n}_conserved"] = Current(axial, -1j, "polarised", "axial", axis)
    for (m, a), (n, b) in combinations(enumerate(axes, start=1), 2):
        table[f"T{m}{n}"] = Current(f"gamma_{a} gamma_{b}", -1j, "polarised")
    return table


CURRENTS = _currents()
#: The quark with the current, and what datasets call it.
_INSERTIONS: tuple[tuple[Literal["up", "down"], str], ...] = (("up", "UU"), ("down", "DD"))
#: insertion of the run file -> insertions of the sequential source, each with the end of its name
_LABELS: dict[str, list[tuple[Any, str]]] = {
    "separate": [("up", "_UU"), ("down", "_DD")],
    "isovector": [("isovector", "")],
}


def feynman_hellmann_propagators(
    table: FeynmanHellmannTable,
    solve: BoundSolver,
    S: Propagator,
    where: str,
    before_solve: Callable[[], None],
) -> dict[str, Propagator]:
    """Current, with its momentum where that is not 0 -> sum_z S exp(i q z) Gamma S.

    Parameters
    ----------
    before_solve
        Called before each of them.
    """
    result = {}
    for name, momentum in product(table.currents, table.momenta):
        label = name + ("_q" + "_".join(map(str, momentum)) if any(momentum) else "")
        before_solve()
        try:
            result[label] = _inserted(solve, S, CURRENTS[name], momentum)
        except NotConverged as error:
            raise NotConverged(f"{where}, current {label}: {error}", error.report) from error
    return result


def _inserted(solve: BoundSolver, S: Propagator, current: Current, momentum: list[int]) -> Propagator:
    if current.conserved is None:
        return feynman_hellmann_propagator(solve, S, current.gamma, momentum=momentum)
    return conserved_current_propagator(
        solve, S, current=current.conserved, direction=current.direction, momentum=momentum
    )


def contract_feynman_hellmann(S: Propagator, currents: dict[str, Propagator], momenta: list) -> Tables:
    """fh_NAME_UU and fh_NAME_DD -> [momentum, time]."""
    result = {}
    for name, F in currents.items():
        current = CURRENTS[name.split("_q")[0]]
        for insertion, label in _INSERTIONS:
            N = nucleon_feynman_hellmann(S, F, insertion=insertion, spin=current.spin, momenta=momenta)
            result[f"fh_{name}_{label}"] = current.factor * N
    return result


def require_momenta(table: FeynmanHellmannTable, extents: tuple[int, ...]) -> None:
    """Refuse momenta that are others modulo L: a second name for the same numbers, and another n^2.

    Raises
    ------
    BadArgument
        A component beyond L/2, or two momenta that are the same.
    """
    found: dict[tuple[int, ...], list[int]] = {}
    for n in table.momenta if table.currents else []:
        for axis, component, extent in zip("xyz", n, extents[:3], strict=True):
            if abs(component) > extent // 2:
                raise BadArgument(
                    f"feynman_hellmann.momenta: expected components between -L/2 and L/2, found {n} where L "
                    f"in {axis} is {extent}: it is the same as "
                    f"{[(k + e // 2) % e - e // 2 for k, e in zip(n, extents[:3], strict=True)]}"
                )
        same = found.setdefault(tuple(k % e for k, e in zip(n, extents[:3], strict=True)), n)
        if same is not n:
            raise BadArgument(
                f"feynman_hellmann.momenta: {same} and {n} are the same momentum on {list(extents[:3])}"
            )


def require_separations(table: ThreePointTable, time_extent: int) -> None:
    """Refuse sinks outside the lattice before anything is solved."""
    for separation in table.separations:
        if not 1 <= separation < time_extent:
            raise BadArgument(
                f"three_point.separations: {separation} is not in 1..{time_extent - 1}, the lattice's times"
            )


def three_point_functions(
    table: ThreePointTable,
    solve: BoundSolver,
    S: Propagator,
    sink: Propagator,
    smearing: tuple[GaugeField, float, int] | None,
    transfers: list,
    where: str,
    before_solve: Callable[[], None],
) -> tuple[Tables, list[SolveReport]]:
    """three_point_NAME_tTT (isovector), or with _UU and _DD -> [momentum transfer, time of the current].

    Parameters
    ----------
    sink
        S as the sink sees it: smeared by `smearing`, or S itself.
    before_solve
        Called before each solve.
    """
    result: Tables = {}
    reports = []
    for separation in table.separations:
        for spin in ("unpolarised", "polarised"):
            names = [name for name in table.currents if CURRENTS[name].spin == spin]
            for insertion, label in _LABELS[table.insertion] if names else []:
                source = nucleon_sequential_source(
                    sink, separation=separation, insertion=insertion, spin=spin, smearing=smearing
                )
                before_solve()
                try:
                    Y = solve.propagator(source)
                except NotConverged as error:
                    place = f"{where}, sink at {separation}"
                    raise NotConverged(f"{place}: {error}", error.report) from error
                assert Y.report is not None
                reports.append(Y.report)
                gammas = [CURRENTS[name].gamma for name in names]
                values = nucleon_three_point(Y, S, gammas, momentum_transfers=transfers)
                for name, C3 in zip(names, values, strict=True):
                    result[f"three_point_{name}_t{separation:02d}{label}"] = CURRENTS[name].factor * C3
    return result, reports
