"""This module has records of on-line measurements: gradient flow, Wilson loops, derived numbers."""

from __future__ import annotations

from pydantic import Field

from .record import Record, Series, format_error


class ValueRecord(Record):
    """This is a number with its Gamma-method error; tau_int is that of its
    fluctuations, 1/2 if independent.
    """

    value: float
    error: float
    tau_int: float | None = None

    @property
    def formatted(self) -> str:
        """Return "2.785(12)"."""
        return format_error(self.value, self.error)


class FlowResult(Record):
    """This is the gradient flow of a stream in lattice units.

    Attributes
    ----------
    t0, sqrt_8t0, w0
        They come from the mean E(t); None where it does not reach 0.3.
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


class LoopResult(Record):
    """These are Wilson loops by "RxT": W, Creutz ratios, and ln W(R, T) / W(R, T + 1)."""

    count: int
    loops: dict[str, ValueRecord]
    creutz: dict[str, ValueRecord]
    potential: dict[str, ValueRecord]


class StreamResult(Record):
    """These are the on-line measurements of a stream beyond the single series."""

    flow: FlowResult | None = None
    loops: LoopResult | None = None
    derived: dict[str, ValueRecord] = Field(default_factory=dict)
