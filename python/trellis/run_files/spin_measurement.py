"""This module says which sources, contractions and currents suit quarks with spin of `trellis measure`."""

from __future__ import annotations

from typing import Any

from ..ground.operator_records import NEEDS_GAMMA5_HERMITICITY
from .common import at_key
from .contractions import STRANGE
from .measured_quarks import MeasuredDomainWall, MeasuredQuark
from .quarks import DomainWall


def require_spin(run: Any, fermion: MeasuredQuark | None) -> None:
    """Refuse what does not suit a quark with spin, or a run without quarks.

    Parameters
    ----------
    run
        A MeasureRun, whose module imports this one.
    fermion
        Its [fermion]; None: the run has no quarks.

    Raises
    ------
    ValidationError
        A key does not suit it; the message names the key.
    """
    _require_contractions_of_noise(run)
    if fermion is not None:
        _require_quarks(run, fermion)
        _require_one_distance(run, fermion)
        _require_periodic(run, fermion)
        _require_sinks_of_walls(run)
    if not isinstance(fermion, DomainWall):
        if run.solver.columns_per_solve is not None:
            raise at_key("solver.columns_per_solve", "belongs to a fermion of type domain_wall")
        if run.correlators.conserved_axial:
            raise at_key("correlators.conserved_axial", "belongs to a fermion of type domain_wall")
    elif run.correlators.conserved_axial and (fermion.Ls % 2 or not fermion.is_uniform):
        raise at_key(
            "correlators.conserved_axial",
            "expected an even fermion.Ls and one real b5 and c5, found "
            f"Ls = {fermion.Ls}, b5 = {fermion.b5}, c5 = {fermion.c5}",
        )
    if fermion is not None:
        _require_conserved(run, fermion)
    if run.three_point.currents and fermion is not None and not fermion.has_conjugate:
        raise at_key("three_point", f"{NEEDS_GAMMA5_HERMITICITY}; [feynman_hellmann] needs no such thing")
    if fermion is not None and not _has_results(run, fermion):
        raise ValueError(
            "nothing is made of the solves: give correlators, currents or output.propagators = true"
        )
    if run.deflation is not None and fermion is None:
        raise at_key("deflation", "[deflation] belongs to solves: give [fermion]")


def _require_one_distance(run: Any, fermion: MeasuredQuark) -> None:
    """Require that all sources have one distance from a Dirichlet wall, since they are averaged."""
    if not fermion.is_open:
        return
    times = sorted({position[3] for position in run.source.positions})
    why = 'fermion.boundary has "dirichlet" in t: correlators depend on the distance from the wall'
    if len(times) > 1:
        raise at_key("source.positions", f"expected one t, found {times}; {why}; one run for each t")
    if run.source.is_slice and run.source.shift_seed is not None:
        raise at_key(
            "source.shift_seed",
            f"a source of type {run.source.type} has no place but its t; {why}; leave it out",
        )


def _require_periodic(run: Any, fermion: MeasuredQuark) -> None:
    """Refuse, with phases in space, what is projected on momenta 2 pi n / L, and what smearing leaves
    alone."""
    if not fermion.has_twist:
        return
    found = list(fermion.boundary[:3])
    if run.has_gaussian_smearing:
        raise at_key(
            "fermion.boundary",
            f"gaussian smearing is periodic in space: expected other sources and sinks beside {found}",
        )
    currents = run.feynman_hellmann.currents or run.three_point.currents
    if (run.correlators.baryons or currents) and not fermion.has_periodic_baryons:
        raise at_key(
            "fermion.boundary",
            "baryons are not periodic in space: expected multiples of 2/3, or correlators.baryons = [] "
            f"and no currents, found {found}",
        )


def _require_sinks_of_walls(run: Any) -> None:
    """Refuse contractions that walls with a momentum p do not have: their three quarks have 3 p."""
    momentum = run.source.momentum
    if momentum is None or not any(momentum):
        return
    for key, table in (("feynman_hellmann", run.feynman_hellmann), ("three_point", run.three_point)):
        if table.currents:
            raise at_key(
                f"{key}.currents", f"nucleons with currents have walls at rest, found {list(momentum)}"
            )
    needed = 9 * sum(n * n for n in momentum)
    if run.correlators.baryons and run.correlators.max_momentum_squared < needed:
        raise at_key(
            "correlators.max_momentum_squared",
            f"three quarks from walls with source.momentum = {list(momentum)} have the momentum "
            f"{[3 * n for n in momentum]}: expected at least {needed}, or correlators.baryons = []",
            run.correlators.max_momentum_squared,
        )


def _require_contractions_of_noise(run: Any) -> None:
    """Refuse all but mesons at rest with noise, which cancels if quark and antiquark have one source."""
    if not run.source.is_noise or run.fermion is None:
        return
    wrong = {
        "correlators.baryons": (run.correlators.baryons, "[]"),
        "feynman_hellmann.currents": (run.feynman_hellmann.currents, "[]"),
        "three_point.currents": (run.three_point.currents, "[]"),
        "correlators.max_momentum_squared": (run.correlators.max_momentum_squared, "0"),
    }
    for key, (found, expected) in wrong.items():
        if found:
            raise at_key(
                key,
                f"with a source of type noise expected {key} = {expected}: only mesons at rest have a "
                "mean over the noise",
                found,
            )


def _has_results(run: Any, fermion: MeasuredQuark) -> bool:
    """Return True if solves have a result; those of domain walls with an even Ls always have m_res."""
    c = run.correlators
    currents = run.feynman_hellmann.currents or run.three_point.currents
    contracted = c.mesons or c.meson or c.baryons or currents
    return bool(fermion.has_midpoint or contracted or run.output.propagators)


def _require_conserved(run: Any, fermion: MeasuredQuark) -> None:
    """Refuse conserved currents that the fermion does not have."""
    walls = fermion if isinstance(fermion, MeasuredDomainWall) else None
    for table, names in run.conserved_currents().items():
        key = f"{table}.currents"
        axial = [name for name in names if name.startswith("A")]
        if axial and (walls is None or walls.Ls % 2):
            found = f"type = {fermion.type}" if walls is None else f"Ls = {walls.Ls}"
            raise at_key(
                key,
                f"{', '.join(axial)} belong to a fermion of type domain_wall with an even Ls, found {found}",
            )
        if table == "three_point" and walls is not None and not walls.is_uniform:
            raise at_key(
                key,
                f"{', '.join(names)} with a fixed sink: expected one real b5 and c5, found "
                f"b5 = {walls.b5}, c5 = {walls.c5}; [feynman_hellmann] takes any",
            )


def _require_quarks(run: Any, fermion: MeasuredQuark) -> None:
    if fermion.link_reals == 8 and run.solver.inner_precision == "fp16":
        raise at_key(
            "fermion.link_reals",
            'links are not stored as 8 reals in solver.inner_precision = "fp16": expected 12 or 18, or '
            'inner_precision = "half"',
            8,
        )
    named: set[str] = {*run.correlators.mesons, *run.correlators.baryons}
    wanted = named & STRANGE | {meson.name for meson in run.correlators.meson if meson.has_strange}
    if wanted and not fermion.has_strange:
        raise at_key(
            "correlators",
            f"{', '.join(sorted(wanted))} need fermion.strange_kappa or fermion.strange_mass",
        )
