"""analyze() makes results.json, plots and report.html of measurement files."""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import gvar as gv

from ..ground.crash_safe_files import make_folder
from ..ground.errors import FileError
from ..ground.version import __version__
from ..run_files.loading import validate_run
from .charges.charge_quality import charge_notes, charge_warnings
from .charges.nucleon import nucleon_charges
from .export import export_all
from .masses.assemble import numbering_notes, observable_results, particle_result, plain_series, solver_result
from .masses.correlations import correlation, mass_covariance, samples_result
from .masses.correlators import ParticleCorrelator, particle_correlators
from .masses.gevp_fits import solve_gevp
from .masses.models import BackwardState
from .masses.residual_mass import plateau_warning, residual_mass
from .masses.result_names import has_parity_partner, parity_partner, require_own_names, without_particle
from .masses.spectrum import backward_state_of, fit_particle
from .masses.window_scan import ParticleFit
from .physical_units import physical_mass, scale_result
from .readers.foreign import read_foreign
from .readers.measurement_files import read_measurements
from .records.errors import AnalysisError, FitFailed, TooFewConfigurations
from .records.measurements import ArraySeries, CorrelatorData, Measurements, ObservableSeries
from .records.numbering import plain_numbers, stream_names
from .records.options import AnalysisOptions
from .records.results import ConfigurationSummary, Provenance, RatioResult, Results
from .remarks import add_remarks
from .stream.stream_records import stream_result
from .stream.time_parts import part_results

_VERSIONS_OF = ("numpy", "scipy", "h5py", "gvar", "lsqfit", "pyerrors", "matplotlib")


def analyze(
    paths: Path | str | Iterable[Path | str],
    *,
    output: Path | str | None = None,
    companion: Path | str | Iterable[Path | str] | None = None,
    title: str | None = None,
    options: AnalysisOptions | dict | None = None,
) -> Results:
    """Return masses with errors from measured correlators.

    Parameters
    ----------
    paths
        Measurement files (and gauge streams), folders of them, or a list of both.
    output
        Folder for results.json, plots/ and report.html; made if needed. None: nothing is written.
    companion
        A second set of measurements, of another action or lattice: a part of its own in the same report,
        with the same options but first_trajectory.
    title
        Title of the report; default: the lattice and beta.
    options
        An AnalysisOptions or a dict of its fields.

    Returns
    -------
    Results
        See `results.Results`; the same numbers as in results.json.

    Raises
    ------
    AnalysisError
        The message names the file or quantity at fault (subclasses in `errors`). A particle that cannot be
        fitted does not stop the others: it is listed in `not_fitted` with the reason.
    """
    if not isinstance(options, AnalysisOptions):
        options = validate_run(options or {}, AnalysisOptions, "options")
    measured = _read(paths, options)
    beside = None if companion is None else _read(companion, options)
    return analyze_measurements(measured, output=output, companion=beside, title=title, options=options)


def _read(paths: Path | str | Iterable[Path | str], options: AnalysisOptions) -> Measurements:
    """Read the files; the options may name another program whose files they are."""
    if options.foreign is not None:
        return read_foreign(paths, options.foreign, options.stream)
    return read_measurements(
        paths,
        lalibe_smearing=options.lalibe_smearing,
        lalibe_configuration=options.lalibe_configuration,
        stream=options.stream,
    )


def analyze_measurements(
    measured: Measurements,
    *,
    output: Path | str | None = None,
    companion: Measurements | None = None,
    title: str | None = None,
    options: AnalysisOptions,
) -> Results:
    """Return masses with errors of the measurements that readers have found; see :func:`analyze`."""
    factory = gv.switch_gvar()  # the gvars of the fits do not outlive this call
    try:
        if output is not None:
            _make_folder(Path(output))
        results = _analyze(measured, title, options)
        if companion is not None:
            other = options.model_copy(update={"first_trajectory": None})
            results.companion = _analyze(companion, None, other)
        results = results.with_headline()
    finally:
        gv.restore_gvar()
        del factory
    if output is not None:
        from ..report import write_report  # the report needs matplotlib, the numbers do not

        write_report(results, output)
        export_all(results, output, options)
    return results


def _make_folder(folder: Path) -> None:
    """Make the folder of the report before the fits take their time."""
    try:
        make_folder(folder)
    except FileError as error:
        raise AnalysisError(f"the folder of the results: {error}") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise AnalysisError(f"{folder}: expected a folder that can be written to, found one that cannot")


