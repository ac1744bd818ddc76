"""This module has nucleon correlators with a current in a measurement: Feynman-Hellmann, and fixed sinks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..gauge.fields import GaugeField
from ..ground.errors import BadArgument
from ..ground.solve_report import NotConverged, SolveReport
from ..hadrons.conserved_three_point import ConservedCurrent
from ..hadrons.feynman_hellmann import (
    conserved_current_propagator,
    feynman_hellmann_propagator,
    nucleon_feynman_hellmann,
)
from ..hadrons.sequential_propagators import (
    QuarkLine,
    conjugate_lines,
    inserted_currents,
    lines_of,
    needs_fields,
    nucleon_sequential_source,
)
from ..quarks.propagators import Propagator
from ..run_files.contractions import FeynmanHellmannTable, ThreePointTable
from ..solve.bound import BoundSolver

Tables = dict[str, NDArray[np.complex128]]


@dataclass(frozen=True)
class Current:
    """This is a current by the name of run files: factor times gamma, and the projector of the nucleon."""

    gamma: str
    factor: complex
    spin: Literal["unpolarised", "polarised"]
    conserved: ConservedCurrent | None = None

    @property
    def insertion(self) -> str | ConservedCurrent:
        """Return the current in the form that tr.three_point takes."""
        return self.conserved or self.gamma


def _currents() -> dict[str, Current]:
    table = {"S": Current("1", 1, "unpolarised"), "P": Current("gamma5", 1, "polarised")}
    axes: tuple[Literal["x", "y", "z", "t"], ...] = ("x", "y", "z", "t")
    for n, axis in enumerate(axes, start=1):
        vector, axial = f"gamma_{axis}", f"gamma_{axis} gamma5"
        table[f"V{n}"] = Current(vector, 1, "unpolarised")
        table[f"A{n}"] = Current(axial, -1j, "polarised")
        table[f"V{n}_conserved"] = Current(vector, 1, "unpolarised", ConservedCurrent("vector", axis))
        table[f"A{n}_conserved"] = Current(axial, -1j, "polarised", ConservedCurrent("axial", axis))
    for (m, a), (n, b) in combinations(enumerate(axes, start=1), 2):
        table[f"T{m}{n}"] = Current(f"gamma_{a} gamma_{b}", -1j, "polarised")
    return table


CURRENTS = _currents()
#: Each entry has the quark with the current, and its name in datasets.
_INSERTIONS: tuple[tuple[Literal["up", "down"], str], ...] = (("up", "UU"), ("down", "DD"))
#: An insertion of the run file has these insertions of three-point functions, each with the end of its name.
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
    """Return sum_z S exp(i q z) Gamma S for each current, named with its momentum where that is not 0.

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
    kind, direction = current.conserved.kind, current.conserved.direction
    return conserved_current_propagator(solve, S, current=kind, direction=direction, momentum=momentum)


def contract_feynman_hellmann(
    S: Propagator,
    down: Propagator | None,
    currents: dict[str, Propagator],
    currents_down: dict[str, Propagator],
    momenta: list,
) -> Tables:
    """Return fh_NAME_UU and fh_NAME_DD, each [momentum, time]; without a down quark of its own both are of
    one flavour."""
    result = {}
    for name, F in currents.items():
        current = CURRENTS[name.split("_q")[0]]
        for insertion, label in _INSERTIONS:
            inserted = currents_down[name] if insertion == "down" and down is not None else F
            N = nucleon_feynman_hellmann(
                S, inserted, insertion=insertion, spin=current.spin, momenta=momenta, down=down
            )
            result[f"fh_{name}_{label}"] = current.factor * N
    return result


def require_momenta(
    table: FeynmanHellmannTable | ThreePointTable, extents: tuple[int, ...], name: str = "feynman_hellmann"
) -> None:
    """Refuse momenta that are others modulo L: a second name for the same numbers, and another n^2.

    Raises
    ------
    BadArgument
        A component beyond L/2, or two momenta that are the same.
    """
    found: dict[tuple[int, ...], list[int]] = {}
    for n in (table.momenta or []) if table.currents else []:
        for axis, component, extent in zip("xyz", n, extents[:3], strict=True):
            if abs(component) > extent // 2:
                raise BadArgument(
                    f"{name}.momenta: expected components between -L/2 and L/2, found {n} where L "
                    f"in {axis} is {extent}: it is the same as "
                    f"{[(k + e // 2) % e - e // 2 for k, e in zip(n, extents[:3], strict=True)]}"
                )
        same = found.setdefault(tuple(k % e for k, e in zip(n, extents[:3], strict=True)), n)
        if same is not n:
            raise BadArgument(f"{name}.momenta: {same} and {n} are the same momentum on {list(extents[:3])}")


def require_separations(table: ThreePointTable, time_extent: int) -> None:
    """Refuse sinks outside the lattice before anything is solved."""
    for separation in table.separations:
        if not 1 <= separation < time_extent:
            raise BadArgument(
                f"three_point.separations: {separation} is not in 1..{time_extent - 1}, the lattice's times"
            )


def three_point_functions(
    table: ThreePointTable,
    up: QuarkLine,
    down: QuarkLine | None,
    smearing: tuple[GaugeField, float, int] | None,
    transfers: list,
    where: str,
    before_solve: Callable[[], None],
) -> tuple[Tables, list[SolveReport]]:
    """Return three_point_NAME_tTT (isovector), or with _UU and _DD, each [momentum transfer, time of the
    current].

    Parameters
    ----------
    up, down
        Both flavours; None: down is up. Their sinks are smeared by `smearing`.
    before_solve
        Called before each solve.
    """
    result: Tables = {}
    reports = []
    for separation in table.separations:
        for spin in ("unpolarised", "polarised"):
            names = [name for name in table.currents if CURRENTS[name].spin == spin]
            insertions = [CURRENTS[name].insertion for name in names]
            for insertion, label in _LABELS[table.insertion] if names else []:
                for line, weight in lines_of(insertion, is_doublet=down is not None).items():
                    source = nucleon_sequential_source(
                        up.sink,
                        down=None if down is None else down.sink,
                        separation=separation,
                        insertion=line,
                        spin=spin,
                        momentum=table.sink_momentum,
                        smearing=smearing,
                    )
                    own, conjugate = conjugate_lines(line, up, down)
                    before_solve()
                    keep = needs_fields(conjugate.solve, insertions)
                    try:
                        Y = conjugate.solve.propagator(source, keep_fields=keep)
                    except NotConverged as error:
                        place = f"{where}, sink at {separation}"
                        raise NotConverged(f"{place}: {error}", error.report) from error
                    assert Y.report is not None
                    reports.append(Y.report)
                    values = inserted_currents(own, Y, insertions, transfers)
                    del Y  # the next one is solved for afterwards: 5-D fields may come with it
                    for name, C3 in zip(names, values, strict=True):
                        dataset = f"three_point_{name}_t{separation:02d}{label}"
                        result[dataset] = result.get(dataset, 0) + weight * CURRENTS[name].factor * C3
    return result, reports
