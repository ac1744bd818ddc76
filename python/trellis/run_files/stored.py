"""Propagators in files of `trellis measure`: what [output] stores, and [stored_propagators]."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from .common import Table


class MeasureOutputTable(Table):
    """[output]"""

    directory: str = Field(
        min_length=1,
        description="Folder for correlators.NNNNNN.h5; relative to the folder that the command is "
        "started in.",
    )
    propagators: bool = Field(
        default=False,
        description="Save the propagators too (propagator.NNNNNN.I.h5, I the number of the source).",
    )
    propagator_format: Literal["hdf5", "lime"] = Field(
        default="hdf5",
        description="Of saved propagators; lime: SciDAC files as of Chroma, propagator.NNNNNN.I.lime, and "
        "midpoints of domain walls in propagator.NNNNNN.I.midpoint.lime.",
    )
    propagator_bits: Literal[32, 64] = Field(
        default=64, description="Single or double precision of saved propagators."
    )


class StoredPropagatorsTable(Table):
    """[stored_propagators]: propagators that an earlier run saved, instead of solves."""

    directory: str = Field(
        min_length=1,
        description="output.directory of that run, which had output.propagators = true.",
    )
    use: Literal["solution", "guess"] = Field(
        default="solution",
        description="solution: not solved again; operator, links, source, place and configuration have to be "
        "those of this run, and the tolerance no larger. guess: where solves start (of Wilson-type quarks): "
        "the operator may be another one, and the file one of another program.",
    )
    missing: Literal["error", "solve"] = Field(
        default="error",
        description="What to do where there is no file: end the run, or solve. Files that do not match, or "
        "are damaged, always end it.",
    )
