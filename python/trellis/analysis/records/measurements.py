"""These records hold the data that the readers find in the files of a set of configurations."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass
class CorrelatorData:
    """This is one correlator on all configurations, averaged over the sources of each.

    Attributes
    ----------
    values
        complex128, shape [configuration, momentum, time]; time counts from the source.
    momenta
        int, shape [momentum, 3].
    source_counts
        Sources per configuration, shape [configuration].
    attributes
        The attributes of the dataset (type, particle, source, sink, boundary_t, ...).
    """

    name: str
    values: NDArray
    momenta: NDArray
    source_counts: NDArray
    attributes: dict


@dataclass
class ObservableSeries:
    """This is a number per trajectory, for the time series and the autocorrelation."""

    name: str
    trajectories: NDArray
    values: NDArray


@dataclass
class ArraySeries:
    """This is an array per trajectory, values[trajectory, ...]; axis says what the second
    index stands for, or None.
    """

    name: str
    trajectories: NDArray
    values: NDArray
    axis: NDArray | None = None


@dataclass
class InputFile:
    """This is one file that was read: its place, checksum and root attributes."""

    path: str
    kind: str
    bytes: int
    sha256: str
    configurations: int
    attributes: dict


@dataclass
class Measurements:
    """This is all that was read.

    Attributes
    ----------
    lattice
        (Lx, Ly, Lz, Lt).
    configurations
        Trajectory numbers, ascending, shape [configuration].
    correlators, observables
        They go by name. Noise vectors of a stream's traces are averaged in `observables`.
    arrays
        On-line measurements that are arrays: noise vectors, flows, Wilson loops.
    work
        PART.flops, PART.bytes and PART.roof_seconds of a stream's trajectories (`ensemble.Stream`); NaN where
        they were not recorded.
    solves
        Solver records: column name -> list of arrays [source] per configuration, plus "solver": text.
    notes, warnings
        A reader may want to know the notes, and has to know the warnings.
    thermalisation
        The series of streams that have nothing else yet: they are shown, and no means are formed.
    """

    lattice: tuple[int, int, int, int] | None = None
    beta: float | None = None
    conventions_version: str | None = None
    configurations: NDArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    correlators: dict[str, CorrelatorData] = field(default_factory=dict)
    observables: dict[str, ObservableSeries] = field(default_factory=dict)
    arrays: dict[str, ArraySeries] = field(default_factory=dict)
    work: dict[str, ObservableSeries] = field(default_factory=dict)
    solves: dict = field(default_factory=dict)
    run_files: list[str] = field(default_factory=list)
    files: list[InputFile] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    thermalisation: Measurements | None = None
