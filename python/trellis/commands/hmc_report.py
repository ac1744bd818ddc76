"""What a chain prints: a line for each trajectory, and where the time went."""

from __future__ import annotations

from typing import Any

from ..core import load
from ..ensemble import Stream
from ..machine import fma_peak, read_bandwidth

#: Buffer that no cache holds, in megabytes.
_MEMORY_BUFFER = 512


def describe_trajectory(number: int, record: dict[str, Any], stream: Stream, seconds: float) -> str:
    """One line: plaquette, dH, the verdict, forces and iterations of each monomial, seconds."""
    verdict = "accepted" if record["is_accepted"] else "rejected"
    parts = [
        f"{number:6d}  plaquette {stream.values['plaquette'][-1]:.6f}  dH {record['dH']:+.4f}  {verdict}"
    ]
    for monomial in record["monomials"]:
        text = f"{monomial['name']} F {monomial['force_mean']:.3g}"
        if monomial["iterations"]:
            text += f" ({monomial['iterations']} iterations)"
        parts.append(text)
    parts.append(f"{seconds:.2f} s")
    return "  ".join(parts)


def describe_parts(parts: dict[str, dict[str, float]], seconds: float, made: int) -> list[str]:
    """A table: seconds a trajectory, share, GF/s, GB/s, and the share of what memory and peak allow.

    Parameters
    ----------
    parts
        seconds, flops and bytes (of all ranks) by kind of work, summed over the trajectories.
    seconds
        In trajectories, all together.
    made
        Trajectories.
    """
    ranks = load().size()
    bandwidth, peak = read_bandwidth(_MEMORY_BUFFER) * ranks, fma_peak("double") * ranks
    lines = [f"{'part':14s} {'s/trajectory':>12s} {'share':>7s} {'GF/s':>8s} {'GB/s':>8s} {'roof':>7s}"]
    rest, highest = seconds, 0.0
    for name, part in sorted(parts.items(), key=lambda item: -item[1]["seconds"]):
        spent = part["seconds"]
        if spent <= 0:
            continue
        rest -= spent
        line = f"{name:14s} {spent / made:12.4f} {100 * spent / seconds:6.1f}%"
        if part["flops"] > 0 and part["bytes"] > 0:
            roof = min(peak, bandwidth * part["flops"] / part["bytes"])
            line += f" {part['flops'] / spent * 1e-9:8.1f} {part['bytes'] / spent * 1e-9:8.1f}"
            share = part["flops"] / spent / roof
            line += f" {100 * share:6.0f}%"
            highest = max(highest, share)
        lines.append(line)
    lines.append(f"{'other':14s} {max(rest, 0) / made:12.4f} {100 * max(rest, 0) / seconds:6.1f}%")
    if highest > 1:
        lines.append(
            "roof: what memory and peak allow, measured now; above 100 %: fields that stay in a cache"
        )
    return lines
