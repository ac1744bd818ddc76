"""The results of glass.h5 become numbers with errors here."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ...ground.version import __version__
from ..records.uncertain_errors import FEW_SAMPLES, error_of_error
from .quantities import Estimate, equilibration, jackknife, quantities
from .reader import GlassData, read_glass

#: A warning names differences of the equilibration test that are larger than this many errors.
_MOST_SIGMA = 3.0


@dataclass(frozen=True)
class GlassResults:
    """These are the results of one spin glass.

    Attributes
    ----------
    temperatures
        They are in units of J and ascend.
    quantities
        Each name has an estimate of each temperature, from the last bin of time; None
        where there is no number.
    by_bin
        Each name has the same in every bin, [bin][temperature].
    first_steps
        The first step of each bin.
    equilibration
        [bin][temperature]: both sides of the identity of Gaussian couplings, difference; empty for others.
    exchange_acceptance
        The share of accepted exchanges of each temperature with the next.
    warnings
        They say what is wrong with the numbers.
    """

    file: str
    lattice: tuple[int, ...]
    couplings: str
    replicas: int
    samples: int
    step: int
    seed: int
    temperatures: tuple[float, ...]
    quantities: dict[str, list[Estimate | None]]
    by_bin: dict[str, list[list[Estimate | None]]]
    first_steps: list[int]
    equilibration: list[list[Estimate | None]]
    exchange_acceptance: list[float | None]
    round_trips: int
    warnings: list[str]

    def to_json(self) -> dict[str, Any]:
        """Return the content of results.json."""
        return {"kind": "spin_glass", "trellis_version": __version__, **asdict(self)}

    def to_text(self) -> str:
        """Return results.json."""
        return json.dumps(self.to_json(), indent=2, allow_nan=False) + "\n"


def analyze_glass(path: Path | str) -> GlassResults:
    """Return the results of a run of `trellis glass`.

    Raises
    ------
    MeasurementFileError
        The file is not what `trellis glass` writes, or has no measurement yet.
    """
    data = read_glass(path)
    temperatures = [float(t) for t in data.temperatures]
    by_bin: dict[str, list[list[Estimate | None]]] = {}
    tests: list[list[Estimate | None]] = []
    has_test = data.couplings == "gaussian" and data.replicas > 1
    for bin in range(len(data.counts)):
        rows: dict[str, list[Estimate | None]] = {}
        test: list[Estimate | None] = []
        for t, temperature in enumerate(temperatures):
            means = {name: values[bin, :, t] for name, values in data.bins.items()}
            for name, function in quantities(data.lattice, temperature, data.replicas).items():
                rows.setdefault(name, []).append(jackknife(means, function))
            if has_test:
                test.append(jackknife(means, equilibration(data.lattice, temperature)))
        for name, row in rows.items():
            by_bin.setdefault(name, []).append(row)
        if has_test:
            tests.append(test)
    return GlassResults(
        file=str(data.path),
        lattice=data.lattice,
        couplings=data.couplings,
        replicas=data.replicas,
        samples=data.lattice[3],
        step=data.step,
        seed=data.seed,
        temperatures=tuple(temperatures),
        quantities={name: rows[-1] for name, rows in by_bin.items()},
        by_bin=by_bin,
        first_steps=data.first_steps,
        equilibration=tests,
        exchange_acceptance=[
            float(a / p) if p else None for a, p in zip(data.accepted, data.proposed, strict=True)
        ],
        round_trips=data.round_trips,
        warnings=_warnings(data, temperatures, tests),
    )


def _warnings(data: GlassData, temperatures: list[float], tests: list[list[Estimate | None]]) -> list[str]:
    said = []
    samples = data.lattice[3]
    if samples == 1:
        said.append("there is one sample, and numbers have no errors: expected at least two")
    elif samples < FEW_SAMPLES:
        said.append(f"{samples} samples: the errors are uncertain by {100 * error_of_error(samples):.0f} %")
    for temperature, found in zip(temperatures, tests[-1] if tests else [], strict=False):
        if found is not None and found.error and abs(found.value) > _MOST_SIGMA * found.error:
            said.append(
                f"T = {temperature:g} is not in equilibrium: the sides of the identity of Gaussian "
                f"couplings differ "
                f"by {found.value:.2g}, {abs(found.value) / found.error:.1f} errors, in the last bin of time"
            )
    stuck = [
        f"{a:g}"
        for a, n, p in zip(temperatures, data.accepted, data.proposed, strict=False)
        if p and n < 0.02 * p
    ]
    if stuck:
        said.append(
            f"less than 2 % of the exchanges are accepted above T = {', '.join(stuck)}: set temperatures "
            f"between"
        )
    return said
