"""An analysis has generalised eigenvalue problems: each gives energies and correlators that are fitted."""

from __future__ import annotations

import re

from ..records.errors import AnalysisError, FitFailed
from ..records.gevp_records import GevpResult
from ..records.measurements import Measurements
from ..records.options import AnalysisOptions
from .correlators import ParticleCorrelator, particle_correlators
from .gevp import correlator_matrix, solve
from .spectrum import fit_particle
from .window_scan import ParticleFit

_MOVING = re.compile(r"_p\d+$")


def solve_gevp(
    measurements: Measurements,
    options: AnalysisOptions,
    fits: dict[str, ParticleFit],
    failed: dict[str, str],
) -> dict[str, GevpResult]:
    """Return the result of each matrix of `options.gevp`.

    Parameters
    ----------
    fits, failed
        They get the fits of the projected correlators, NAME_0, NAME_1 ..., or the reasons why there are none.

    Raises
    ------
    AnalysisError
        A matrix or its times do not fit the data.
    """
    results: dict[str, GevpResult] = {}
    for name, wanted in options.gevp.items():
        names = sorted({n for row in wanted.matrix for n in row})
        known = _known(name, names, measurements, options)
        try:
            matrix = correlator_matrix(name, wanted.matrix, known)
            results[name], states = solve(matrix, measurements.configurations, wanted, options)
        except FitFailed as error:
            failed[name] = str(error).removeprefix(f"{name}: ")
            continue
        for state in states:
            state.notes.append(f"{state.name}: projected from {len(names)} correlators at t0 = {wanted.t0}")
            try:
                fits[state.name] = fit_particle([state], measurements.configurations, options)
            except FitFailed as error:
                failed[state.name] = str(error).removeprefix(f"{state.name}: ")
    return results


def _known(
    name: str, names: list[str], measurements: Measurements, options: AnalysisOptions
) -> dict[str, ParticleCorrelator]:
    """Return the correlators with these names; those of moving particles end in _p and |n|^2."""
    wanted = sorted({_MOVING.sub("", n) for n in names})
    try:
        found = particle_correlators(measurements, options.model_copy(update={"particles": wanted}))
    except AnalysisError as error:
        raise AnalysisError(f"gevp.{name}: matrix: {error}") from None
    return {c.name: c for c in found}
