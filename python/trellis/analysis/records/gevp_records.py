"""This module has options and results of generalised eigenvalue problems."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from .record import Record, Series

_Row = Annotated[list[str], Field(min_length=2)]


class GevpOptions(BaseModel):
    """This is a matrix of correlators whose energies come from C(t) v = lambda C(t0) v."""

    model_config = ConfigDict(extra="forbid", strict=True)

    matrix: list[_Row] = Field(
        min_length=2,
        description="Rows of names of correlators: the source operator is the column, the sink the "
        "row. C_ij and "
        "C_ji may be the same correlator; they are averaged.",
    )
    t0: int = Field(default=2, ge=1, description="The eigenvalue problem is normalised at this time.")
    t_vectors: int = Field(
        default=4, ge=2, description="Correlators are projected with the vectors of this time, later than t0."
    )
    states: int | None = Field(
        default=None, ge=1, description="So many states are fitted. The default is one for each operator."
    )


class GevpState(Record):
    """This is one state: lambda and v at t_vectors, and effective energies at t + 1/2 in lattice units.

    energies are those at the fixed t0; energies_in_window are those at t0 = t / 2, rounded up.
    """

    eigenvalue: float
    vector: list[float]
    energies: Series
    energies_in_window: Series


class GevpResult(Record):
    """These are the states of one matrix; particles NAME_0, NAME_1 ... are fits of their
    projected correlators.
    """

    t0: int
    t_vectors: int
    matrix: list[list[str]]
    states: list[GevpState]
