"""The on-line measurements of a stream give flow scales, Creutz ratios and susceptibilities."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pyerrors as pe
from numpy.typing import NDArray

from ...ground.scale_setting import reference_time
from ..masses.assemble import series
from ..records.measurements import ArraySeries, Measurements
from ..records.online_records import FlowResult, LoopResult, StreamResult, ValueRecord
from ..statistics.autocorrelation import gamma_method, is_constant, observable_of
from .flow_scales import scales_of

#: The Gamma method of pyerrors needs at least so many measurements.
_FEWEST = 5


def stream_result(measurements: Measurements, notes: list[str], warns: list[str]) -> StreamResult | None:
    """Return everything beyond the single series, or None if the stream has nothing of it."""
    arrays = _that_move(measurements.arrays, notes)
    flow = _flow(arrays, measurements.lattice, notes)
    loops = _loops(arrays.get("wilson_loops"), notes)
    if loops is not None and measurements.lattice is not None:
        _warn_of_images(arrays["wilson_loops"], measurements.lattice, warns)
    for name in ("flow_energy_clover", "wilson_loops"):
        if name in arrays and len(arrays[name].trajectories) < _FEWEST:
            notes.append(
                f"{name}: {len(arrays[name].trajectories)} measurements, expected at least {_FEWEST}: what "
                "follows from it is left out"
            )
    derived = _susceptibilities(measurements)
    _check_dynamics(measurements, warns)
    if flow is None and loops is None and not derived:
        return None
    return StreamResult(flow=flow, loops=loops, derived=derived)


def _that_move(arrays: dict[str, ArraySeries], notes: list[str]) -> dict[str, ArraySeries]:
    """Leave out arrays that are the same in all measurements; their errors would be rounding errors."""
    still = [n for n, a in arrays.items() if len(a.trajectories) >= _FEWEST and is_constant(a.values)]
    if still:
        notes.append(f"the same in all measurements, left out with what follows from it: {', '.join(still)}")
    return {name: array for name, array in arrays.items() if name not in still}


def _record(observable: pe.Obs) -> ValueRecord:
    found = gamma_method("", observable)
    return ValueRecord(value=found.mean, error=found.error, tau_int=found.tau_int)


def _flow(arrays: dict[str, ArraySeries], lattice: tuple | None, notes: list[str]) -> FlowResult | None:
    found = arrays.get("flow_energy_clover")
    if found is None or found.axis is None or len(found.trajectories) < _FEWEST:
        return None
    times, numbers = found.axis, found.trajectories
    t2E = times**2 * found.values
    columns = [observable_of(t2E[:, i], numbers) if times[i] > 0 else None for i in range(len(times))]
    records = [ValueRecord(value=0.0, error=0.0) if c is None else _record(c) for c in columns]
    result = FlowResult(
        count=len(numbers),
        t2_energy=series(times, np.array([r.value for r in records]), np.array([r.error for r in records])),
    )
    scales = scales_of(times, numbers, found.values)
    for name, observable in scales.items():
        if observable is None:
            notes.append(
                f"{name} is not reached: the flow ends at t = {times[-1]:g} with t^2 E = "
                f"{t2E[:, -1].mean():.3f}"
            )
        else:
            setattr(result, name, _record(observable))
    if scales["t0"] is not None:
        result.sqrt_8t0 = _record((8 * scales["t0"]) ** 0.5)
    _add_charge(result, arrays, lattice, times, numbers, found)
    return result


def _add_charge(
    result: FlowResult,
    arrays: dict[str, ArraySeries],
    lattice: tuple | None,
    times: NDArray,
    numbers: NDArray,
    energy: ArraySeries,
) -> None:
    """Add <Q^2> and <Q^2> / V at t0, or at the end of the flow where t0 is not reached."""
    charge = arrays.get("flow_charge_improved")
    if charge is None or lattice is None or not np.array_equal(charge.trajectories, numbers):
        return
    t0 = reference_time(times, energy.values.mean(axis=0))
    at = len(times) - 1 if not np.isfinite(t0) else int(np.argmin(np.abs(times - t0)))
    Q = charge.values[:, at]
    if is_constant(Q):
        return
    squared = observable_of(Q**2, numbers)
    result.charge_time = float(times[at])
    result.charge_squared = _record(squared)
    result.topological_susceptibility = _record(squared / float(np.prod(lattice)))


def _loops(found: ArraySeries | None, notes: list[str]) -> LoopResult | None:
    """Return W, chi(R, T) = -ln[W(R,T) W(R-1,T-1) / (W(R,T-1) W(R-1,T))], V = ln[W(R,T) / W(R,T+1)]."""
    if found is None or len(found.trajectories) < _FEWEST:
        return None
    _, R_end, T_end = found.values.shape
    W = {
        (R, T): observable_of(found.values[:, R - 1, T - 1], found.trajectories)
        for R in range(1, R_end + 1)
        for T in range(1, T_end + 1)
    }

    def minus_log(ratio: pe.Obs) -> ValueRecord | None:
        return _record(-np.log(ratio)) if ratio.value > 0 else None

    result = LoopResult(count=len(found.trajectories), loops={}, creutz={}, potential={})
    for (R, T), loop in W.items():
        result.loops[f"{R}x{T}"] = _record(loop)
        if T > 1 and W[R, T - 1].value > 0:
            record = minus_log(W[R, T] / W[R, T - 1])
            if record:
                result.potential[f"{R}x{T - 1}"] = record
        if R > 1 and T > 1 and W[R, T - 1].value * W[R - 1, T].value > 0:
            record = minus_log(W[R, T] * W[R - 1, T - 1] / (W[R, T - 1] * W[R - 1, T]))
            if record:
                result.creutz[f"{R}x{T}"] = record
            else:
                notes.append(f"Creutz ratio {R} x {T}: the loops are noise, it is left out")
    return result


def _warn_of_images(found: ArraySeries, lattice: tuple, warns: list[str]) -> None:
    """Warn of loops along more than half of a periodic lattice: they are shorter the other way round."""
    _, R, T = found.values.shape
    halves = min(lattice[:3]) // 2, lattice[3] // 2
    names = [f"{name} > {half}" for name, end, half in zip("RT", (R, T), halves, strict=True) if end > half]
    if names:
        warns.append(
            f"Wilson loops with {' or '.join(names)} reach beyond half the lattice: what follows from them "
            "(Creutz ratios, potential) feels the periodic images"
        )


def _susceptibilities(measurements: Measurements) -> dict[str, ValueRecord]:
    """Return quark-number and disconnected chiral susceptibilities per flavour (doc/operators/staggered.md).

    chi_2 = <connected> + (V_3 T^3) (<n^2> - <n>^2), of which the real part is taken; chi_disc = V (<c^2> -
    <c>^2). Squares of traces come from pairs of different noise vectors.
    """
    if measurements.lattice is None:
        return {}
    x, y, z, t = measurements.lattice
    cells, volume = x * y * z / t**3, x * y * z * t
    found: dict[str, ValueRecord] = {}
    series_of = measurements.observables
    for name in [n.removeprefix("condensate.") for n in series_of if n.startswith("condensate.")]:
        vectors = measurements.arrays.get(f"condensate.{name}")
        if vectors is not None and vectors.values.shape[1] > 1 and len(vectors.trajectories) >= _FEWEST:
            v, n = vectors.values, vectors.values.shape[1]
            pairs = (v.sum(axis=1) ** 2 - (v**2).sum(axis=1)) / (n * (n - 1))
            if not is_constant(pairs):
                mean = observable_of(v.mean(axis=1), vectors.trajectories)
                squares = observable_of(pairs, vectors.trajectories)
                found[f"chiral_susceptibility_disconnected.{name}"] = _record(volume * (squares - mean**2))
        parts = [f"{p}.{name}" for p in ("susceptibility_connected", "susceptibility_disconnected")]
        density = series_of.get(f"number_density.{name}")
        if density is None or any(p not in series_of for p in parts):
            continue
        every = [density, *(series_of[p] for p in parts)]
        # The table [measure.fermions] may have got its susceptibility when the run went on.
        numbers = reduce(np.intersect1d, (s.trajectories for s in every))
        if len(numbers) < _FEWEST:
            continue
        n, connected, disconnected = (s.values[np.isin(s.trajectories, numbers)] for s in every)
        whole = connected + disconnected
        re, im = observable_of(n.real, numbers), observable_of(n.imag, numbers)
        # n carries 1 / (V_3 T^3), so n^2 (V_3 T^3) has the weight of the disconnected part.
        total = observable_of(whole.real, numbers) - cells * (re**2 - im**2)
        found[f"quark_number_susceptibility.{name}"] = _record(total)
    return found


def _check_dynamics(measurements: Measurements, warns: list[str]) -> None:
    """Check <exp(-dH)> = 1, which holds for a correct and thermalised chain."""
    accepted = measurements.observables.get("accepted")
    if accepted is not None and len(accepted.values) >= 5 and not np.any(accepted.values):
        warns.append(
            f"none of {len(accepted.values)} trajectories was accepted, the field stands still: raise the "
            "steps of [[integrator]] or shorten molecular_dynamics.length"
        )
        return
    found = measurements.observables.get("exp_minus_dH")
    if found is None or len(found.values) < 20 or is_constant(found.values):
        return
    record = _record(observable_of(found.values, found.trajectories))
    if abs(record.value - 1) > 4 * record.error:
        warns.append(
            f"<exp(-dH)> = {record.value:.4g} +- {record.error:.2g} is "
            f"{abs(record.value - 1) / record.error:.3g} errors from 1: the residuals of the solves may be "
            "too large, or the run is not thermalised"
        )
