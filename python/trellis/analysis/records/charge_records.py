"""This module has records of nucleon charges and of the residual mass in results.json."""

from __future__ import annotations

from pydantic import Field

from .record import Record, Series, format_error


class ChargeRecord(Record):
    """This is a number with its statistical error and the spread of the models."""

    value: float
    error: float
    statistical_error: float
    model_error: float
    tau_int: float | None = None

    @property
    def formatted(self) -> str:
        """Return "1.271(13)"."""
        return format_error(self.value, self.error)


class ResidualMassRecord(ChargeRecord):
    """This is m_res (residual_mass.py).

    The window is that of largest weight, and the p-value is the weighted one of the windows.
    """

    t_min: int
    t_max: int
    p_value: float


class ChargeWindowRecord(Record):
    """This is one fit to two-point and Feynman-Hellmann data together."""

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


class ThreePointRecord(Record):
    """This is a bare charge by fixed sinks (three_point.ThreePointCharge).

    ratio is R(t, tau) against tau - t/2, one for each separation; midpoint is R(t, t/2) against t; slope is
    that of the summed ratio, against the mean of two neighbouring separations; sink_momentum is n of the
    nucleon there, and in the C(t) of the ratio.
    """

    separations: list[int]
    ratio: list[Series]
    midpoint: Series
    slope: Series | None
    sink_momentum: list[int] = Field(default=[0, 0, 0])


class NucleonCharges(Record):
    """These are isovector charges of the nucleon (charges.ChargeResult).

    They are bare, but for g_a_over_g_v; tau_n is in seconds.

    Attributes
    ----------
    three_point
        The charges by fixed sinks, where they were measured; three_point_ratio is g_A / g_V of the midpoints
        against the separation.
    fixed_sink
        The same for the fits of three-point functions with fixed sinks (fixed_sink.py), whose windows begin
        t_min slices from source and sink; None without, not_fitted says why.
    ratio_fit
        fixed_sink has R(t, tau) of the fit of largest weight by charge and separation, against tau - t/2.
    t_min_first, smeared_links
        In fixed_sink: the first window of its fits, and what was done to the links under the operator, which
        is why it may be another one than in `options` (link_smearing.py); None: thin links, or not known.
    fixed_sink_difference
        Charges and g_A / g_V ("A/V") by fixed sinks minus those by Feynman-Hellmann, correlations included.
    p_value, drift, excited_at_end, excited_at_end_limit, prior_shift, configurations_per_point
        They tell how far the fits can be trusted (charge_results.ChargeQuality); None and empty without fits.
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
