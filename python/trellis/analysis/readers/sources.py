"""Times count from the source here, and a configuration gets the mean over its sources."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..records.errors import AnalysisError


def from_the_source(name: str, rows: NDArray, source_times: ArrayLike, type: str, boundary_t: str) -> NDArray:
    """Return C(t + t_source), t = 0 ... T - 1.

    A baryon of antiperiodic quarks has crossed the boundary where t + t_source >= T: it takes a minus sign
    there. Mesons have none, for they have a quark and an antiquark.

    Parameters
    ----------
    rows
        Shape [row, source, time], times of the lattice.
    source_times
        One number, or one for each row, source, or row and source.

    Raises
    ------
    AnalysisError
        Times lie beyond the lattice, a shape does not fit, or nothing can be shifted over the boundary.
    """
    count, sources, extent = rows.shape
    times = np.asarray(source_times)
    if times.dtype.kind not in "iu" or np.any(times < 0) or np.any(times >= extent):
        raise AnalysisError(
            f"{name}: source_times: expected whole numbers from 0 to {extent - 1}, found {times.tolist()}"
        )
    if times.shape == (count,) and sources == 1:
        times = times[:, np.newaxis]
    if times.shape not in ((), (sources,), (count, 1), (count, sources)):
        raise AnalysisError(
            f"{name}: source_times: expected one number, one for each of {sources} sources, or the shape "
            f"[{count}, {sources}], found the shape {times.shape}"
        )
    if boundary_t not in ("periodic", "antiperiodic") and np.any(times != 0):
        raise AnalysisError(
            f"{name}: source_times: expected periodic or antiperiodic quarks, for others cannot be shifted "
            f"over the boundary, found {boundary_t!r}"
        )
    places = np.broadcast_to(times, (count, sources))[:, :, np.newaxis] + np.arange(extent)
    shifted = np.take_along_axis(rows, places % extent, axis=2)
    if type == "baryon" and boundary_t == "antiperiodic":
        shifted = np.where(places >= extent, -shifted, shifted)
    return shifted


def averaged_sources(rows: NDArray, numbers: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """Return numbers of the configurations, ascending, the mean over their sources, and how many these are.

    Parameters
    ----------
    rows
        Shape [row, source, time].
    numbers
        Number of the configuration of each row; rows with the same number are sources of one configuration.

    Returns
    -------
    numbers, values, source_counts
        Shapes [configuration], [configuration, time], [configuration].
    """
    found, place, count = np.unique(numbers, return_inverse=True, return_counts=True)
    means = rows.mean(axis=1)
    total = np.zeros((len(found), rows.shape[2]), dtype=rows.dtype)
    np.add.at(total, place, means)
    return found, total / count[:, np.newaxis], count * rows.shape[1]
