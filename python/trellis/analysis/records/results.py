"""An analysis returns these records: plain numbers with names, the content of results.json."""

from __future__ import annotations

import math
from pathlib import Path

import gvar as gv
from pydantic import BaseModel, ConfigDict, Field

from ...ground.crash_safe_files import write_text
from .options import AnalysisOptions

#: Raised when the meaning of a key changes.
SCHEMA_VERSION = 2


class _Record(BaseModel):
    model_config = ConfigDict(ser_json_inf_nan="null")


class Series(_Record):
    """Values with errors at positions (times, lags or trajectories)."""

    x: list[float]
    value: list[float | None]
    error: list[float | None]


class FitResult(_Record):
    """One fit of the scan.

    chi2 is the weighted sum of squares of the data and chi2_prior that of the priors; dof = n_data -
    n_parameters; Q the textbook probability of their sum for dof; expected_chi2 and p_value the mean and the
    probability that take weights, priors and the number of samples into account. weight: in the average.
    The parameters describe the correlators divided by `normalisation`.
    """

    t_min: int
    t_max: int
    n_states: int
    mass: float
    mass_error: float
    energies: list[float]
    energy_errors: list[float]
    chi2: float
    chi2_prior: float
    n_data: int
    n_parameters: int
    dof: int
    expected_chi2: float
    p_value: float
    Q: float
    weight: float
    parameters: dict[str, float]


class ParticleResult(_Record):
    """One particle: mass_error^2 = statistical_error^2 + model_error^2, lattice units.

    Attributes
    ----------
    fit
        The fit of largest weight in the model average; scan: all fits.
    mixture_error
        The total error in the definition of Jay and Neil, for comparison (module `averaging`).
    weights
        How the residuals were weighted: correlated, shrinkage, svd or uncorrelated; weights_parameter is the
        shrinkage lambda or the svdcut of the fit of largest weight.
    autocorrelation_factor
        2 tau_int where it was applied to the covariance, else 1.
    correlator
        Mean over configurations at t = 0 ... T - 1, unfolded.
    effective_mass
        At t + 1/2, of the folded correlator for mesons on a periodic lattice.
    """

    mass: float
    mass_error: float
    statistical_error: float
    model_error: float
    mixture_error: float
    type: str
    particle: str
    members: list[str]
    momentum_squared: int
    image: int
    boundary_t: str
    source: str | None = None
    sink: str | None = None
    configurations: int
    bin_size: int
    bins: int
    effective_samples: float
    weights: str
    weights_parameter: float | None
    autocorrelation_factor: float
    tau_int: float | None
    tau_int_error: float | None
    jackknife_error: float | None
    normalisation: list[float]
    priors: dict[str, tuple[float, float]]
    fit: FitResult
    scan: list[FitResult]
    correlator: Series
    effective_mass: Series
    notes: list[str]

    @property
    def formatted(self) -> str:
        """value(error)."""
        return format_error(self.mass, self.mass_error)

    def __repr__(self) -> str:
        return f"<ParticleResult {self.particle} {self.formatted}>"

    def __str__(self) -> str:
        return repr(self)


class AutocorrelationResult(_Record):
    """Gamma method of one series; tau_int in units of `spacing` trajectories, 1/2 if independent.

    The spacing is the step between measurements, or of irregular ones the smallest common step.
    """

    mean: float
    error: float
    naive_error: float
    tau_int: float
    tau_int_error: float
    window: int
    count: int
    spacing: int
    rho: Series
    series: Series | None = None


class RatioResult(_Record):
    """A ratio of masses; the statistical correlation of the two is taken into account."""

    value: float
    error: float
    correlation: float


class SolverResult(_Record):
    """Medians and totals over all recorded solves."""

    solver: str | None
    solves: int
    iterations_median: float | None = None
    iterations_max: float | None = None
    relative_residual_max: float | None = None
    seconds_total: float | None = None
    seconds_median: float | None = None
    gflops_median: float | None = None


class Provenance(_Record):
    """The files, run files and program versions that the results come from."""

    files: list[dict]
    run_files: list[str]
    conventions_version: str | None
    analysis_versions: dict[str, str]


class ConfigurationSummary(_Record):
    """The configurations of the correlators."""

    count: int
    first: int | None
    last: int | None
    numbers: list[int]
    sources_per_configuration: list[int]


class PartResult(_Record):
    """A part of a trajectory: mean seconds, their share, 10^9 flops and bytes a second of all ranks.

    fraction_of_roof: the time that the peak or the memory of the machine allows over the time taken. None:
    not recorded, or no arithmetic.
    """

    seconds: float
    seconds_error: float | None = None
    share: float
    gflops: float | None = None
    gbytes_per_second: float | None = None
    fraction_of_roof: float | None = None


class ChargeRecord(_Record):
    """A number with its statistical error and the spread of the models."""

    value: float
    error: float
    statistical_error: float
    model_error: float
    tau_int: float | None = None

    @property
    def formatted(self) -> str:
        """1.271(13)."""
        return format_error(self.value, self.error)


