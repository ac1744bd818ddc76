"""This module has the speed of a measurement's solves, in the three measures that papers report."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from ..ground.solve_report import SolveReport


@dataclass(frozen=True)
class Speed:
    """This is the speed of all solves together: their work over their time. None: a solve does not state its
    work.

    Attributes
    ----------
    conventional_gflops
        10^9 flops per second as papers count them (:class:`SolveReport`).
    intensity
        Flops that were done per must-move byte.
    gbytes_per_second
        10^9 must-move bytes per second.
    share_of_peak
        Conventional flops per second over the measured peak.
    """

    conventional_gflops: float | None
    intensity: float | None
    gbytes_per_second: float
    share_of_peak: float | None

    @classmethod
    def of(cls, reports: list[SolveReport]) -> Speed | None:
        """Return the speed of these solves; None if there are none."""
        seconds = sum(r.seconds for r in reports)
        if not seconds > 0:
            return None
        conventional = _sum([(r.conventional_gflops, r.seconds) for r in reports])
        peak = _sum([(r.peak_gflops, r.seconds) for r in reports])
        gbytes = sum(r.gbytes_per_second * r.seconds for r in reports)
        return cls(
            conventional_gflops=None if conventional is None else conventional / seconds,
            intensity=sum(r.gflops * r.seconds for r in reports) / gbytes if gbytes > 0 else None,
            gbytes_per_second=gbytes / seconds,
            share_of_peak=conventional / peak if conventional is not None and peak else None,
        )

    def __str__(self) -> str:
        parts = []
        if self.conventional_gflops is not None:
            peak = "" if self.share_of_peak is None else f" ({100 * self.share_of_peak:.1f} % of the peak)"
            parts.append(f"{self.conventional_gflops:.1f} GF/s as papers count{peak}")
        if self.intensity is not None:
            parts.append(f"{self.intensity:.2f} flop/byte")
        return ", ".join([*parts, f"{self.gbytes_per_second:.1f} GB/s"])


def speed_in_json(reports: list[SolveReport]) -> dict[str, float | None]:
    """Return the fields of :class:`Speed` by name."""
    speed = Speed.of(reports)
    names = list(Speed.__dataclass_fields__)
    return dict.fromkeys(names) if speed is None else asdict(speed)


def speed_columns(reports: list[SolveReport]) -> dict[str, list[float]]:
    """Return a number for each solve, by the names of :class:`Speed`; what one of them lacks is left out."""
    columns: dict[str, list[float | None]] = {
        "conventional_gflops": [r.conventional_gflops for r in reports],
        "intensity": [r.intensity for r in reports],
        "gbytes_per_second": [r.gbytes_per_second for r in reports],
        "share_of_peak": [r.share_of_peak for r in reports],
    }
    known = {name: [x for x in column if x is not None] for name, column in columns.items()}
    return {name: column for name, column in known.items() if len(column) == len(reports)}


def _sum(terms: list[tuple[float | None, float]]) -> float | None:
    """Return the sum of rate times seconds; None if a rate is None."""
    known = [rate * seconds for rate, seconds in terms if rate is not None]
    return sum(known) if len(known) == len(terms) else None
