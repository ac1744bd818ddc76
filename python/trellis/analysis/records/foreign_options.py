"""Files of other programs need options: their format, and numbers that they do not have."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field


def _regular_expression(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"expected a regular expression, found {text!r} ({error})") from None
    return text


class SfcfOptions(BaseModel):
    """These names of the correlators in files of sfcf go to pyerrors' reader."""

    model_config = ConfigDict(extra="forbid", strict=True)

    prefix: str = Field(description="Names of the folders (or files) of the streams begin like this.")
    names: list[str] = Field(min_length=1, description="These correlation functions are read: f_A, f_P ...")
    quarks: Annotated[str, AfterValidator(_regular_expression)] = Field(
        default=".*", description="The quarks, as the files name them: a regular expression."
    )
    version: Literal["0.0", "1.0", "2.0", "1.0c", "2.0c", "1.0a", "2.0a"] = Field(
        default="2.0c", description="Version of sfcf, with c for compact and a for appended."
    )
    offset: int = Field(default=0, ge=0, description="The offset of the source.")
    wave_function: int = Field(default=0, ge=0, description="The number of the wave function.")
    separator: str = Field(default="n", description="It stands before a configuration's number in names.")


class ForeignOptions(BaseModel):
    """These options give the format of the files, and what they leave open."""

    model_config = ConfigDict(extra="forbid", strict=True)

    format: Literal[
        "table", "chroma", "milc", "hadrons", "sfcf", "openqcd", "openqcd_ms4", "openqcd_ms5_xsf"
    ] = Field(description="The program that wrote the files, or a plain table of text.")
    configuration: str | None = Field(
        default=None,
        description="This regular expression has one group, which finds the configuration's number "
        "in FOLDER/NAME "
        "of files that have one configuration each (chroma, milc). By default it is the number that differs "
        "between files.",
    )
    boundary_t: Literal["periodic", "antiperiodic", "dirichlet"] = Field(
        default="antiperiodic",
        description="The boundary condition of the quarks in time. Headers of chroma say it themselves.",
    )
    source_time: int = Field(
        default=0,
        ge=0,
        description="The source's time slice, where files count times of the lattice (table, hadrons, "
        "openqcd_ms4).",
    )
    types: dict[str, Literal["meson", "baryon"]] = Field(
        default_factory=dict, description="Type of correlators, where it is not meson (table, sfcf)."
    )
    symmetry: dict[str, Literal[-1, 0, 1]] = Field(
        default_factory=dict,
        description="Symmetry in time of correlators: C(T - t) = +-C(t), or 0 for none. By default the gamma "
        "matrices tell it where the format names them, else the data.",
    )
    sfcf: SfcfOptions | None = Field(default=None, description="Names in files of sfcf.")
    spatial_extent: int | None = Field(
        default=None,
        ge=1,
        description="The lattice's spatial extent, where files do not say it. openqcd needs it, others "
        "place momenta in pictures by it.",
    )
    time_margin: int = Field(
        default=0,
        ge=0,
        description="The energy density of openQCD's flow is averaged without so many time slices at either "
        "end, where boundaries are open.",
    )