def _analyze(measurements: Measurements, title: str | None, options: AnalysisOptions) -> Results:
    _leave_out(measurements, options.first_trajectory)
    early = _thermalisation_alone(measurements, options.first_trajectory)
    fits, not_fitted = _fit_all(measurements, options)
    gevp = solve_gevp(measurements, options, fits, not_fitted)
    warnings: list[str] = list(measurements.warnings)
    observables, shown = observable_results(measurements, warnings)
    if early is not None:
        shown = plain_series(early)
        warnings += [f"{note}: series are shown, and no means are formed" for note in measurements.notes]
        measurements.notes.clear()
    notes = list(measurements.notes) + numbering_notes(measurements, options.bin_size)
    particles = {name: particle_result(fit, options) for name, fit in fits.items()}
    particles = dict(sorted(particles.items(), key=lambda item: item[1].mass))
    tau_int = {name: (o.tau_int, o.tau_int_error) for name, o in observables.items()}
    tau_int |= {
        f"mass of {n}": (p.tau_int, p.tau_int_error)
        for n, p in particles.items()
        if p.tau_int is not None and p.tau_int_error is not None
    }
    add_remarks(measurements, particles, notes, warnings, options.bin_size)
    stream = stream_result(measurements, notes, warnings)
    scale = None
    if options.scale is not None:
        scale = scale_result(options.scale, stream, _lattice_of(measurements))
        for particle in particles.values():
            particle.physical = physical_mass(particle, scale)
    charges, reasons = nucleon_charges(measurements, options)
    not_fitted |= reasons
    if charges is not None:
        warnings += charge_warnings(charges)
        notes += charge_notes(charges)
    m_res = None
    try:
        m_res = residual_mass(measurements, options, warnings)
        warnings += [] if m_res is None else plateau_warning(m_res)
    except FitFailed as error:
        not_fitted["m_res"] = str(error).removeprefix("m_res: ")
    x, y, z, t = _lattice_of(measurements)
    beta = f", beta {measurements.beta:g}" if measurements.beta is not None else ""
    subject = "Hadron masses" if measurements.correlators else "Gauge stream"
    if charges is not None:
        subject = "Nucleon charges and hadron masses"
    return Results(
        title=title or f"{subject} on {f'{x} x {y} x {z} x {t}' if x else f'{t} time slices'}{beta}",
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        lattice=(x, y, z, t),
        beta=measurements.beta,
        fermion=_fermion(measurements),
        configurations=_configurations(measurements),
        scale=scale,
        particles=particles,
        samples=samples_result(fits),
        covariance=mass_covariance({name: fits[name] for name in particles}),
        ratios=_ratios(fits, options),
        gevp=gevp,
        nucleon_charges=charges,
        residual_mass=m_res,
        stream=stream,
        parts=part_results(early or measurements, observables),
        observables=observables,
        series=shown,
        tau_int=tau_int,
        not_fitted=not_fitted,
        solves=solver_result(measurements.solves),
        notes=notes,
        warnings=warnings,
        options=options,
        provenance=_provenance(measurements),
    )


def _lattice_of(measurements: Measurements) -> tuple[int, int, int, int]:
    assert measurements.lattice is not None  # every file with data has one
    return measurements.lattice


def _leave_out(measurements: Measurements, first: int | None) -> None:
    """Drop what comes before the trajectory `first`."""
    if first is None:
        return
    keep = plain_numbers(measurements.configurations) >= first
    if measurements.correlators and not keep.any():
        last = plain_numbers(measurements.configurations).max()
        raise AnalysisError(
            f"first_trajectory {first}: expected configurations from there on, the last is {last}"
        )
    measurements.configurations = measurements.configurations[keep]
    for name, c in measurements.correlators.items():
        kept = CorrelatorData(name, c.values[keep], c.momenta, c.source_counts[keep], c.attributes)
        measurements.correlators[name] = kept
    for series in (measurements.observables, measurements.work):
        for name, o in series.items():
            after = plain_numbers(o.trajectories) >= first
            series[name] = ObservableSeries(name, o.trajectories[after], o.values[after])
    for name, a in measurements.arrays.items():
        after = plain_numbers(a.trajectories) >= first
        measurements.arrays[name] = ArraySeries(name, a.trajectories[after], a.values[after], a.axis)


def _has_data(measurements: Measurements) -> bool:
    return bool(measurements.correlators) or any(len(o.values) for o in measurements.observables.values())


def _thermalisation_alone(measurements: Measurements, first: int | None) -> Measurements | None:
    """Return the series before the end of the thermalisation if there are no others; None if there are.

    Raises
    ------
    AnalysisError
        There is nothing at all: the report would be empty.
    """
    if _has_data(measurements):
        return None
    early = measurements.thermalisation
    if early is not None:
        _leave_out(early, first)
        if _has_data(early):
            return early
    names = ", ".join(Path(file.path).name for file in measurements.files)
    raise AnalysisError(
        f"{names}: expected trajectories after the thermalisation"
        + (f" and from first_trajectory = {first} on" if first is not None else "")
        + f", found none ({'; '.join(measurements.notes) or 'the series are empty'})"
    )


