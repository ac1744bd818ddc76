"""This module has propagators in files of `trellis measure`: what [output] stores, and
[stored_propagators]."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from .common import Table


class MeasureOutputTable(Table):
    """The table [output] says where the run writes, and which propagators it stores."""

    directory: str = Field(
        min_length=1,
        description="This folder gets correlators.NNNNNN.h5. It is relative to the folder that the command "
        "is started in.",
    )
    propagators: bool = Field(
        default=False,
        description="With true the propagators are saved, too (propagator.NNNNNN.I.h5, where I is the "
        "number of the source).",
    )
    propagator_format: Literal["hdf5", "lime"] = Field(
        default="hdf5",
        description="Propagators are saved in this format. lime stands for SciDAC files as Chroma's are, "
        "propagator.NNNNNN.I.lime, with midpoints of domain walls in propagator.NNNNNN.I.midpoint.lime.",
    )
    propagator_bits: Literal[32, 64] = Field(
        default=64, description="Propagators are saved in single (32) or double (64) precision."
    )


class StoredPropagatorsTable(Table):
    """The table [stored_propagators] names propagators that an earlier run saved, instead of solves."""

    directory: str = Field(
        min_length=1,
        description="This is output.directory of that run, which had output.propagators = true.",
    )
    use: Literal["solution", "guess"] = Field(
        default="solution",
        description="A solution is not solved for again: operator, links, source, place and configuration "
        "have to be those of this run, and the tolerance no larger. A guess is where solves of Wilson-type "
        "quarks start: the operator may be another one, and the file one of another program.",
    )
    missing: Literal["error", "solve"] = Field(
        default="error",
        description="Where there is no file, the run ends with an error, or solves. Files that do not "
        "match, or are damaged, always end it.",
    )
