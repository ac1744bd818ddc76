"""This module has the report of a chain: a line for each trajectory, and the share of time of each kind of
work."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any

from ..evolve.ensemble import Stream
from ..ground.machine import roof_gflops

#: This explains the roof, and a share above one.
ABOVE_THE_ROOF = (
    "roof: what the peak in the precision of the part's fields and reads of as many bytes as the run's "
    "fields allow; above 100 %: float inside a solve, or fields that stay in a nearer cache"
)


def describe_trajectory(number: int, record: dict[str, Any], stream: Stream, seconds: float) -> str:
    """Return one line: plaquette, dH, the verdict, forces and iterations of each monomial, seconds."""
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


def largest_change(record: dict[str, Any]) -> str:
    """Return the action that changes most along a trajectory, and how much the kinetic energy does.

    In a large dH each of them may be far larger than what is left of their sum.
    """
    changes = {m["name"]: m["action_after"] - m["action_before"] for m in record["monomials"]}
    name = max(changes, key=lambda name: abs(changes[name]))
    kinetic = record["kinetic_after"] - record["kinetic_before"]
    return (
        f"of all actions that of {name!r} changes most, by {changes[name]:+.3g}; the kinetic energy by "
        f"{kinetic:+.3g}"
    )


@dataclass(frozen=True)
class Part:
    """This is a kind of work: seconds taken, flops and bytes of all ranks, and the least seconds it could
    take."""

    seconds: float = 0.0
    flops: float = 0.0
    bytes: float = 0.0
    roof_seconds: float = 0.0

    @classmethod
    def of(cls, counted: dict[str, float], fields: int, precision: str) -> Part:
        """Compare the work of one trajectory with the roof of this machine. Collective.

        Parameters
        ----------
        counted
            seconds, flops, bytes.
        fields
            Bytes of the run's fields on all ranks; they decide from which level of memory they come.
        precision
            "double" or "single", the precision of the part's fields; it decides which peak is the roof.
        """
        flops, moved = counted["flops"], counted["bytes"]
        roof = flops / (1e9 * roof_gflops(flops, moved, fields, precision)) if flops > 0 else 0.0
        return cls(counted["seconds"], flops, moved, roof)

    def __add__(self, other: Part) -> Part:
        return Part(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def rates(self) -> dict[str, float]:
        """Return gflops, gbytes_per_second (10^9 a second) and fraction_of_roof; it is empty where no time
        was taken."""
        if self.seconds <= 0:
            return {}
        return {
            "gflops": self.flops / self.seconds * 1e-9,
            "gbytes_per_second": self.bytes / self.seconds * 1e-9,
            "fraction_of_roof": self.roof_seconds / self.seconds,
        }


def describe_parts(parts: dict[str, Part], seconds: float, made: int) -> list[str]:
    """Return a table: seconds a trajectory, share, GF/s, GB/s, and the share of what memory and peak allow.

    Parameters
    ----------
    parts
        Each kind of work has one, summed over the trajectories.
    seconds
        All trajectories together took so many.
    made
        Trajectories.
    """
    lines = [f"{'part':14s} {'s/trajectory':>12s} {'share':>7s} {'GF/s':>8s} {'GB/s':>8s} {'roof':>7s}"]
    spent = {name: part for name, part in parts.items() if part.seconds > 0}
    for name, part in sorted(spent.items(), key=lambda item: -item[1].seconds):
        line = f"{name:14s} {part.seconds / made:12.4f} {100 * part.seconds / seconds:6.1f}%"
        if part.flops > 0:
            rates = part.rates()
            line += f" {rates['gflops']:8.1f} {rates['gbytes_per_second']:8.1f}"
            line += f" {100 * rates['fraction_of_roof']:6.0f}%"
        lines.append(line)
    rest = max(seconds - sum(part.seconds for part in parts.values()), 0.0)
    lines.append(f"{'other':14s} {rest / made:12.4f} {100 * rest / seconds:6.1f}%")
    if any(part.roof_seconds > part.seconds for part in spent.values()):
        lines.append(ABOVE_THE_ROOF)
    return lines
