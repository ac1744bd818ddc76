"""Nucleon correlators with a current in a measurement: Feynman-Hellmann, and fixed sinks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import BadArgument, NotConverged
from ..feynman_hellmann import feynman_hellmann_propagator, nucleon_feynman_hellmann
from ..gauge import GaugeField
from ..propagators import BoundSolver, Propagator
from ..run_files.measure import FeynmanHellmannTable, ThreePointTable
from ..sequential import nucleon_sequential_source, nucleon_three_point
from ..solvers import SolveReport

Tables = dict[str, NDArray[np.complex128]]


@dataclass(frozen=True)
class Current:
    """A current by the name of run files: factor times gamma, and the projector of the nucleon."""

    gamma: str
    factor: complex
    spin: Literal["unpolarised", "polarised"]


CURRENTS = {
    "V4": Current("gamma_t", 1, "unpolarised"),
    "A3": Current("gamma_z gamma5", -1j, "polarised"),
    "S": Current("1", 1, "unpolarised"),
    "T12": Current("sigma_xy", -1, "polarised"),  # sigma_xy = i gamma_x gamma_y
}
#: insertion of the run file -> insertions of the sequential source, each with the end of its name
_LABELS: dict[str, list[tuple[Any, str]]] = {
    "separate": [("up", "_UU"), ("down", "_DD")],
    "isovector": [("isovector", "")],
}


def feynman_hellmann_propagators(
    table: FeynmanHellmannTable, solve: BoundSolver, S: Propagator, where: str
) -> dict[str, Propagator]:
    """Current -> sum_z S Gamma S."""
    result = {}
    for name in table.currents:
        try:
            result[name] = feynman_hellmann_propagator(solve, S, CURRENTS[name].gamma)
        except NotConverged as error:
            raise NotConverged(f"{where}, current {name}: {error}", error.report) from error
    return result


def contract_feynman_hellmann(S: Propagator, currents: dict[str, Propagator], momenta: list) -> Tables:
    """fh_NAME_UU and fh_NAME_DD -> [momentum, time]."""
    result = {}
    for name, F in currents.items():
        current = CURRENTS[name]
        for insertion, label in (("up", "UU"), ("down", "DD")):
            N = nucleon_feynman_hellmann(S, F, insertion=insertion, spin=current.spin, momenta=momenta)
            result[f"fh_{name}_{label}"] = current.factor * N
    return result


def require_separations(table: ThreePointTable, time_extent: int) -> None:
    """Refuse sinks outside the lattice before anything is solved."""
    for separation in table.separations:
        if not 0 <= separation < time_extent:
            raise BadArgument(
                f"three_point.separations: {separation} is not in 0..{time_extent - 1}, the lattice's times"
            )


def three_point_functions(
    table: ThreePointTable,
    solve: BoundSolver,
    S: Propagator,
    sink: Propagator,
    smearing: tuple[GaugeField, float, int] | None,
    transfers: list,
    where: str,
) -> tuple[Tables, list[SolveReport]]:
    """three_point_NAME_tTT (isovector), or with _UU and _DD -> [momentum transfer, time of the current].

    Parameters
    ----------
    sink
        S as the sink sees it: smeared by `smearing`, or S itself.
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
