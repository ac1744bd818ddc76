"""Lattice units become MeV and fm by a scale that the user gives.

a = q_fm / (q / a) for a length q that is known in both units. The scale is taken as independent of the
masses: its error is added in quadrature, and it is the same relative error for all masses.
"""

from __future__ import annotations

import math

from .records.errors import AnalysisError
from .records.online_records import StreamResult
from .records.results import ParticleResult
from .records.scale_records import HBAR_C, PhysicalMass, ScaleOptions, ScaleResult


def scale_result(
    wanted: ScaleOptions, stream: StreamResult | None, lattice: tuple[int, int, int, int]
) -> ScaleResult:
    """Return the lattice spacing with its error.

    Raises
    ------
    AnalysisError
        quantity / a is not given and the analysis has no flow that gives it, or it is given for a itself.
    """
    fm, fm_error = wanted.fm
    found = _in_lattice_units(wanted, stream)
    value, error = (1.0, 0.0) if found is None else found
    a = fm / value
    a_error = a * math.hypot(fm_error / fm, error / value)
    x, y, z, t = lattice
    return ScaleResult(
        quantity=wanted.quantity,
        a_fm=a,
        a_fm_error=a_error,
        inverse_a_gev=HBAR_C / 1000 / a,
        inverse_a_gev_error=HBAR_C / 1000 / a * a_error / a,
        lattice_units=found,
        extents_fm=(x * a, y * a, z * a, t * a) if x else None,
    )


def _in_lattice_units(wanted: ScaleOptions, stream: StreamResult | None) -> tuple[float, float] | None:
    """Return quantity / a with its error; None for a itself."""
    if wanted.quantity == "a":
        if wanted.lattice_units is not None:
            raise AnalysisError(
                f"scale: expected no lattice_units for a itself, found {wanted.lattice_units}"
            )
        return None
    if wanted.lattice_units is not None:
        return wanted.lattice_units
    flow = None if stream is None else stream.flow
    if flow is not None and wanted.quantity == "sqrt_t0" and flow.t0 is not None:
        root = math.sqrt(flow.t0.value)
        return root, 0.5 * flow.t0.error / root
    if flow is not None and wanted.quantity == "w0" and flow.w0 is not None:
        return flow.w0.value, flow.w0.error
    raise AnalysisError(
        f"scale: expected lattice_units = [{wanted.quantity} / a, error], for no stream of this "
        f"analysis gives "
        f"{wanted.quantity}, found none"
    )


def physical_mass(particle: ParticleResult, scale: ScaleResult) -> PhysicalMass:
    """Return the mass (of a moving particle its energy) in MeV."""
    unit = HBAR_C / scale.a_fm
    own = particle.mass_error * unit
    of_scale = particle.mass * unit * scale.a_fm_error / scale.a_fm
    return PhysicalMass(
        mev=particle.mass * unit,
        error=math.hypot(own, of_scale),
        own_error=own,
        scale_error=of_scale,
    )
