"""An analysis returns these records: plain numbers with names, the content of results.json."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from ...ground.crash_safe_files import write_text
from .charge_records import NucleonCharges, ResidualMassRecord
from .gevp_records import GevpResult
from .online_records import StreamResult
from .options import AnalysisOptions
from .record import Record, Series, format_error
from .scale_records import PhysicalMass, ScaleResult

#: The version is raised when the meaning of a key changes.
SCHEMA_VERSION = 2


class FitResult(Record):
    """This is one fit of the scan.

    chi2 is the weighted sum of squares of the data and chi2_prior that of the priors; dof = n_data -
    n_parameters; Q is the textbook probability of their sum for dof; expected_chi2 and p_value are the mean
    and the probability that take weights, priors and the number of samples into account. weight is that in
    the average. The parameters describe the correlators divided by `normalisation`.
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


class ParticleResult(Record):
    """This is one particle: mass_error^2 = statistical_error^2 + model_error^2, lattice units.

    Attributes
    ----------
    fit
        The fit of largest weight in the model average; scan: all fits.
    mixture_error
        The total error in the definition of Jay and Neil, for comparison (module `averaging`).
    weights
        The residuals were weighted like this: correlated, shrinkage, svd or uncorrelated; weights_parameter
        is the shrinkage lambda or the svdcut of the fit of largest weight.
    autocorrelation_factor
        2 tau_int where it was applied to the covariance, else 1.
    correlator
        Mean over configurations at t = 0 ... T - 1, unfolded.
    physical
        The mass in MeV, where a scale was given.
    effective_mass
        At t + 1/2, of the folded correlator for mesons on a periodic lattice.
    correlation
        Correlations of the data between the times t_min ... t_max of the best fit, [time][time], of the first
        correlator of a simultaneous fit; empty in results of earlier versions.
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
    physical: PhysicalMass | None = None
    normalisation: list[float]
    priors: dict[str, tuple[float, float]]
    fit: FitResult
    scan: list[FitResult]
    correlator: Series
    effective_mass: Series
    correlation: list[list[float]] = Field(default_factory=list)
    notes: list[str]

    @property
    def formatted(self) -> str:
        """Return value(error)."""
        return format_error(self.mass, self.mass_error)

    def __repr__(self) -> str:
        return f"<ParticleResult {self.particle} {self.formatted}>"

    def __str__(self) -> str:
        return repr(self)


class AutocorrelationResult(Record):
    """This is the Gamma method of one series; tau_int in units of `spacing` trajectories, 1/2 if independent.

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


class RatioResult(Record):
    """This is a ratio of masses; the statistical correlation of the two is taken into account."""

    value: float
    error: float
    correlation: float


class SolverResult(Record):
    """These are medians and totals over all recorded solves."""

    solver: str | None
    solves: int
    iterations_median: float | None = None
    iterations_max: float | None = None
    relative_residual_max: float | None = None
    seconds_total: float | None = None
    seconds_median: float | None = None
    gflops_median: float | None = None


class Provenance(Record):
    """These are the files, run files and program versions that the results come from."""

    files: list[dict]
    run_files: list[str]
    conventions_version: str | None
    analysis_versions: dict[str, str]


class ConfigurationSummary(Record):
    """These are the configurations of the correlators.

    streams holds the stream of each number; it is empty where there is one stream without a name.
    """

    count: int
    first: int | None
    last: int | None
    numbers: list[int]
    streams: list[str] = Field(default_factory=list)
    sources_per_configuration: list[int]


class SamplesResult(Record):
    """This is each mass on each configuration or bin, to first order: mass + d mass / d data . (data - mean).

    Attributes
    ----------
    numbers
        The numbers of the configurations, or of the last one in each bin.
    streams
        Stream of each number; empty where there is one stream without a name.
    masses
        Each particle has as many as there are numbers; the mean is the mass, and the scatter gives the
        statistical errors and their correlations.
    """

    numbers: list[int]
    streams: list[str] = Field(default_factory=list)
    masses: dict[str, list[float]]


class PartResult(Record):
    """This is a part of a trajectory: mean seconds, their share, 10^9 flops and bytes a second of all ranks.

    fraction_of_roof is the time that the peak or the memory of the machine allows over the time taken. None
    means that it was not recorded, or that there is no arithmetic.
    """

    seconds: float
    seconds_error: float | None = None
    share: float
    gflops: float | None = None
    gbytes_per_second: float | None = None
    fraction_of_roof: float | None = None


class Results(Record):
    """This is everything that an analysis found; it is written to results.json.

    The numbers that most people look for stand at the top, null where there is none: those of the companion
    if there is one. Masses are in lattice units, tau_n is in seconds; z_v = 1 / g_V. Charges are those by
    Feynman-Hellmann, but for g_a_over_g_v_fixed_sink.

    Attributes
    ----------
    parts
        They tell where the time of a stream's trajectories went.
    samples, covariance
        Series of the masses over configurations, and the covariance of the masses in the order of
        `particles`: statistical errors are correlated as the series are, and each model error is its own.
    series
        They have no mean: there are too few measurements, or nothing but thermalisation.
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
    scale: ScaleResult | None = None
    particles: dict[str, ParticleResult]
    samples: SamplesResult | None = None
    covariance: list[list[float]] = Field(default_factory=list)
    ratios: dict[str, RatioResult]
    gevp: dict[str, GevpResult] = Field(default_factory=dict)
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

    @property
    def all_warnings(self) -> list[str]:
        """Return the warnings, and behind them those of the companion, which begin with its title."""
        if self.companion is None:
            return self.warnings
        return [*self.warnings, *(f"{self.companion.title}: {text}" for text in self.companion.warnings)]

    def with_headline(self) -> Results:
        """Return a copy with the numbers at the top filled in."""
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
        """Return the JSON text, with an end of line; write it to `path` if one is given."""
        text = self.model_dump_json(indent=1) + "\n"
        if path is not None:
            write_text(Path(path), text)
        return text

    @classmethod
    def from_json(cls, path: Path | str) -> Results:
        """Read results.json."""
        return cls.model_validate_json(Path(path).read_text())
