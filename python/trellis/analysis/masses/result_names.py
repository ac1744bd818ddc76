"""Each result of an analysis has a name of its own."""

from __future__ import annotations

from collections.abc import Iterator

from ..records.errors import AnalysisError
from ..records.measurements import Measurements
from ..records.options import AnalysisOptions
from .correlators import ParticleCorrelator


def parity_partner(correlator: ParticleCorrelator) -> str:
    """Return the name of the state of other parity that runs backwards."""
    return f"{correlator.name}_parity_partner"


def has_parity_partner(correlator: ParticleCorrelator, options: AnalysisOptions) -> bool:
    """Return True if the state of other parity is to be fitted."""
    is_positive = correlator.kind == "baryon" and correlator.attributes.get("parity") != -1
    return options.parity_partner and is_positive and correlator.has_backward_baryon


def require_own_names(correlators: list[ParticleCorrelator], options: AnalysisOptions) -> None:
    """Refuse two results with one name: the second would take the place of the first.

    A simultaneous fit may have the name of one of its members, whose own fit it replaces.

    Raises
    ------
    AnalysisError
        The message names both.
    """
    known: dict[str, str] = {}
    for name, what in _results(correlators, options):
        if name in known:
            raise AnalysisError(
                f"{name}: expected each result to have a name of its own, found it for {known[name]} and for "
                f"{what}; rename one of them, or choose by the option particles"
            )
        known[name] = what


def _results(correlators: list[ParticleCorrelator], options: AnalysisOptions) -> Iterator[tuple[str, str]]:
    """Return names of results, and words for what they are."""
    replaced = {name for name, members in options.simultaneous.items() if name in members}
    for c in correlators:
        if c.name not in replaced:
            squared = f" at |n|^2 = {c.momentum_squared}" if c.momentum_squared else ""
            yield c.name, f"the correlator {' + '.join(c.members)}{squared}"
        if has_parity_partner(c, options):
            yield parity_partner(c), f"the parity partner of {c.name}"
    for name, members in options.simultaneous.items():
        yield name, f"the simultaneous fit of {', '.join(members)}"
    for name, wanted in options.gevp.items():
        for n in range(min(wanted.states or len(wanted.matrix), len(wanted.matrix))):
            yield f"{name}_{n}", f"state {n} of gevp.{name}"


def without_particle(measurements: Measurements) -> dict[str, str]:
    """Return why correlators are left out, where all of them are."""
    names = [n for n, c in measurements.correlators.items() if c.attributes["type"] in ("meson", "baryon")]
    return {n: "no particle is named for it; the option particles takes it by this name" for n in names}