class ResidualMassRecord(ChargeRecord):
    """m_res (residual_mass.py): the window of largest weight, and the weighted p-value of the windows."""

    t_min: int
    t_max: int
    p_value: float


class ChargeWindowRecord(_Record):
    """One fit to two-point and Feynman-Hellmann data together."""

    t_min: int
    t_max: int
    states: int
    values: dict[str, float]
    errors: dict[str, float]
    chi2: float
    expected_chi2: float
    p_value: float
    points: int
    weight: float
    profiled: bool = False


class ThreePointRecord(_Record):
    """A bare charge by fixed sinks (three_point.ThreePointCharge).

    ratio: R(t, tau) against tau - t/2, one for each separation; midpoint: R(t, t/2) against t; slope: of the
    summed ratio, against the mean of two neighbouring separations; sink_momentum: n of the nucleon there, and
    in the C(t) of the ratio.
    """

    separations: list[int]
    ratio: list[Series]
    midpoint: Series
    slope: Series | None
    sink_momentum: list[int] = Field(default=[0, 0, 0])


class NucleonCharges(_Record):
    """Isovector charges of the nucleon (charges.ChargeResult); bare, but for g_a_over_g_v. tau_n in s.

    Attributes
    ----------
    three_point
        By fixed sinks, where they were measured; three_point_ratio: g_A / g_V of the midpoints against the
        separation.
    fixed_sink
        The same for the fits of three-point functions with fixed sinks (fixed_sink.py), whose windows begin
        t_min slices from source and sink; None without, not_fitted says why.
    ratio_fit
        In fixed_sink: by charge and separation R(t, tau) of the fit of largest weight, against tau - t/2.
    t_min_first, smeared_links
        In fixed_sink: the first window of its fits, and what was done to the links under the operator, which
        is why it may be another one than in `options` (link_smearing.py); None: thin links, or not known.
    fixed_sink_difference
        Charges and g_A / g_V ("A/V") by fixed sinks minus those by Feynman-Hellmann, correlations included.
    p_value, drift, excited_at_end, excited_at_end_limit, prior_shift, configurations_per_point
        Whether the fits can be trusted (charge_results.ChargeQuality); None and empty without fits.
    gap_prior, one_more_state
        The prior of the gaps; the charges of the best fit with one state more than the fit of largest weight.
    misfit
        Factor on the statistical errors: weighted sqrt(chi^2 / expected) of the fits with p < 0.05.
    autocorrelation_factor
        The largest 2 tau_int of a charge where it was applied to the covariance of the fits, else 1.
    dependent
        Currents whose correlator is a function of the others on every configuration.
    others
        Conserved and further currents have fits with C of their own: their records by "conserved" or the
        name of the current. `charges`, `effective`, `subtracted` and `one_more_state` have those too.
    """

    charges: dict[str, ChargeRecord] = Field(default_factory=dict)
    g_a_over_g_v: ChargeRecord | None = None
    z_v: ChargeRecord | None = None
    tau_n: ChargeRecord | None = None
    energy: ChargeRecord | None = None
    windows: list[ChargeWindowRecord] = Field(default_factory=list)
    effective: dict[str, Series] = Field(default_factory=dict)
    subtracted: dict[str, Series] = Field(default_factory=dict)
    three_point: dict[str, ThreePointRecord] = Field(default_factory=dict)
    three_point_ratio: Series | None = None
    fixed_sink: NucleonCharges | None = None
    fixed_sink_difference: dict[str, ChargeRecord] = Field(default_factory=dict)
    t_min_first: int | None = None
    smeared_links: str | None = None
    ratio_fit: dict[str, dict[int, Series]] = Field(default_factory=dict)
    p_value: float | None = None
    drift: dict[str, float] = Field(default_factory=dict)
    excited_at_end: float | None = None
    prior_shift: dict[str, float] = Field(default_factory=dict)
    excited_at_end_limit: float | None = None
    configurations_per_point: float | None = None
    gap_prior: tuple[float, float] | None = None
    one_more_state: dict[str, ChargeRecord] = Field(default_factory=dict)
    misfit: float = 1.0
    autocorrelation_factor: float = 1.0
    dependent: list[str] = Field(default_factory=list)
    others: dict[str, NucleonCharges] = Field(default_factory=dict)


class ValueRecord(_Record):
    """A number with its Gamma-method error; tau_int of the fluctuations it comes from, 1/2 if independent."""

    value: float
    error: float
    tau_int: float | None = None

    @property
    def formatted(self) -> str:
        """2.785(12)."""
        return format_error(self.value, self.error)


class FlowResult(_Record):
    """The gradient flow of a stream, lattice units.

    Attributes
    ----------
    t0, sqrt_8t0, w0
        From the mean E(t); None where it does not reach 0.3.
    t2_energy
        t^2 E(t) by flow time.
    charge_squared, topological_susceptibility
        <Q^2> and <Q^2> / V of the improved charge at charge_time.
    """

    count: int
    t2_energy: Series
    t0: ValueRecord | None = None
    sqrt_8t0: ValueRecord | None = None
    w0: ValueRecord | None = None
    charge_time: float | None = None
    charge_squared: ValueRecord | None = None
    topological_susceptibility: ValueRecord | None = None


