"""Iteration counts of solves are given by name, or read from a past run. The model never invents them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from ...ground.errors import BadArgument, FileError


@dataclass(frozen=True)
class IterationCounts:
    """These are the iterations of a solve, by the name of a flavour or monomial; "" is for all others.

    Attributes
    ----------
    of_a_solve
        Iterations of one solve.
    of_a_trajectory
        Iterations of all solves of a trajectory, from a past run; they come first.
    origin
        Words that say where they come from.
    """

    of_a_solve: Mapping[str, float]
    of_a_trajectory: Mapping[str, float]
    origin: str

    def each(self, name: str, solves: float = 1.0) -> float:
        """Return the iterations of one solve of so many in a trajectory.

        Raises
        ------
        BadArgument
            They are not known.
        """
        if name in self.of_a_trajectory:
            return self.of_a_trajectory[name] / solves
        for key in (name, name.split(".")[0], ""):
            if key in self.of_a_solve:
                return self.of_a_solve[key]
        raise BadArgument(
            f"iterations of the solves of {name!r} are not known: give --iterations {name}=N of a past run, "
            "or --past with its folder; the model invents none"
        )


def parse_iterations(text: str | None) -> IterationCounts:
    """Return the counts of "300" or "light=300,strange=80".

    Raises
    ------
    BadArgument
        The text is neither.
    """
    found: dict[str, float] = {}
    for part in (text or "").split(","):
        name, _, number = part.rpartition("=")
        if not part.strip():
            continue
        try:
            found[name.strip()] = float(number)
        except ValueError:
            raise BadArgument(f"--iterations: expected N or NAME=N, found {part!r}") from None
        if found[name.strip()] <= 0:
            raise BadArgument(f"--iterations: expected a number above 0, found {part!r}")
    return IterationCounts(found, {}, "given" if found else "none")


def read_iterations(path: Path | str) -> IterationCounts:
    """Read the counts of a past run: stream.h5 of trellis generate, or correlators.NNNNNN.h5 of measure.

    A stream gives the mean over the last half of its trajectories.

    Raises
    ------
    FileError
        The file cannot be read, or has no iterations.
    """
    path = Path(path)
    if path.is_dir():
        candidates = [path / "stream.h5", *sorted(path.glob("correlators.*.h5"))]
        path = next((one for one in candidates if one.is_file()), candidates[0])
    try:
        with h5py.File(path, "r") as file:
            found: dict[str, list[float]] = {}
            file.visititems(lambda name, item: _collect(name, item, found))
    except OSError as error:
        reason = "there is no such file" if not path.exists() else "it is no HDF5 file"
        raise FileError(
            f"{path}: cannot be read: {reason}; expected stream.h5 of trellis generate, "
            "correlators.NNNNNN.h5 of trellis measure, or their folder"
        ) from error
    if not found:
        raise FileError(f"{path}: expected iterations of solves of a past run, found none")
    means = {name: float(np.mean(values)) for name, values in found.items()}
    if path.name.startswith("stream"):
        return IterationCounts({}, means, str(path))
    return IterationCounts(means, {}, str(path))


def both(given: IterationCounts, past: IterationCounts | None) -> IterationCounts:
    """Return the counts that were given, with those of a past run for what was not."""
    if past is None:
        return given
    own = given.of_a_solve
    is_all = "" in own  # a number without a name is that of all solves
    return IterationCounts(
        dict(own) if is_all else {**past.of_a_solve, **own},
        {} if is_all else {name: value for name, value in past.of_a_trajectory.items() if name not in own},
        f"{given.origin}, {past.origin}" if own else past.origin,
    )


def _collect(name: str, item: object, found: dict[str, list[float]]) -> None:
    last = name.rsplit("/", 1)[-1]
    if not isinstance(item, h5py.Dataset) or not last.startswith("iterations"):
        return
    values = np.atleast_1d(np.asarray(item[()], dtype=float)).ravel()
    half = values[len(values) // 2 :]
    if len(half) and np.isfinite(half).all():
        found.setdefault(last.removeprefix("iterations").lstrip("."), []).extend(half.tolist())
