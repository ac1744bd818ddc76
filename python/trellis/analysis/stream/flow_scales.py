"""An ensemble gets t0 and w0 with errors from the files of `trellis measure`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyerrors as pe
from numpy.typing import NDArray

from ...ground.scale_setting import reference_time, w0_scale
from ..readers.hdf5_files import open_hdf5
from ..readers.root_attributes import numbers_of
from ..statistics.autocorrelation import gamma_method, observable_of

_Scale = Callable[[NDArray, NDArray, float], float]


def _gradient(function: Callable[[NDArray], np.float64], at: NDArray) -> list[float]:
    """Return central differences with steps of 1e-5 of each value."""
    gradient = []
    for i, value in enumerate(at):
        step = np.zeros_like(at)
        step[i] = 1e-5 * abs(value)
        up, down = function(at + step), function(at - step)
        gradient.append(float((up - down) / (2 * step[i])) if step[i] > 0 else 0.0)
    return gradient


@dataclass(frozen=True)
class FlowScales:
    """These are t0 / a^2, sqrt(8 t0) / a and w0 / a with errors (Gamma method), and their configurations.

    `dvalue` of each is its error, which is right for irregular configuration numbers too. Quantities that are
    derived from them have to go through :func:`trellis.analysis.autocorrelation.gamma_method`: the method of
    pyerrors assumes that all configurations have every separation.
    """

    t0: pe.Obs
    sqrt_8t0: pe.Obs
    w0: pe.Obs
    configurations: list[int]


def ensemble_scales(
    files: Sequence[str | Path], *, target: float = 0.3, name: str = "ensemble"
) -> FlowScales:
    """Return t0 and w0 of the files that `trellis measure` wrote for a run with a table [flow].

    Parameters
    ----------
    files
        One file per configuration, in any order.
    target
        The value that t^2 E and t d/dt (t^2 E) reach.
    name
        The name of the ensemble, for pyerrors.

    Returns
    -------
    FlowScales
        Errors by the Gamma method from the mean E(t), autocorrelation included.

    Raises
    ------
    ValueError
        A file has no flow, flow times differ, a configuration comes twice, or the flow does not reach the
        target.
    MeasurementFileError
        The numbers of a file are not those that were written.
    """
    times: NDArray | None = None
    found: dict[int, NDArray] = {}
    for path in files:
        with open_hdf5(path) as file:
            if "flow" not in file:
                raise ValueError(f"{path}: no group 'flow'; was it measured with a table [flow]?")
            own = numbers_of(Path(path), file["flow/time"])
            if times is not None and not np.array_equal(own, times):
                raise ValueError(f"{path}: other flow times than in {files[0]}")
            times = own
            number = int(numbers_of(Path(path), file["configurations"])[0])
            if number in found:
                raise ValueError(f"{path}: configuration {number} a second time")
            found[number] = numbers_of(Path(path), file["flow/energy_clover"])[0]
    if times is None:
        raise ValueError("no files")
    numbers = sorted(found)
    scales = scales_of(times, numbers, np.array([found[n] for n in numbers]), target=target, name=name)
    reached: dict[str, pe.Obs] = {}
    for text, observable in scales.items():
        if observable is None:
            raise ValueError(f"the flow ends at t = {times[-1]:g}, before {text} is reached")
        reached[text] = observable
    t0, w0 = reached["t0"], reached["w0"]
    root = (8 * t0) ** 0.5
    for text, observable in (("t0", t0), ("w0", w0), ("sqrt(8 t0)", root)):
        gamma_method(text, observable)
    return FlowScales(t0, root, w0, numbers)


def scales_of(
    times: NDArray,
    numbers: Sequence[int] | NDArray,
    energies: NDArray,
    *,
    target: float = 0.3,
    name: str = "ensemble",
) -> dict[str, pe.Obs | None]:
    """Return t0 / a^2 and w0 / a from E(t) of an ensemble; None where the mean does not reach the target.

    Parameters
    ----------
    times
        Flow times, at least five.
    numbers
        The numbers of the configurations, ascending.
    energies
        float, shape [configuration, time].
    """
    observables = [observable_of(energies[:, i], np.asarray(numbers), name) for i in range(len(times))]
    mean = energies.mean(axis=0)
    scales: dict[str, pe.Obs | None] = {}
    for text, scale in (("t0", reference_time), ("w0", w0_scale)):
        scales[text] = None
        if not np.isfinite(scale(times, mean, target)):
            continue

        def of_mean(values: NDArray, scale: _Scale = scale, **_: object) -> np.float64:
            return np.float64(scale(times, values, target))

        scales[text] = pe.derived_observable(of_mean, observables, man_grad=_gradient(of_mean, mean))
    return scales
