"""These are the choices of an analysis: every number that a person may want to change has a default."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from .charge_results import ChargeOptions, GapPrior, RatioPrior
from .foreign_options import ForeignOptions
from .gevp_records import GevpOptions
from .limits import NAME_IN_WORDS, is_file_name
from .scale_records import ScaleOptions


def _each_once(names: list[str]) -> list[str]:
    twice = [name for place, name in enumerate(names) if name in names[:place]]
    if twice:
        raise ValueError(f"expected each name once, found {twice[0]!r} again")
    return names


def _result_name(name: str) -> str:
    if not is_file_name(name):
        raise ValueError(f"expected {NAME_IN_WORDS}, found {name!r}")
    return name


_Names = Annotated[list[str], Field(min_length=1), AfterValidator(_each_once)]
#: Pictures of a result have its name.
_ResultName = Annotated[str, AfterValidator(_result_name)]


class AnalysisOptions(BaseModel):
    """These are the options of :func:`trellis.analysis.analyze`; unknown names are refused.

    All of them are written into results.json, so that a result can be repeated.
    """

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    particles: _Names | None = Field(
        default=None,
        description="These particles or correlators are analysed. The default is every one in the files.",
    )
    averages: dict[_ResultName, _Names] | None = Field(
        default=None,
        description="These correlators are averaged per configuration, as {result: [names]}. By default "
        "they are those whose names differ in a trailing _x, _y, _z only and which have the same quantum "
        "numbers (rho_x, rho_y, rho_z).",
    )
    simultaneous: dict[_ResultName, _Names] = Field(
        default_factory=dict,
        description="These correlators are fitted together with common energies, as {result: [names]} "
        "(different smearings of one particle).",
    )
    gevp: dict[_ResultName, GevpOptions] = Field(
        default_factory=dict,
        description="These matrices of correlators give energies by a generalised eigenvalue problem, as "
        '{result: {matrix = [["a", "b"], ["b", "c"]], t0 = 2, t_vectors = 4}}. States are fitted as '
        "RESULT_0, RESULT_1 ...",
    )
    moving: bool = Field(
        default=False,
        description="With true momenta other than zero are analysed, too, averaged over equal |n|^2, as "
        "NAME_p1, NAME_p2 ... A correlator that has no momentum zero is analysed at those that it has "
        "in any case.",
    )
    parity_partner: bool = Field(
        default=True,
        description="With true the backward part of baryons is analysed as the parity partner where the "
        "signal allows it.",
    )
    weights: Literal["auto", "correlated", "shrinkage", "svd", "uncorrelated"] = Field(
        default="auto",
        description="The fits have this weight matrix. With auto it is correlated where the configurations "
        "suffice; else the weights are uncorrelated, and errors and p-values keep the correlations.",
    )
    max_states: int = Field(default=2, ge=1, le=3, description="A fit has at most so many states.")
    t_min_first: int = Field(default=1, ge=0, description="This t_min is tried first.")
    t_min_last: int | None = Field(
        default=None, ge=0, description="This t_min is tried last. The default is as late as possible."
    )
    t_max: int | None = Field(
        default=None,
        ge=1,
        description="Every fit ends at this time slice. The default follows from the noise.",
    )
    noise_limit: float = Field(
        default=0.3,
        gt=0,
        description="By default fits end where the relative error of the correlator exceeds this.",
    )
    gap_prior: GapPrior = Field(
        default=(0.6, 0.8),
        description="The energy gaps have a log-normal prior with this centre, in lattice units, and this "
        "width of the logarithm.",
    )
    amplitude_ratio_prior: RatioPrior = Field(
        default=(1.0, 4.0),
        description="A_n / A_0 of the excited states have a normal prior with this centre and width.",
    )
    autocorrelation: Literal["auto", "gamma", "none"] = Field(
        default="auto",
        description="With auto the Gamma-method error is taken where tau_int - error > 1/2, with gamma "
        "always, with none never.",
    )
    first_trajectory: int | None = Field(
        default=None,
        description="Configurations and trajectories before this number are left out (thermalisation).",
    )
    lalibe_smearing: str | None = Field(
        default=None, description='This one of several is taken in files of lalibe\'s layout: "PS", "SS", ...'
    )
    lalibe_configuration: str | None = Field(
        default=None,
        description="This regular expression has one group, which finds the configuration's number in "
        'FOLDER/NAME of files of lalibe\'s layout, as "_a_([0-9]+)_" does. By default it is the number that '
        "differs between files.",
    )
    stream: str | None = Field(
        default=None,
        description="This regular expression has one group, which finds the name of the stream in "
        "the path of "
        'a file, as "/stream_([a-z])/" does, where an ensemble has several streams. Streams may have '
        "the same "
        "numbers of configurations. By default a file says itself which streams it has (/streams), or there "
        "is one.",
    )
    foreign: ForeignOptions | None = Field(
        default=None,
        description="The files are those of another program, in this format. By default they are "
        "files of Trellis, or "
        "of lalibe, which are told by their content.",
    )
    ratios: list[Annotated[tuple[str, str], Field(strict=False)]] = Field(
        default=[("pion", "rho"), ("nucleon", "rho")],
        description="These ratios of masses are formed where both masses exist.",
    )
    charges: ChargeOptions = Field(
        default_factory=ChargeOptions, description="Nucleon charges come from Feynman-Hellmann correlators."
    )
    scale: ScaleOptions | None = Field(
        default=None,
        description='Masses are given in MeV, too, by this scale, as {quantity = "w0", fm = [0.1736, '
        "0.0009], "
        "lattice_units = [1.80, 0.01]}.",
    )
    export: list[Literal["pyerrors", "gvar", "csv", "hdf5"]] = Field(
        default_factory=list,
        description="The masses are written in these formats, too, beside results.json: "
        "masses.json.gz, masses.gvar, "
        "masses.csv and results.h5.",
    )
    bin_size: int = Field(
        default=1, ge=1, description="A bin has so many configurations; 1 means no binning."
    )
    jackknife: bool = Field(
        default=False, description="With true the best fit is repeated on the jackknife samples, as a check."
    )
    minimum_configurations: int = Field(
        default=5, ge=5, description="Fewer configurations than this are refused."
    )
    seed: int = Field(
        default=1, ge=0, description="The Monte Carlo p-values and the svd diagnosis depend on this seed."
    )