class LoopResult(_Record):
    """Wilson loops by "RxT": W, Creutz ratios, and ln W(R, T) / W(R, T + 1)."""

    count: int
    loops: dict[str, ValueRecord]
    creutz: dict[str, ValueRecord]
    potential: dict[str, ValueRecord]


class StreamResult(_Record):
    """The on-line measurements of a stream beyond the single series."""

    flow: FlowResult | None = None
    loops: LoopResult | None = None
    derived: dict[str, ValueRecord] = Field(default_factory=dict)


class Results(_Record):
    """Everything that an analysis found; written to results.json.

    The numbers that most people look for stand at the top, null where there is none: those of the companion
    if there is one. Masses in lattice units, tau_n in seconds; z_v = 1 / g_V. Charges are those by
    Feynman-Hellmann, but for g_a_over_g_v_fixed_sink.

    Attributes
    ----------
    parts
        Where the time of a stream's trajectories went.
    series
        Of what has no mean: too few measurements, or nothing but thermalisation.
    companion
        The results of a second set of measurements, which has a part of the report of its own.
    """

    schema_version: int = SCHEMA_VERSION
    g_a_over_g_v: float | None = None
    g_a_over_g_v_error: float | None = None
    g_a_over_g_v_fixed_sink: float | None = None
    g_a_over_g_v_fixed_sink_error: float | None = None
    z_v: float | None = None
    z_v_error: float | None = None
    tau_n: float | None = None
    tau_n_error: float | None = None
    m_pi: float | None = None
    m_pi_error: float | None = None
    m_nucleon: float | None = None
    m_nucleon_error: float | None = None
    m_res: float | None = None
    m_res_error: float | None = None
    title: str
    created: str
    lattice: tuple[int, int, int, int]
    beta: float | None
    fermion: dict[str, object] = Field(default_factory=dict)
    configurations: ConfigurationSummary
    particles: dict[str, ParticleResult]
    ratios: dict[str, RatioResult]
    nucleon_charges: NucleonCharges | None = None
    residual_mass: ResidualMassRecord | None = None
    stream: StreamResult | None = None
    parts: dict[str, PartResult] = Field(default_factory=dict)
    observables: dict[str, AutocorrelationResult]
    series: dict[str, Series] = Field(default_factory=dict)
    tau_int: dict[str, tuple[float, float]]
    not_fitted: dict[str, str]
    solves: SolverResult | None
    notes: list[str]
    warnings: list[str]
    options: AnalysisOptions
    provenance: Provenance
    companion: Results | None = None

    def __repr__(self) -> str:
        """Return a short text: at a prompt all numbers would fill thousands of lines."""
        found = [f"{name} {particle.formatted}" for name, particle in self.particles.items()]
        counts = {"observables": len(self.observables), "not fitted": len(self.not_fitted)}
        found += [f"{count} {what}" for what, count in counts.items() if count]
        return f"<Results on {'x'.join(map(str, self.lattice))}: {', '.join(found) or 'nothing fitted'}>"

    def __str__(self) -> str:
        return repr(self)

    def with_headline(self) -> Results:
        """A copy with the numbers at the top filled in."""
        part = self.companion or self
        charges = part.nucleon_charges or NucleonCharges()
        records = {name: getattr(charges, name) for name in ("g_a_over_g_v", "z_v", "tau_n")}
        records["m_res"] = part.residual_mass
        records["g_a_over_g_v_fixed_sink"] = (charges.fixed_sink or NucleonCharges()).g_a_over_g_v
        found = {name: (r.value, r.error) for name, r in records.items() if r is not None}
        for name, particle in (("m_pi", "pion"), ("m_nucleon", "nucleon")):
            if particle in part.particles:
                found[name] = (part.particles[particle].mass, part.particles[particle].mass_error)
        values = {name: value for name, (value, _) in found.items()}
        return self.model_copy(update=values | {f"{name}_error": e for name, (_, e) in found.items()})

    def to_json(self, path: Path | str | None = None) -> str:
        """The JSON text, with an end of line; written to `path` if one is given."""
        text = self.model_dump_json(indent=1) + "\n"
        if path is not None:
            write_text(Path(path), text)
        return text

    @classmethod
    def from_json(cls, path: Path | str) -> Results:
        """Read results.json."""
        return cls.model_validate_json(Path(path).read_text())


def format_error(value: float, error: float) -> str:
    """0.4213(17): two digits of error."""
    if not error > 0:
        return f"{value:.10g}"
    places = 1 - math.floor(math.log10(error)) if math.isfinite(error) else 1
    if places <= 0 and abs(value) < 1e6:  # 1530(460) rather than 1.53(46)e+03
        return f"{round(value, places) + 0.0:.0f}({round(error, places):.0f})"  # 0.0: no -0
    return str(gv.gvar(value, error).fmt(None))