def _fit_all(
    measurements: Measurements, options: AnalysisOptions
) -> tuple[dict[str, ParticleFit], dict[str, str]]:
    """Fit every particle, its parity partner, and the simultaneous fits; return
    failures with their reasons.
    """
    if not measurements.correlators:
        return {}, {}
    correlators = particle_correlators(measurements, options)
    require_own_names(correlators, options)
    if not correlators and not options.gevp:
        return {}, without_particle(measurements)
    tasks: dict[str, list[ParticleCorrelator]] = {c.name: [c] for c in correlators}
    by_name = {c.name: c for c in correlators}
    for name, members in options.simultaneous.items():
        unknown = [m for m in members if m not in by_name]
        if unknown:
            raise AnalysisError(f"simultaneous: expected names among {sorted(by_name)}, found {unknown}")
        tasks[name] = _simultaneous(name, [by_name[m] for m in members])
    fits: dict[str, ParticleFit] = {}
    failed: dict[str, str] = {}
    negative = [c for c in correlators if c.attributes.get("parity") == -1]
    later = {c.name for c in negative}
    for name, group in tasks.items():
        if name not in later:
            _fit_one(name, group, None, measurements, options, fits, failed)
    for c in negative:
        behind = _other_parity(c, fits)
        _fit_one(c.name, [c], behind, measurements, options, fits, failed)
    for c in correlators:
        if c.name in fits and has_parity_partner(c, options):
            partner = c.reversed_in_time(parity_partner(c))
            behind = backward_state_of(fits[c.name], partner)
            _fit_one(partner.name, [partner], behind, measurements, options, fits, failed)
    return fits, failed


def _other_parity(correlator: ParticleCorrelator, fits: dict[str, ParticleFit]) -> BackwardState | None:
    """Return the state behind nucleon_negative where it was fitted too: there runs the
    nucleon, which is lighter.
    """
    fit = fits.get(correlator.name.replace("_negative", "", 1))
    if fit is None or not correlator.has_backward_baryon:
        return None
    return backward_state_of(fit, correlator)


def _fit_one(
    name: str,
    group: list[ParticleCorrelator],
    behind: BackwardState | None,
    measurements: Measurements,
    options: AnalysisOptions,
    fits: dict[str, ParticleFit],
    failed: dict[str, str],
) -> None:
    """Fit one particle into `fits`, or the reason why not into `failed`."""
    try:
        fits[name] = fit_particle(group, measurements.configurations, options, behind)
    except FitFailed as error:
        failed[name] = str(error).removeprefix(f"{name}: ")  # it is shown with its name
    except TooFewConfigurations as error:
        where = f"{_files_of(measurements)}: {error.purpose}" if measurements.files else error.purpose
        raise TooFewConfigurations(
            where, needed=error.needed, found=error.found, option=error.option
        ) from error


def _files_of(measurements: Measurements) -> str:
    """Return the first few files by name, for messages."""
    paths = [file.path for file in measurements.files]
    more = f", ... ({len(paths)} files)" if len(paths) > 3 else ""
    return ", ".join(paths[:3]) + more


def _simultaneous(name: str, members: list[ParticleCorrelator]) -> list[ParticleCorrelator]:
    if len({(c.image, c.time_extent, c.kind) for c in members}) != 1:
        seen = [(c.name, c.kind, c.image) for c in members]
        raise AnalysisError(f"{name}: simultaneous: expected one type and symmetry in time, found {seen}")
    first = members[0]
    return [replace(first, name=name), *members[1:]]


def _ratios(fits: dict[str, ParticleFit], options: AnalysisOptions) -> dict[str, RatioResult]:
    """Return m_a / m_b; statistical errors are correlated as the masses are on the
    configurations, model errors not.
    """
    result = {}
    for a, b in options.ratios:
        if a not in fits or b not in fits:
            continue
        fa, fb = fits[a].average, fits[b].average
        rho = correlation(fits[a], fits[b])
        cross = rho * fa.statistical_error * fb.statistical_error
        covariance = [[fa.error**2, cross], [cross, fb.error**2]]
        ma, mb = gv.gvar([fa.mean, fb.mean], covariance)
        ratio = ma / mb
        result[f"{a}/{b}"] = RatioResult(value=ratio.mean, error=ratio.sdev, correlation=rho)
    return result


def _fermion(measurements: Measurements) -> dict[str, object]:
    for c in measurements.correlators.values():
        keys = ("fermion", "kappa", "mass", "csw", "b5", "c5", "M5", "Ls", "boundary_t")
        return {k: c.attributes[k] for k in keys if k in c.attributes}
    return {}


def _configurations(measurements: Measurements) -> ConfigurationSummary:
    numbers = plain_numbers(measurements.configurations).tolist()
    names = stream_names(measurements.configurations)
    counts = {int(n) for c in measurements.correlators.values() for n in c.source_counts}
    return ConfigurationSummary(
        count=len(numbers),
        first=min(numbers, default=None),
        last=max(numbers, default=None),
        numbers=numbers,
        streams=names,
        sources_per_configuration=sorted(counts),
    )


def _provenance(measurements: Measurements) -> Provenance:
    versions = {"trellis": __version__}
    for package in _VERSIONS_OF:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return Provenance(
        files=[f.__dict__ | {"path": Path(f.path).name} for f in measurements.files],
        run_files=measurements.run_files,
        conventions_version=measurements.conventions_version,
        analysis_versions=versions,
    )
