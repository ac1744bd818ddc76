"""Pictures and lists of a stream of `trellis generate` are made from its data and its newest states."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import alarms
from .stream_data import StreamData
from .view_model import Curve, Listing, Picture

#: A running mean of the acceptance has this many trajectories.
_OF_ACCEPTANCE = 20


def charge_of(data: StreamData) -> tuple[NDArray, NDArray] | None:
    """Return numbers and charges at the largest flow time, if the stream has them."""
    for name in ("flow_charge_improved", "flow_charge_clover"):
        if name in data.occasional:
            numbers, values = data.occasional[name]
            return (numbers, values[:, -1]) if values.ndim == 2 else (numbers, values)
    return None


def pictures_of(data: StreamData) -> list[Picture]:
    """Return the pictures of all series that the stream has."""
    numbers, values = data.numbers, data.values
    found = []

    def add(title: str, names: dict[str, str], **look: Any) -> None:
        curves = [Curve.of(shown, numbers, values[name]) for name, shown in names.items() if name in values]
        if any(curve.x for curve in curves):
            found.append(Picture(title, curves, **look))

    def of(prefix: str) -> dict[str, str]:
        return {name: name.removeprefix(prefix) for name in values if name.startswith(prefix)}

    add("Plaquette", {"plaquette": "plaquette"})
    add("dH", {"dH": "dH"}, level=0.0, marks=True)
    add("exp(-dH)", {"exp_minus_dH": "exp(-dH)"}, level=1.0, marks=True)
    if "accepted" in values and (numbers > data.thermalisation).any():
        tested = numbers > data.thermalisation
        accepted = values["accepted"][tested]
        means = [
            float(np.mean(accepted[max(0, k - _OF_ACCEPTANCE + 1) : k + 1])) for k in range(len(accepted))
        ]
        curve = Curve.of("accepted", numbers[tested], means)
        found.append(Picture(f"Acceptance, mean of {_OF_ACCEPTANCE}", [curve]))
    add("Mean force", of("force."), is_logarithmic=True)
    add("Largest force", of("force_largest."), is_logarithmic=True)
    iterations = {name: shown for name, shown in of("iterations.").items() if np.any(values[name] > 0)}
    add("Solver iterations", iterations)
    add("|Polyakov loop|", {"polyakov_loop": "|P|"})
    charge = charge_of(data)
    if charge is not None and len(charge[0]):
        curve = Curve.of("Q", charge[0], charge[1])
        found.append(Picture("Topological charge", [curve], marks=True, level=0.0))
    add("Seconds of a trajectory", {"seconds": "seconds"})
    return found


def monomials_of(data: StreamData) -> list[Listing]:
    """Return forces and iterations of the last trajectory."""
    names = [name.removeprefix("force.") for name in data.values if name.startswith("force.")]
    if not names:
        return []
    rows = []
    for name in names:
        row = [name]
        for prefix in ("force.", "force_largest.", "iterations."):
            values = data.values.get(prefix + name)
            row.append("–" if values is None or not len(values) else f"{values[-1]:.4g}")
        rows.append(row)
    return [Listing("Monomials in the last trajectory", ["monomial", "force", "largest", "iterations"], rows)]


def parts_of(data: StreamData) -> list[Listing]:
    """Return the time by part over the newest trajectories."""
    whole = data.values.get("seconds")
    parts = {n.removeprefix("seconds."): v for n, v in data.values.items() if n.startswith("seconds.")}
    if whole is None or not parts or not len(whole):
        return []
    last = slice(-alarms.LOOK_BACK, None)
    total = float(np.nansum(whole[last]))
    count = len(whole[last])
    rows = []
    with contextlib.suppress(ZeroDivisionError):
        seconds = {name: float(np.nansum(values[last])) for name, values in parts.items()}
        seconds["other"] = max(total - sum(seconds.values()), 0.0)
        for name, spent in sorted(seconds.items(), key=lambda item: -item[1]):
            if spent > 0:
                rows.append([name.replace("_", " "), f"{spent / count:.3g}", f"{100 * spent / total:.1f} %"])
    return [Listing(f"Time by part, mean of the last {count}", ["part", "seconds", "share"], rows)]


def intervals_of(records: Sequence[tuple[int, dict[str, Any], Path]]) -> list[Listing]:
    """Return the intervals of the rational functions, as the newest state has them."""
    known = [(number, record["intervals"]) for number, record, _ in records if record.get("intervals")]
    if not known:
        return []
    number, newest = known[-1]
    rows = [
        [
            name,
            f"{interval['low']:.4g}",
            f"{interval['high']:.4g}",
            f"{interval['high'] / interval['low']:.3g}",
        ]
        for name, interval in newest.items()
        if interval["low"] > 0
    ]
    title = f"Spectral intervals of the rational functions, state {number}"
    return [Listing(title, ["flavour", "low", "high", "high / low"], rows)] if rows else []
