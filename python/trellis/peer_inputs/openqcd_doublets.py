"""The actions of an openQCD input are those of doublets of quarks."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from ..ground.errors import BadArgument
from .common import Getter, number_of

_HEAVIEST = ("ACF_TM1", "ACF_TM1_EO", "ACF_TM1_EO_SDET")
_RATIOS = ("ACF_TM2", "ACF_TM2_EO")
#: Reweighting of the second kind has sqrt(2) mu beside mu; an input's digits may miss it by this share.
_SQRT2_ACCURACY = 1e-3


@dataclass(frozen=True)
class _Pseudofermion:
    """A pseudofermion has the determinant det(A + mu^2); a ratio divides it by det(A + below^2)."""

    number: str
    kind: str
    im0: str
    mu: float
    below: float | None = None

    @property
    def operator(self) -> tuple[str, bool]:
        """Return the mass of A, and True if A is even-odd; determinants of different A do not cancel."""
        return self.im0, "_EO" in self.kind

    def __str__(self) -> str:
        masses = f"mu = {self.mu:g}" if self.below is None else f"mu = {self.mu:g} over {self.below:g}"
        return f"[Action {self.number}] ({self.kind}, {masses})"


@dataclass
class Doublet:
    """This is a chain of actions, heaviest first: det(A + rho_1^2), then ratios, the last down to mu = 0.

    A doublet without actions is assumed for an input that does not name them.
    """

    name: str = "light"
    im0: str = "0"
    actions: list[_Pseudofermion] = field(default_factory=list)
    masses: list[float] = field(default_factory=list)

    @property
    def monomials(self) -> dict[str, str]:
        """Return the monomial of each action."""
        last = len(self.masses)
        return {
            action.number: f"{self.name}.{last - k}" if last else self.name
            for k, action in enumerate(self.actions)
        }


def doublet_table(get: Getter, doublet: Doublet, kappas: list[str]) -> dict[str, Any]:
    """Return the [[fermions]] of a doublet."""
    lattice = "Lattice parameters"
    if not doublet.actions and len(kappas) != 1:
        raise BadArgument(f"kappa: expected one doublet, found {kappas}; add further flavours by hand")
    get.take(lattice, "kappa")
    if not doublet.im0.isdigit() or int(doublet.im0) >= len(kappas):
        said = f"im0 = {doublet.im0} of [Action {doublet.actions[0].number}]" if doublet.actions else "im0"
        raise BadArgument(f"{said}: expected the place of a kappa of [{lattice}], which are {kappas}")
    csw = get.number(lattice, "csw")
    table: dict[str, Any] = {
        "name": doublet.name,
        "type": "clover" if csw else "wilson",
        "n_f": 2,
        "kappa": number_of(kappas[int(doublet.im0)], f"{get.where}: kappa of {lattice}"),
    }
    table |= {"csw": csw} if csw else {}
    return table | ({"hasenbusch": doublet.masses} if doublet.masses else {})


def doublets_of(
    get: Getter, lists: dict[tuple[str, str], list[str]]
) -> tuple[list[Doublet], dict[str, str], list[str]]:
    """Return the doublets of the actions, the monomial of each action, and remarks.

    Monomials are missing if the input has no section of any action.

    Raises
    ------
    BadArgument
        The actions are not those of one gauge action and of doublets.
    """
    actions = lists.get(("HMC parameters", "actions"), [])
    get.take("HMC parameters", "actions", "npf")
    kinds = {number: get.text(f"Action {number}", "action", "-") for number in actions}
    if len(kinds) < len(actions):
        raise BadArgument(f"actions of HMC parameters: expected each once, found {' '.join(actions)}")
    if all(kind == "-" for kind in kinds.values()):
        return (
            [Doublet()],
            {},
            ["no action has a section: one doublet is assumed, without Hasenbusch masses"],
        )
    gauge = [number for number, kind in kinds.items() if kind == "ACG"]
    quarks = [_pseudofermion(get, lists, number, kind) for number, kind in kinds.items() if kind != "ACG"]
    if len(gauge) != 1:
        raise BadArgument(
            "actions of HMC parameters: expected one ACG, the gauge action, found "
            f"{', '.join(f'[Action {number}] {kind}' for number, kind in kinds.items())}"
        )
    get.take("HMC parameters", "mu")
    doublets = _chains(quarks)
    remarks = [remark for doublet in doublets for remark in _close(doublet)]
    if len(doublets) > 1:
        remarks.append(f"{len(doublets)} doublets of sea quarks: N_f = {2 * len(doublets)}")
    if any(doublet.masses and not doublet.actions[0].operator[1] for doublet in doublets):
        remarks.append("Hasenbusch masses are those of the even-odd operator here, of the whole one there")
    if any(quark.kind == "ACF_TM1_EO" for quark in quarks):
        remarks.append("the determinant of the odd sites, which ACF_TM1_EO leaves out, is part of the weight")
    monomials = {gauge[0]: "gauge"}
    for doublet in doublets:
        monomials |= doublet.monomials
    return doublets, monomials, remarks


def _pseudofermion(
    get: Getter, lists: dict[tuple[str, str], list[str]], number: str, kind: str
) -> _Pseudofermion:
    section = f"Action {number}"
    if kind == "-":
        raise BadArgument(f"[{section}] action: expected one for each of `actions`, found none")
    if kind.startswith("ACF_RAT"):
        raise BadArgument(
            f"[{section}] {kind}: expected pseudofermions of two flavours (ACF_TM1, ACF_TM2) alone; leave it "
            "out of `actions`, and add the flavour with n_f = 1 by hand"
        )
    if kind not in _HEAVIEST + _RATIOS:
        kinds = ", ".join(("ACG", *_HEAVIEST, *_RATIOS))
        raise BadArgument(f"[{section}] action {kind}: expected one of {kinds}")
    get.take(section, "imu", "ipf")
    masses = [number_of(mu, f"{get.where}: mu") for mu in lists.get(("HMC parameters", "mu"), ["0.0"])]
    words = lists.get((section, "imu"), [])
    expected = 2 if kind in _RATIOS else 1
    if len(words) != expected:
        raise BadArgument(f"imu of [{section}] ({kind}): expected {expected} places in mu, found {words}")
    # openQCD's action of a ratio is phi^dagger (A + mu[imu[1]]^2) / (A + mu[imu[0]]^2) phi.
    return _Pseudofermion(
        number, kind, get.text(section, "im0", "0"), *(abs(_entry(masses, word, number)) for word in words)
    )


def _chains(quarks: list[_Pseudofermion]) -> list[Doublet]:
    """Return a doublet of each TM1 with the ratios that follow it.

    Where all of several chains go down to mu = 0, any way to follow the ratios will do:
    the product is the same.
    """
    heaviest = [quark for quark in quarks if quark.below is None]
    ratios = [quark for quark in quarks if quark.below is not None]
    doublets = []
    for number, first in enumerate(heaviest, start=1):
        name = "light" if len(heaviest) == 1 else f"doublet_{number}"
        doublet = Doublet(name, first.im0, [first])
        while following := [r for r in ratios if _follows(r, doublet.actions[-1])]:
            doublet.actions.append(following[0])
            ratios.remove(following[0])
        doublets.append(doublet)
    for doublet in doublets:
        if sum(other.im0 == doublet.im0 for other in doublets) == 1:
            _take_second_kind(doublet, ratios)
        elif doublet.actions[-1].mu != 0:
            raise BadArgument(
                f"several doublets of im0 = {doublet.im0}: expected ratios (ACF_TM2) that follow each other "
                f"down to mu = 0 for each, found {' '.join(map(str, doublet.actions))}"
            )
    if ratios:
        raise BadArgument(
            "actions of HMC parameters: expected ACF_TM1 of one mass, and ratios (ACF_TM2) that follow it "
            f"from there down to mu = 0; these do not: {' '.join(map(str, ratios))}"
        )
    return doublets


def _follows(ratio: _Pseudofermion, action: _Pseudofermion) -> bool:
    """Return True if the numerator of an action's determinant is the denominator of a lighter ratio's."""
    return ratio.operator == action.operator and ratio.below == action.mu and ratio.mu < action.mu


def _take_second_kind(doublet: Doublet, ratios: list[_Pseudofermion]) -> None:
    """Take out the ratio of mu over sqrt(2) mu that reweighting of the second kind has besides the chain.

    With it the weight is det(A + mu^2)^2 / det(A + 2 mu^2), which for mu = 0 is det(A).
    """
    last = doublet.actions[-1]
    for ratio in ratios:
        assert ratio.below is not None
        if (
            ratio.operator == last.operator
            and ratio.mu == last.mu > 0
            and abs(ratio.below / (math.sqrt(2) * last.mu) - 1) < _SQRT2_ACCURACY
            and (last.below is None or ratio.below < last.below)
        ):
            doublet.actions.append(ratio)
            ratios.remove(ratio)
            return


def _close(doublet: Doublet) -> list[str]:
    """Set the Hasenbusch masses, with mu = 0 at the end; return remarks on what is left out."""
    *before, last = doublet.actions
    doublet.masses = [action.mu for action in before]
    if last.mu == 0:
        return []
    remark = f"mu = {last.mu:g} of the lightest action is left out: here 0"
    if before and before[-1].mu == last.mu:
        assert last.below is not None
        doublet.masses[-1] = last.below  # sqrt(2) mu splits what mu did
        remark = (
            f"mu = {last.mu:g} of the lightest actions is left out: here 0, where the input has "
            f"det(A + mu^2)^2 / det(A + 2 mu^2) (twisted-mass reweighting of the second kind); sqrt(2) mu = "
            f"{last.below:g} stays as a Hasenbusch mass"
        )
    return [remark if doublet.name == "light" else f"{doublet.name}: {remark}"]


def _entry(masses: list[float], word: str, action: str) -> float:
    """Return a mass by its place in mu."""
    if not word.isdigit() or int(word) >= len(masses):
        raise BadArgument(f"imu of [Action {action}]: expected 0 to {len(masses) - 1}, found {word!r}")
    return masses[int(word)]
