"""The choices of an analysis: every number that a person may want to change, with its default."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from .charge_results import ChargeOptions, GapPrior, RatioPrior

_Names = Annotated[list[str], Field(min_length=1)]


class AnalysisOptions(BaseModel):
    """Options of :func:`trellis.analysis.analyze`; unknown names are refused.

    All of them are written into results.json, so that a result can be repeated.
    """

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    particles: _Names | None = Field(
        default=None, description="Particles or correlators to analyse; default: every one in the files."
    )
    averages: dict[str, _Names] | None = Field(
        default=None,
        description="Correlators to average per configuration, as {result: [names]}; default: names that "
        "differ in a trailing _x, _y, _z only and have the same quantum numbers (rho_x, rho_y, rho_z).",
    )
    simultaneous: dict[str, _Names] = Field(
        default_factory=dict,
        description="Correlators to fit together with common energies, as {result: [names]} "
        "(different smearings of one particle).",
    )
    moving: bool = Field(
        default=False,
        description="Analyse non-zero momenta too, averaged over equal |n|^2, as NAME_p1, NAME_p2 ...",
    )
    parity_partner: bool = Field(
        default=True,
        description="Analyse the backward part of baryons as the parity partner where the signal allows.",
    )
    weights: Literal["auto", "correlated", "shrinkage", "svd", "uncorrelated"] = Field(
        default="auto",
        description="Weight matrix of the fits. auto: correlated where the configurations suffice, "
        "else uncorrelated weights with errors and p-values that keep the correlations.",
    )
    max_states: int = Field(default=2, ge=1, le=3, description="Largest number of states in a fit.")
    t_min_first: int = Field(default=1, ge=0, description="First t_min that is tried.")
    t_min_last: int | None = Field(
        default=None, ge=0, description="Last t_min that is tried; default: as late as possible."
    )
    t_max: int | None = Field(
        default=None, ge=1, description="Last time slice of every fit; default: from the noise."
    )
    noise_limit: float = Field(
        default=0.3, gt=0, description="Default t_max: the relative error of the correlator stays below this."
    )
    gap_prior: GapPrior = Field(
        default=(0.6, 0.8),
        description="Log-normal prior of the energy gaps, lattice units: centre, width of the logarithm.",
    )
    amplitude_ratio_prior: RatioPrior = Field(
        default=(1.0, 4.0), description="Normal prior of A_n / A_0 of the excited states: centre, width."
    )
    autocorrelation: Literal["auto", "gamma", "none"] = Field(
        default="auto",
        description="auto: the Gamma-method error where tau_int - error > 1/2; gamma: always; none: never.",
    )
    first_trajectory: int | None = Field(
        default=None,
        description="Leave out configurations and trajectories before this number (thermalisation).",
    )
    lalibe_smearing: str | None = Field(
        default=None, description='"PS", "SS", ...: which of several in files of lalibe\'s layout.'
    )
    lalibe_configuration: str | None = Field(
        default=None,
        description="Regular expression with one group that finds the configuration's number in FOLDER/NAME "
        'of files of lalibe\'s layout, as "_a_([0-9]+)_"; default: the number that differs between files.',
    )
    ratios: list[Annotated[tuple[str, str], Field(strict=False)]] = Field(
        default=[("pion", "rho"), ("nucleon", "rho")],
        description="Mass ratios to form where both masses exist.",
    )
    charges: ChargeOptions = Field(
        default_factory=ChargeOptions, description="Nucleon charges from Feynman-Hellmann correlators."
    )
    bin_size: int = Field(default=1, ge=1, description="Configurations per bin; 1: no binning.")
    jackknife: bool = Field(
        default=False, description="Repeat the best fit on the jackknife samples, as a check."
    )
    minimum_configurations: int = Field(default=5, ge=5, description="Fewer configurations are refused.")
    seed: int = Field(
        default=1, ge=0, description="Seed of the Monte Carlo p-values and of the svd diagnosis."
    )
