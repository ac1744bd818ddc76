"""A roofline has points of kernels under the peak and the bandwidths of the machine (doc/roofline.md).

The form is that of S. Williams, A. Waterman and D. Patterson, Communications of the ACM 52 (2009) 65.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from .style import COLOURS, INK, MARKERS

#: This many points have an entry of their own in the legend.
_MOST_NAMED = 28
#: The axis has these ends, in flops per byte.
_LEAST, _MOST = 0.05, 100.0


@dataclass(frozen=True)
class RooflinePoint:
    """This is a kernel, or a group of runs of one.

    Attributes
    ----------
    name
        The legend has it.
    intensity
        Flops per must-move byte.
    gflops
        10^9 flops per second that were reached.
    """

    name: str
    intensity: float
    gflops: float


def points_of_bench(results: Sequence[Mapping[str, object]]) -> list[RooflinePoint]:
    """Return the points of the results of a benchmark (`trellis bench WHAT --json`).

    Results without flops, as copies are, have no place in a roofline and are left out.
    """
    found = []
    for result in results:
        flops, moved, speed = (_number(result.get(key)) for key in ("flops", "bytes", "gflops"))
        if flops > 0 and moved > 0 and speed > 0:
            lattice = result.get("lattice")
            words = [str(result.get("kernel", "")), str(result.get("precision", ""))]
            words += [f"{result['link_reals']} reals"] if result.get("link_reals") else []
            words += [f"{result['rhs']} rhs"] if _number(result.get("rhs")) > 1 else []
            words += ["x".join(map(str, lattice))] if isinstance(lattice, list) else []
            found.append(RooflinePoint(" ".join(words), flops / moved, speed))
    return found


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and np.isfinite(value) else 0.0


def ceilings_of_bench(
    results: Sequence[Mapping[str, object]],
) -> tuple[dict[str, float], dict[str, float]]:
    """Return peaks by precision and bandwidths by lattice, as a benchmark measured them."""
    peaks: dict[str, float] = {}
    bandwidths: dict[str, float] = {}
    for result in results:
        peak, read = (_number(result.get(k)) for k in ("peak_gflops", "read_bandwidth_gbytes_per_second"))
        lattice = result.get("lattice")
        if peak > 0:
            name = "double" if result.get("precision") == "double" else "float"
            peaks[name] = max(peaks.get(name, 0.0), peak)
        if read > 0 and isinstance(lattice, list):
            name = f"read, {'x'.join(map(str, lattice))}"
            bandwidths[name] = max(bandwidths.get(name, 0.0), read)
    return peaks, bandwidths


def roofline(
    peaks: Mapping[str, float], bandwidths: Mapping[str, float], points: Sequence[RooflinePoint], title: str
) -> Figure:
    """Draw points under the roofs of the machine.

    Parameters
    ----------
    peaks
        Name -> 10^9 flops per second.
    bandwidths
        Name -> 10^9 bytes per second.
    points
        May be none: the machine alone.
    """
    figure = Figure(figsize=(9.2, 5.0))
    axes = figure.subplots()
    intensity = np.geomspace(_LEAST, _MOST, 200)
    highest = max(peaks.values())
    for k, (name, bandwidth) in enumerate(sorted(bandwidths.items(), key=lambda item: -item[1])):
        roof = np.minimum(bandwidth * intensity, highest)
        grey = str(0.15 + 0.55 * k / max(len(bandwidths), 1))
        axes.plot(intensity, roof, color=grey, lw=1.3, label=f"{name}: {bandwidth:.3g} GB/s")
    for k, (name, peak) in enumerate(sorted(peaks.items(), key=lambda item: item[1])):
        axes.axhline(peak, color=INK, lw=1.0, ls=("--", ":")[k % 2], label=f"peak, {name}: {peak:.3g} GF/s")
    for k, point in enumerate(points):
        marker, colour = MARKERS[k // len(COLOURS) % len(MARKERS)], COLOURS[k % len(COLOURS)]
        text = point.name if k < _MOST_NAMED else None
        axes.plot(
            [point.intensity],
            [point.gflops],
            ls="",
            marker=marker,
            color=colour,
            mfc="white",
            mew=1.2,
            label=text,
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(_LEAST, _MOST)
    lowest = min([min(bandwidths.values(), default=highest) * _LEAST, *(p.gflops for p in points)])
    axes.set_ylim(0.5 * lowest, 2 * highest)
    axes.set_xlabel("flops per must-move byte")
    axes.set_ylabel("$10^9$ flops per second")
    axes.set_title(title)
    if len(points) > _MOST_NAMED:
        axes.plot([], [], ls="", label=f"and {len(points) - _MOST_NAMED} more")
    figure.legend(loc="outside right upper", fontsize=7.5)
    return figure
