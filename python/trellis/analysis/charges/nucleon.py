"""This module takes nucleon charges from a set of measurements, in Trellis' files and in lalibe's layout."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..readers.hdf5_files import open_hdf5
from ..records.charge_records import ChargeRecord, ChargeWindowRecord, NucleonCharges
from ..records.errors import AnalysisError, FitFailed, MeasurementFileError
from ..records.measurements import CorrelatorData, Measurements
from ..records.momenta import at_rest
from ..records.options import AnalysisOptions
from ..records.record import Series
from ..statistics.autocorrelation import bin_series
from .charges import ChargeEstimate, ChargeResult, effective_charge, fit_charges
from .fixed_sink import fit_fixed_sinks
from .link_smearing import off_smeared_links, smearing_in_time, why_later
from .three_point import CHARGE_OF_CURRENT, sink_momenta, three_point_functions
from .three_point_records import charges_at_sinks, three_point_ratio, three_point_record

#: These charges are fitted together, so that A/V has their correlation. Every other current has a fit with C
#: of its own: more points in one fit would need more configurations.
TOGETHER = {"local": ("A", "V", "S", "T"), "conserved": ("A_conserved", "V_conserved")}
_Data = TypeVar("_Data")
_NAME = re.compile(r"fh_(?P<current>.+?)(?P<momentum>_q-?\d+_-?\d+_-?\d+)?_(?P<flavour>UU|DD)")


def isovector_numerators(measurements: Measurements) -> tuple[dict[str, NDArray], dict[str, str]]:
    """Return UU - DD of each current at rest, and why others are not used.

    The correlators are real, shape [configuration, time].

    Raises
    ------
    AnalysisError
        A current has one of the two flavours alone, or A, V, S or T are no real correlators at rest.
    """
    numerators: dict[str, NDArray] = {}
    not_used: dict[str, str] = {}
    for name, data in measurements.correlators.items():
        if data.attributes.get("type") != "feynman_hellmann" and not name.startswith("fh_"):
            continue
        match = _NAME.fullmatch(name)
        if match is None:
            not_used[name] = "expected a name as fh_A3_UU or fh_A3_DD"
            continue
        stem, flavour = name[:-3], match["flavour"]
        other = f"{stem}_{'DD' if flavour == 'UU' else 'UU'}"
        if other not in measurements.correlators:
            raise AnalysisError(f"{name}: expected {other} beside it (UU - DD), found nothing")
        if flavour == "DD":
            continue
        if match["momentum"]:
            q = match["momentum"].removeprefix("_q").split("_")
            not_used[stem] = (
                f"momentum transfer {', '.join(q)}: N(t) has no term linear in t, form factors are not fitted"
            )
            continue
        charge = CHARGE_OF_CURRENT.get(match["current"], match["current"])
        try:
            numerators[charge] = at_rest(data) - at_rest(measurements.correlators[other])
        except AnalysisError as error:
            if charge in TOGETHER["local"]:
                raise
            not_used[stem] = str(error)
    return _local_first(numerators), not_used


def _local_first(charges: dict[str, _Data]) -> dict[str, _Data]:
    """Put the fit of the local currents first, whose g_A/g_V is that of the record (_together)."""
    order = [*TOGETHER["local"], *TOGETHER["conserved"]]
    ordered = sorted(charges, key=lambda n: order.index(n) if n in order else len(order))
    return {name: charges[name] for name in ordered}


def _groups(names: Iterable[str]) -> dict[str, list[str]]:
    """Return the charges that one fit gives together, by the name of the fit."""
    groups: dict[str, list[str]] = {}
    for name in names:
        of = next((key for key, members in TOGETHER.items() if name in members), name)
        groups.setdefault(of, []).append(name)
    return groups


def nucleon_charges(
    measurements: Measurements, options: AnalysisOptions
) -> tuple[NucleonCharges | None, dict[str, str]]:
    """Return the record of results.json, and what has no fit in it, with the reason.

    There is no record without Feynman-Hellmann correlators at rest and without ratios of
    three-point functions.

    Raises
    ------
    AnalysisError
        There are some, but no nucleon.
    """
    numerators, reasons = isovector_numerators(measurements)
    inserted = _local_first(three_point_functions(measurements))
    if not numerators and not inserted:
        return None, reasons
    if "nucleon" not in measurements.correlators:
        raise AnalysisError(
            "correlators with a current need the two-point function: correlators.nucleon is missing"
        )
    nucleon = measurements.correlators["nucleon"]
    two_point = at_rest(nucleon)
    # The sign of C is a convention of its operators, which ratios do not see.
    sign = -1.0 if two_point[:, 1].mean() < 0 else 1.0

    def prepared(values: NDArray) -> NDArray:
        return bin_series(sign * values, measurements.configurations, options.bin_size)[0]

    trajectories = bin_series(two_point, measurements.configurations, options.bin_size)[1]
    two_point = prepared(two_point)
    numerators = {name: prepared(N) for name, N in numerators.items()}
    inserted = {name: {t: prepared(C3) for t, C3 in by.items()} for name, by in inserted.items()}
    records, results = {}, {}
    for of, names in _groups(numerators).items():
        chosen = {name: numerators[name] for name in names}
        try:
            found = fit_charges(
                two_point,
                chosen,
                trajectories=trajectories,
                options=options.charges,
                autocorrelations=options.autocorrelation,
                boundary_t=nucleon.attributes["boundary_t"],
            )
            records[of], results[of] = charges_record(found), found
        except FitFailed as error:
            key = "nucleon charges" if of == "local" else f"nucleon charges ({of.replace('_', ' ')})"
            reasons[key] = str(error)
            effective = {name: _effective(two_point, N) for name, N in chosen.items()}
            records[of] = NucleonCharges(effective=effective)
    record = _together(records)
    momenta = sink_momenta(measurements)
    by_sinks, not_formed = charges_at_sinks(nucleon, inserted, momenta, prepared, trajectories, options)
    reasons |= not_formed
    for name, charge in by_sinks.items():
        record.three_point[name] = three_point_record(charge, momenta[name][charge.separations[0]])
    if all(r.sink_momentum[:2] == [0, 0] for r in record.three_point.values()):  # else R_A goes elsewhere
        record.three_point_ratio = three_point_ratio(by_sinks)
    used = {name: inserted[name] for name in by_sinks}
    smearing = smearing_in_time(measurements)
    off_ends = options.model_copy(update={"charges": off_smeared_links(options.charges, smearing)})
    remark = "" if off_ends.charges == options.charges else f"; {why_later(smearing)}"
    sinks, not_fitted = _fixed_sinks(measurements, two_point, used, trajectories, off_ends, remark)
    reasons |= not_fitted
    if sinks:
        record.fixed_sink = _together({of: charges_record(found) for of, found in sinks.items()})
        record.fixed_sink.smeared_links = smearing
        record.fixed_sink.t_min_first = off_ends.charges.t_min_first
        for of in sinks.keys() & results.keys():
            difference = sinks[of].minus(results[of])
            record.fixed_sink_difference |= {name: charge_record(e) for name, e in difference.items()}
    has_something = bool(record.effective or record.three_point)
    return (record if has_something else None), reasons


def _fixed_sinks(
    measurements: Measurements,
    two_point: NDArray,
    inserted: dict[str, dict[int, NDArray]],
    trajectories: NDArray,
    options: AnalysisOptions,
    remark: str,
) -> tuple[dict[str, ChargeResult], dict[str, str]]:
    """Return fits of three-point functions, in the groups of the other method, and why others have none.

    Each such reason ends with `remark`.
    """
    nucleon = measurements.correlators["nucleon"]
    of_nucleon = [
        nucleon,
        *(c for name, c in measurements.correlators.items() if name.startswith("three_point_")),
    ]
    found: dict[str, ChargeResult] = {}
    reasons: dict[str, str] = {}
    moving = [c for c in of_nucleon if np.any(c.attributes.get("sink_momentum", 0))]
    if moving:
        return {}, {
            "nucleon charges by fixed sinks": f"{moving[0].name} has a sink of a moving nucleon: only those "
            "of nucleons at rest are fitted"
        }
    for of, names in _groups(inserted).items():
        names.sort(key=TOGETHER.get(of, (of,)).index)
        key = "nucleon charges by fixed sinks" + ("" if of == "local" else f" ({of.replace('_', ' ')})")
        try:
            fit = found[of] = fit_fixed_sinks(
                two_point,
                {name: inserted[name] for name in names},
                trajectories=trajectories,
                options=options.charges,
                autocorrelations=options.autocorrelation,
                boundary_t=nucleon.attributes["boundary_t"],
                is_symmetric=of == "local" and _has_equal_ends(of_nucleon),
            )
        except FitFailed as error:
            reasons[key] = f"{error}{remark}"
            continue
        t_max = fit.windows[0].t_max
        late = sorted({t for name in names for t in inserted[name] if not 2 <= t <= t_max})
        if late:
            reasons[f"{key}, separations {', '.join(map(str, late))}"] = (
                f"expected separations from 2 to {t_max}, the last time slice of the fits"
            )
    return found, reasons


def _has_equal_ends(correlators: Iterable[CorrelatorData]) -> bool:
    """Return True if the attributes of all correlators say that source and sink have the same smearing."""
    ends = {c.attributes.get(f"{end}_smearing") for c in correlators for end in ("source", "sink")}
    return len(ends) == 1 and None not in ends


def _together(records: dict[str, NucleonCharges]) -> NucleonCharges:
    """Return the first one with the charges and points of the others, which stay in `others` as they are."""
    if not records:
        return NucleonCharges()
    of, *rest = records
    record = records[of].model_copy(update={"others": {name: records[name] for name in rest}})
    for table in ("charges", "effective", "subtracted", "one_more_state", "ratio_fit"):
        merged = dict(getattr(record, table))
        for name in rest:
            merged |= getattr(records[name], table)
        setattr(record, table, merged)
    if record.g_a_over_g_v is None and "conserved" in rest:
        record.g_a_over_g_v, record.tau_n = records["conserved"].g_a_over_g_v, records["conserved"].tau_n
    return record


def _effective(two_point: NDArray, numerator: NDArray) -> Series:
    """Return the effective charge at the times at which it and its error are finite numbers."""
    with np.errstate(all="ignore"):
        value, error = effective_charge(two_point, numerator)
    t = np.flatnonzero(np.isfinite(value) & np.isfinite(error))
    return Series(x=t.astype(float).tolist(), value=value[t].tolist(), error=error[t].tolist())


def charge_record(e: ChargeEstimate) -> ChargeRecord:
    """Return plain numbers."""
    return ChargeRecord(
        value=e.value,
        error=e.error,
        statistical_error=e.statistical_error,
        model_error=e.model_error,
        tau_int=e.tau_int,
    )


def charges_record(found: ChargeResult) -> NucleonCharges:
    """Return plain numbers."""
    record = charge_record

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
        dependent=list(found.dependent),
        ratio_fit={
            name: {
                t: Series(x=(tau - t / 2).tolist(), value=R.tolist(), error=[None] * len(tau))
                for t, (tau, R) in by_separation.items()
            }
            for name, by_separation in found.curves.items()
        },
    )


def read_lalibe(
    two_point: Iterable[Path | str],
    numerators: dict[str, Iterable[Path | str]],
    *,
    smearing: str = "PS",
    source: str = "x0_y0_z0_t0",
) -> tuple[NDArray, dict[str, NDArray]]:
    """Return C and the isovector N of lalibe's HDF5 files, one file for each configuration.

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
        :func:`fit_charges` takes them: real, shape [configuration, time].

    Raises
    ------
    MeasurementFileError
        A dataset is missing.
    AnalysisError
        The numbers of files are unequal.
    """
    current = {"A": ("A3", -1j, -1.0), "V": ("V4", 1.0, 1.0)}

    def read(path: Path | str, hadron: str, sign: float) -> NDArray:
        values = []
        with open_hdf5(path) as file:
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
    "three_point_ratio",
    "three_point_record",
]
