"""Notes and warnings stand beside the results: uncertain errors, unequal sources, copies, bad solves."""

from __future__ import annotations

import numpy as np

from .records.measurements import Measurements
from .records.numbering import number_text
from .records.results import ParticleResult
from .records.uncertain_errors import FEW_SAMPLES, error_of_error


def add_remarks(
    measurements: Measurements, particles: dict, notes: list[str], warnings: list[str], bin_size: int
) -> None:
    """Add to `notes` and `warnings` the remarks that a reader needs before using the numbers."""
    warnings += _uncertain_errors(len(measurements.configurations), particles, bin_size)
    for name, particle in particles.items():
        for note in particle.notes:
            (warnings if "poor fits" in note or "look" in note else notes).append(note)
        if particle.mass_error > 0.2 * particle.mass:
            warnings.append(
                f"{name}: the error is {100 * particle.mass_error / particle.mass:.0f} % of the mass"
            )
    _note_unequal_sources(measurements, notes)
    _warn_of_copies(measurements, warnings)
    residual = [np.max(r) for r in measurements.solves.get("relative_residual", [])]
    if residual and max(residual) > 1e-5:
        warnings.append(f"largest relative residual of a solve: {max(residual):.1e}")


def _uncertain_errors(count: int, particles: dict[str, ParticleResult], bin_size: int) -> list[str]:
    """Say by how much the errors are uncertain, where the independent numbers are few."""
    independent, what = float(count // bin_size), f"{count} configurations"
    if bin_size > 1:
        what += f" in {count // bin_size} bins"
    fewest = min(particles, key=lambda name: particles[name].effective_samples, default="")
    if fewest and particles[fewest].effective_samples < independent:
        independent = particles[fewest].effective_samples
        what += f", {independent:.0f} independent ones for the mass of {fewest}"
    if not 0 < independent < FEW_SAMPLES:
        return []
    return [f"{what}: the errors themselves are uncertain by {100 * error_of_error(independent):.0f} %"]


def _warn_of_copies(measurements: Measurements, warnings: list[str]) -> None:
    """Warn of configurations that were measured twice under two numbers: they make errors too small."""
    if not measurements.correlators:
        return
    rows = [c.values.reshape(len(c.values), -1) for c in measurements.correlators.values()]
    _, first, group = np.unique(np.concatenate(rows, axis=1), axis=0, return_index=True, return_inverse=True)
    copies = np.flatnonzero(np.arange(len(group)) != first[group])
    if len(copies):
        numbers = measurements.configurations
        k, original = copies[0], first[group[copies[0]]]
        warnings.append(
            f"{len(copies)} configurations have the same correlators as another one, the first "
            f"{number_text(numbers[k])} "
            f"those of {number_text(numbers[original])}: copies of a file make errors too small"
        )


def _note_unequal_sources(measurements: Measurements, notes: list[str]) -> None:
    """Note that configurations count the same, however many sources they have, once
    for each set of numbers.
    """
    by_range: dict[tuple[int, int], list[str]] = {}
    for name, c in measurements.correlators.items():
        fewest, most = int(c.source_counts.min(initial=1)), int(c.source_counts.max(initial=1))
        if len(set(c.source_counts.tolist())) > 1:
            by_range.setdefault((fewest, most), []).append(name)
    for (fewest, most), names in by_range.items():
        notes.append(
            f"{', '.join(names)}: {fewest} to {most} sources on a configuration; configurations have equal "
            "weights all the same"
        )
