"""Nucleon charges and m_res of a set of measurements: from Trellis' files and from lalibe's layout."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import h5py
import numpy as np
from numpy.typing import NDArray

from .autocorrelation import autocorrelation, bin_series
from .charges import ChargeEstimate, ChargeResult, effective_charge, fit_charges
from .errors import AnalysisError, FitFailed, MeasurementFileError
from .measurements import Measurements
from .options import AnalysisOptions
from .results import ChargeRecord, ChargeWindowRecord, NucleonCharges, Series, ThreePointRecord
from .three_point import (
    CHARGE_OF_CURRENT,
    Sampled,
    ThreePointCharge,
    at_rest,
    three_point_charge,
    three_point_functions,
)


def isovector_numerators(measurements: Measurements) -> dict[str, NDArray]:
    """UU - DD of each current at zero momentum, real, shape [configuration, time].

    Raises
    ------
    AnalysisError
        A current with one of the two flavours alone.
    """
    numerators = {}
    for current, charge in CHARGE_OF_CURRENT.items():
        names = [f"fh_{current}_{flavour}" for flavour in ("UU", "DD")]
        there = [name for name in names if name in measurements.correlators]
        if len(there) == 1:
            other = names[1 - names.index(there[0])]
            raise AnalysisError(f"{there[0]}: expected {other} beside it (UU - DD), found nothing")
        if there:
            up, down = (measurements.correlators[name] for name in names)
            numerators[charge] = at_rest(up) - at_rest(down)
    return numerators


def nucleon_charges(
    measurements: Measurements, options: AnalysisOptions
) -> tuple[NucleonCharges | None, str | None]:
    """The record of results.json, and why there is no fit in it if there is none.

    No record without Feynman-Hellmann correlators and three-point functions.

    Raises
    ------
    AnalysisError
        There are some, but no nucleon.
    """
    numerators, inserted = isovector_numerators(measurements), three_point_functions(measurements)
    if not numerators and not inserted:
        return None, None
    if "nucleon" not in measurements.correlators:
        raise AnalysisError(
            "correlators with a current need the two-point function: correlators.nucleon is missing"
        )
    two_point = at_rest(measurements.correlators["nucleon"])
    if two_point[:, 1].mean() < 0:  # a convention of its operators, which ratios do not see
        two_point = -two_point
        numerators = {name: -N for name, N in numerators.items()}
        inserted = {name: {t: -C3 for t, C3 in by.items()} for name, by in inserted.items()}

    def binned(values: NDArray) -> NDArray:
        return bin_series(values, measurements.configurations, options.bin_size)[0]

    trajectories = bin_series(two_point, measurements.configurations, options.bin_size)[1]
    two_point = binned(two_point)
    numerators = {name: binned(N) for name, N in numerators.items()}
    inserted = {name: {t: binned(C3) for t, C3 in by.items()} for name, by in inserted.items()}
    record, reason = NucleonCharges(), None
    if numerators:
        try:
            found = fit_charges(
                two_point,
                numerators,
                trajectories=trajectories,
                options=options.charges,
                autocorrelations=options.autocorrelation,
            )
            record = charges_record(found)
        except FitFailed as error:
            reason = str(error)
            record.effective = {name: _effective(two_point, N) for name, N in numerators.items()}
    constant = [
        name for name, by in inserted.items() if any(np.ptp(C3, axis=0).max() == 0 for C3 in by.values())
    ]
    if constant:
        said = f"three-point functions of {', '.join(constant)}: expected configurations that "
        said += "differ, found equal ones"
        reason = said if reason is None else f"{reason}; {said}"
    by_sinks = {
        name: three_point_charge(two_point, C3) for name, C3 in inserted.items() if name not in constant
    }
    record.three_point = {name: three_point_record(charge) for name, charge in by_sinks.items()}
    record.three_point_ratio = three_point_ratio(by_sinks)
    return record, reason


def _effective(two_point: NDArray, numerator: NDArray) -> Series:
    """Where it is a number: neither in a zero of C nor beyond the range of doubles."""
    with np.errstate(all="ignore"):
        value, error = effective_charge(two_point, numerator)
    t = np.flatnonzero(np.isfinite(value) & np.isfinite(error))
    return Series(x=t.astype(float).tolist(), value=value[t].tolist(), error=error[t].tolist())


def three_point_record(charge: ThreePointCharge) -> ThreePointRecord:
    """Plain numbers."""
    times = charge.separations
    centres = [(a + b) / 2 for a, b in pairwise(times)]
    return ThreePointRecord(
        separations=times,
        ratio=[
            _series(np.arange(t + 1) - t / 2, ratio) for t, ratio in zip(times, charge.ratio, strict=True)
        ],
        midpoint=_series(times, charge.midpoint),
        slope=None if charge.slope is None else _series(centres, charge.slope),
    )


def three_point_ratio(charges: dict[str, ThreePointCharge]) -> Series | None:
    """g_A / g_V of the midpoints at the separations that both have."""
    if not {"A", "V"} <= set(charges):
        return None
    a, v = charges["A"], charges["V"]
    common = [t for t in a.separations if t in v.separations]
    if not common:
        return None
    of_a, of_v = ([c.separations.index(t) for t in common] for c in (a, v))
    A = Sampled(a.midpoint.value[of_a], a.midpoint.influence[:, of_a])
    V = Sampled(v.midpoint.value[of_v], v.midpoint.influence[:, of_v])
    return _series(common, A.over(V))


def _series(x, found: Sampled) -> Series:
    return Series(x=[float(t) for t in x], value=found.value.tolist(), error=found.error.tolist())


def charges_record(found: ChargeResult) -> NucleonCharges:
    """Plain numbers."""

    def record(e: ChargeEstimate) -> ChargeRecord:
        return ChargeRecord(
            value=e.value,
            error=e.error,
            statistical_error=e.statistical_error,
            model_error=e.model_error,
            tau_int=e.tau_int,
        )

    def points(table: dict) -> dict[str, Series]:
        return {
            name: Series(x=t.astype(float).tolist(), value=v.tolist(), error=e.tolist())
            for name, (t, v, e) in table.items()
        }

    return NucleonCharges(
        charges={name: record(e) for name, e in found.charges.items()},
        g_a_over_g_v=None if found.ratio is None else record(found.ratio),
        z_v=None if found.z_v is None else record(found.z_v),
        tau_n=None if found.tau_n is None else record(found.tau_n),
        energy=record(found.energy),
        windows=[ChargeWindowRecord(**w.__dict__) for w in found.windows],
        effective=points(found.effective),
        subtracted=points(found.subtracted),
        p_value=found.quality.p_value,
        drift=found.quality.drift,
        excited_at_end=found.quality.excited_at_end,
        prior_shift=found.quality.prior_shift,
        configurations_per_point=found.quality.configurations_per_point,
        excited_at_end_limit=found.quality.excited_at_end_limit,
        misfit=found.misfit,
        gap_prior=found.gap_prior,
        one_more_state={name: record(e) for name, e in found.one_more_state.items()},
        autocorrelation_factor=found.autocorrelation_factor,
    )


def residual_mass(measurements: Measurements) -> ChargeRecord | None:
    """m_res: the mean over 2 <= t <= Lt - 2 of midpoint(t) / pion(t), domain-wall quarks only.

    Raises
    ------
    FitFailed
        A single configuration, a pion of 0, or no differences between configurations.
    """
    numerator, denominator = (measurements.correlators.get(name) for name in ("midpoint", "midpoint_pion"))
    if numerator is None or denominator is None:
        return None
    midpoint, pion = at_rest(numerator), at_rest(denominator)
    first = min(2, midpoint.shape[1] // 2)
    chosen = slice(first, midpoint.shape[1] - first + 1)
    M, P = midpoint.mean(axis=0)[chosen], pion.mean(axis=0)[chosen]
    if len(midpoint) < 2:
        raise FitFailed(f"m_res: expected at least 2 configurations for an error, found {len(midpoint)}")
    if not P.all():
        raise FitFailed(
            f"m_res: expected a pion without zeros, found 0 at t = {first + np.flatnonzero(P == 0)[0]}"
        )
    influence = ((midpoint[:, chosen] - pion[:, chosen] * (M / P)) / P).mean(axis=1)
    error = float(np.sqrt((influence**2).sum() / (len(influence) * max(len(influence) - 1, 1))))
    tau = autocorrelation("m_res", influence, measurements.configurations)
    tau_int = None
    if tau is not None and tau.significant:
        error, tau_int = max(error, tau.error), tau.tau_int
    if error == 0:
        raise FitFailed(f"m_res: expected configurations that differ, found {(M / P).mean():.6g} on each")
    return ChargeRecord(
        value=float((M / P).mean()),
        error=error,
        statistical_error=error,
        model_error=0.0,
        tau_int=tau_int,
    )


def read_lalibe(
    two_point: Iterable[Path | str],
    numerators: dict[str, Iterable[Path | str]],
    *,
    smearing: str = "PS",
    source: str = "x0_y0_z0_t0",
) -> tuple[NDArray, dict[str, NDArray]]:
    """C and the isovector N of lalibe's HDF5 files, one file for each configuration.

    Parameters
    ----------
    two_point
        Files with /SMEARING/proton/spin_up and spin_dn.
    numerators
        "A" -> files with /SMEARING/fh_proton_A3_UU and _DD, "V" -> fh_proton_V4_..., in the same order.
        lalibe stores gamma_z gamma5; the -i of doc/conventions.md is applied here, and spin up minus spin
        down is taken for A.

    Returns
    -------
    two_point, numerators
        As :func:`fit_charges` takes them: real, shape [configuration, time].

    Raises
    ------
    MeasurementFileError
        A dataset is missing.
    AnalysisError
        Unequal numbers of files.
    """
    current = {"A": ("A3", -1j, -1.0), "V": ("V4", 1.0, 1.0)}

    def read(path: Path | str, hadron: str, sign: float) -> NDArray:
        values = []
        with h5py.File(path, "r") as file:
            for spin in ("spin_up", "spin_dn"):
                where = f"/{smearing}/{hadron}/{spin}/{source}/px0_py0_pz0"
                if where not in file:
                    raise MeasurementFileError(Path(path), "dataset", expected=where, found="nothing there")
                values.append(np.asarray(file[where][()], dtype=np.complex128))
        return values[0] + sign * values[1]

    C = np.array([read(p, "proton", 1.0).real for p in two_point])
    result = {}
    for name, paths in numerators.items():
        if name not in current:
            raise AnalysisError(f"charge: expected one of {sorted(current)}, found {name!r}")
        label, factor, sign = current[name]
        paths = list(paths)
        if len(paths) != len(C):
            raise AnalysisError(f"charge {name}: expected {len(C)} files, found {len(paths)}")
        uu = np.array([read(p, f"fh_proton_{label}_UU", sign) for p in paths])
        dd = np.array([read(p, f"fh_proton_{label}_DD", sign) for p in paths])
        result[name] = (factor * (uu - dd)).real
    return C, result


__all__ = [
    "FitFailed",
    "charges_record",
    "isovector_numerators",
    "nucleon_charges",
    "read_lalibe",
    "residual_mass",
    "three_point_ratio",
    "three_point_record",
]
