"""This module warns of keys of a measurement that are valid, and that few people mean."""

from __future__ import annotations

from collections.abc import Sequence

from ..ground.action_parameters import kappa_to_mass
from ..ground.operator_records import MIRRORED_MESONS
from ..quarks.domain_wall import spatial_doublers
from ..quarks.sources import amplifying, least_steps
from ..run_files.measure import MeasureRun
from ..runs.reporting import Reporter
from ..runs.setup import warn_of_large_rho


def warn_of_keys(run: MeasureRun, output: Reporter) -> None:
    """Warn of weights of smearing, coefficients, masses and widths that are seldom meant."""
    warn_of_large_rho("smearing", run.smearing, output)
    if run.source.links is not None:
        warn_of_large_rho("source.links", run.source.links, output)
    if has_mirrored_mesons(run):
        output.warning(MIRRORED)
    for key, kappa in kappas_of_doublers(run):
        output.warning(
            f"{key} = {kappa:g} is a mass of {kappa_to_mass(kappa):.4g}; quarks have kappa near 1/8 "
            "(a mass near 0), and here doublers are the light ones"
        )
    for key, kappa in kappas_of_heavy_quarks(run):
        output.warning(
            f"{key} = {kappa:g} is a mass of {kappa_to_mass(kappa):.4g}: the quark hardly moves; light "
            "quarks have kappa near 1/8, and a mass has the key mass"
        )
    if said := doublers_on_walls(run):
        output.warning(f"fermion.M5: {said}")
    if is_amplifying(run):
        output.warning(
            f"source.width = {run.source.width:g} in source.steps = {run.source.steps}: "
            f"{amplifying(sites_of_a_hop(run))}, here at least {fewest_steps(run)}"
        )


#: This is the warning if :func:`has_mirrored_mesons` is true.
MIRRORED = f"fermion.b5, fermion.c5: {MIRRORED_MESONS}; nucleons and [feynman_hellmann] do not need it"


def has_mirrored_mesons(run: MeasureRun) -> bool:
    """Return True if the run asks for mesons of domain walls whose antiquarks have other coefficients."""
    fermion, wanted = run.spin_quark, run.correlators.mesons or run.correlators.meson
    return bool(wanted and fermion is not None and not fermion.has_conjugate)


def kappas_of_doublers(run: MeasureRun) -> list[tuple[str, float]]:
    """Return the keys of isotropic Wilson quarks with masses between -6 and -2, and their kappas.

    Most are misprints (1.3 for 0.13).
    """
    fermion = run.spin_quark
    if fermion is None or (fermion.nu, fermion.xi0) != (1, 1):
        return []
    return [(key, kappa) for key, kappa in fermion.hopping_parameters.items() if abs(kappa) > 0.25]


def kappas_of_heavy_quarks(run: MeasureRun) -> list[tuple[str, float]]:
    """Return the keys of isotropic Wilson quarks with masses above 2 or below -6, and their kappas.

    Most are masses at the place of kappa.
    """
    fermion = run.spin_quark
    if fermion is None or (fermion.nu, fermion.xi0) != (1, 1):
        return []
    return [
        (key, kappa)
        for key, kappa in fermion.hopping_parameters.items()
        if -0.25 <= kappa < 1 / 12 and kappa != 0
    ]


def doublers_on_walls(run: MeasureRun) -> str:
    """Return a warning about domain walls that bind spatial doublers; else ""."""
    fermion = run.spin_quark
    if fermion is None or fermion.wall_height is None:
        return ""
    return spatial_doublers(fermion.wall_height, fermion.nu, fermion.xi0)


def is_amplifying(run: MeasureRun) -> bool:
    """Return True if a step of Gaussian smearing has an eigenvalue below -1 (:func:`least_steps`)."""
    hop = sites_of_a_hop(run)
    too_few = 2 * run.source.steps < 3 * (run.source.width / hop) ** 2
    return run.fermion is not None and run.has_gaussian_smearing and too_few


def sites_of_a_hop(run: MeasureRun) -> int:
    """Return over how many sites hops of Gaussian smearing lead: two for staggered quarks."""
    return 1 if run.staggered_quark is None else 2


def fewest_steps(run: MeasureRun) -> int:
    """Return the fewest steps of Gaussian smearing that make no mode larger."""
    return least_steps(run.source.width, sites_of_a_hop(run))


def are_beyond(momenta: Sequence[Sequence[int]], extents: tuple[int, ...], parts: int) -> bool:
    """Return True if a component of n is beyond L / parts.

    Beyond L/2 n is another momentum modulo L. With staggered quarks n + L/2 is the momentum n of another
    local meson, so that beyond L/4 the other one is smaller.
    """
    return any(parts * abs(k) > extent for n in momenta for k, extent in zip(n, extents[:3], strict=True))
