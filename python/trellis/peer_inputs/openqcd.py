"""Inputs of openQCD's qcd1."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ..ground.errors import BadArgument
from ..run_files.dynamics import DRIFTS
from .common import Getter, left_out, lines, number_of, run_file

#: Of an input; more are a misprint.
_MOST_LEVELS = 32
#: type of [Boundary conditions], in time.
_BOUNDARIES = ("open", "Schroedinger functional", "open and Schroedinger functional", "periodic")
_HEAVIEST = ("ACF_TM1", "ACF_TM1_EO", "ACF_TM1_EO_SDET")
_RATIOS = ("ACF_TM2", "ACF_TM2_EO")
#: Reweighting of the second kind has sqrt(2) mu beside mu; what the digits of an input may leave of it.
_SQRT2_ACCURACY = 1e-3
#: Key of the run file -> section and keys that it comes from, for messages.
_SOURCES = {
    "action.beta": ("Lattice parameters", "beta"),
    "action.c1": ("Lattice parameters", "c0"),
    "molecular_dynamics.length": ("HMC parameters", "tau"),
    "trajectories.total": ("MD trajectories", "ntr"),
    "trajectories.thermalisation": ("MD trajectories", "nth"),
    "trajectories.keep_every": ("MD trajectories", "dtr_cnfg"),
    "random.seed": ("Random number generator", "seed"),
    "output.directory": ("Run name", "name"),
}


def from_openqcd(text: str, *, extents: Iterable[int], periodic: bool = False) -> str:
    """A run file from an input of openQCD's qcd1 (sections in brackets): quenched, or with doublets.

    Read: [Lattice parameters] beta, c0, kappa, csw; [Boundary conditions] type, theta; [HMC parameters]
    actions, mu, nlv, tau; [MD trajectories] nth, ntr, dtr_cnfg; [Random number generator] seed; [Run name]
    name; [Level n] integrator, lambda, nstep, forces; [Action n] action, im0, imu, isp; [Force n] isp;
    [Solver n] res. Each action TM1, with the ratios TM2 that follow it down to mu = 0, becomes a doublet and
    its Hasenbusch masses; the gauge action alone is a quenched run; forces stay on their levels. Where an
    input has no section of any action, one doublet is assumed, on the outermost level, and the gauge action
    goes to the innermost, which the run file says.

    Parameters
    ----------
    extents
        Lx, Ly, Lz, Lt, which the program has when it is compiled.
    periodic
        Take boundaries that are periodic in time (antiperiodic for quarks) whatever the input says.

    Raises
    ------
    BadArgument
        A key that is missing, actions that are no doublets (of one flavour, or with masses that do not follow
        each other), another integrator, a value that `trellis generate` refuses, or boundary conditions in
        time that Trellis does not have: all but periodic ones, unless `periodic`.
    """
    groups, lists = _openqcd_sections(text)
    get = Getter(groups, "the openQCD input")
    sites = list(extents)
    doublets, monomials, remarks = _openqcd_quarks(get, lists)
    integrator, more = _openqcd_integrator(get, lists, doublets, monomials)
    remarks += more
    residuals = [_openqcd_residual(get, lists, name) for name in ("Action", "Force")]
    remarks += _openqcd_time_boundary(get, periodic)
    theta = lists.get(("Boundary conditions", "theta"), [])
    phases = {"boundary": _openqcd_phases(theta)} if theta else {}
    kappas = lists.get(("Lattice parameters", "kappa"), [])
    fermions = [_openqcd_doublet(get, doublet, kappas) | phases for doublet in doublets]
    if len({doublet.im0 for doublet in doublets}) < len(kappas) and doublets:
        remarks.append("values of kappa that no action has are left out")
    lattice, chain = "Lattice parameters", "MD trajectories"
    tables: list[tuple[str, Any]] = [
        ("lattice", {"extents": sites}),
        (
            "action",
            {
                "type": "custom",
                "beta": get.number(lattice, "beta"),
                "c1": (1 - get.number(lattice, "c0", 1.0)) / 8,
            },
        ),
        ("fermions", fermions),
        ("integrator", integrator),
        ("molecular_dynamics", {"length": get.number("HMC parameters", "tau")} | residuals[1]),
        *([("metropolis", residuals[0])] if residuals[0] else []),
        (
            "trajectories",
            {
                "total": get.integer(chain, "ntr"),
                "thermalisation": get.integer(chain, "nth"),
                "keep_every": get.integer(chain, "dtr_cnfg"),
            },
        ),
        ("random", {"seed": get.integer("Random number generator", "seed")}),
        ("output", {"directory": get.text("Run name", "name")}),
    ]
    unread = [f"[{name}]" for name in dict.fromkeys(n for n, _ in groups) if not get.was_asked(name)]
    remarks += [f"sections that are not taken over: {', '.join(unread)}"] if unread else []
    return run_file(
        "an input of openQCD",
        remarks + left_out([get]),
        tables,
        where=get.where,
        said=_openqcd_said(get, lists, sites, len(doublets)),
    )


def _openqcd_said(
    get: Getter, lists: dict[tuple[str, str], list[str]], extents: list[int], doublets: int
) -> dict[str, str]:
    """Keys of the run file, and what the input says of them, for messages."""

    def said(kind: str, key: str) -> str:
        found = [
            f"{key} = {' '.join(words)} of [{section}]"
            for (section, name), words in lists.items()
            if name == key and section.startswith(kind)
        ]
        return ", ".join(found)

    texts = {key: get.said(group, *keys) for key, (group, *keys) in _SOURCES.items()}
    texts["lattice.extents"] = f"extents (--lattice) = {extents}"
    texts["integrator"] = said("Level ", "nstep")
    texts["molecular_dynamics.tolerance"] = texts["metropolis.tolerance"] = said("Solver ", "res")
    keys = {"kappa": "Lattice parameters", "csw": "Lattice parameters", "hasenbusch": "HMC parameters"}
    keys["boundary"] = "Boundary conditions"
    names = {"hasenbusch": "mu", "boundary": "theta"}
    for number in range(doublets):
        for key, section in keys.items():
            texts[f"fermions.{number}.{key}"] = said(section, names.get(key, key))
    return texts


def _openqcd_sections(
    text: str,
) -> tuple[list[tuple[str, dict[str, str]]], dict[tuple[str, str], list[str]]]:
    """Sections with the first word of each key, and (section, key) -> all its words."""
    groups: list[tuple[str, dict[str, str]]] = []
    lists: dict[tuple[str, str], list[str]] = {}
    for number, line in lines(text):
        section = re.match(r"^\[(.+)\]$", line)
        if section:
            if any(name == section[1] for name, _ in groups):
                raise BadArgument(f"line {number}: the section [{section[1]}] comes twice")
            groups.append((section[1], {}))
        elif line and groups:
            name, (key, *words) = groups[-1][0], line.split()
            if key in groups[-1][1]:
                raise BadArgument(f"line {number}: {key} of [{name}] comes twice")
            if words:
                groups[-1][1][key] = words[0]
                lists[name, key] = words
    return groups, lists


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
class _Doublet:
    """A chain of actions, heaviest first: det(A + rho_1^2), then ratios, the last down to mu = 0.

    Without actions: what is assumed of an input that does not name them.
    """

    name: str = "light"
    im0: str = "0"
    actions: list[_Pseudofermion] = field(default_factory=list)
    masses: list[float] = field(default_factory=list)

    @property
    def monomials(self) -> dict[str, str]:
        """The monomial of each action."""
        last = len(self.masses)
        return {
            action.number: f"{self.name}.{last - k}" if last else self.name
            for k, action in enumerate(self.actions)
        }


def _openqcd_doublet(get: Getter, doublet: _Doublet, kappas: list[str]) -> dict[str, Any]:
    """The [[fermions]] of a doublet."""
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


def _openqcd_quarks(
    get: Getter, lists: dict[tuple[str, str], list[str]]
) -> tuple[list[_Doublet], dict[str, str], list[str]]:
    """The doublets that the actions are of, the monomial of each action, and remarks.

    No monomials: the input has no section of any action.

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
            [_Doublet()],
            {},
            ["no action has a section: one doublet is assumed, without Hasenbusch masses"],
        )
    gauge = [number for number, kind in kinds.items() if kind == "ACG"]
    quarks = [
        _openqcd_pseudofermion(get, lists, number, kind) for number, kind in kinds.items() if kind != "ACG"
    ]
    if len(gauge) != 1:
        raise BadArgument(
            "actions of HMC parameters: expected one ACG, the gauge action, found "
            f"{', '.join(f'[Action {number}] {kind}' for number, kind in kinds.items())}"
        )
    get.take("HMC parameters", "mu")
    doublets = _openqcd_doublets(quarks)
    remarks = [remark for doublet in doublets for remark in _openqcd_close(doublet)]
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


def _openqcd_pseudofermion(
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
    # openQCD's action of a ratio is phi^dagger (A + mu[imu[1]]^2) / (A + mu[imu[0]]^2) phi
    return _Pseudofermion(
        number, kind, get.text(section, "im0", "0"), *(abs(_entry(masses, word, number)) for word in words)
    )


def _openqcd_doublets(quarks: list[_Pseudofermion]) -> list[_Doublet]:
    """A doublet of each TM1 with the ratios that follow it.

    Where all of several chains go down to mu = 0, any way to follow the ratios does: the product is the same.
    """
    heaviest = [quark for quark in quarks if quark.below is None]
    ratios = [quark for quark in quarks if quark.below is not None]
    doublets = []
    for number, first in enumerate(heaviest, start=1):
        name = "light" if len(heaviest) == 1 else f"doublet_{number}"
        doublet = _Doublet(name, first.im0, [first])
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


def _take_second_kind(doublet: _Doublet, ratios: list[_Pseudofermion]) -> None:
    """The ratio of mu over sqrt(2) mu that reweighting of the second kind has besides the chain.

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


def _openqcd_close(doublet: _Doublet) -> list[str]:
    """Set the Hasenbusch masses, with mu = 0 at the end; remarks on what is left out."""
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
    """A mass by its place in mu."""
    if not word.isdigit() or int(word) >= len(masses):
        raise BadArgument(f"imu of [Action {action}]: expected 0 to {len(masses) - 1}, found {word!r}")
    return masses[int(word)]


def _openqcd_residual(get: Getter, lists: dict[tuple[str, str], list[str]], kind: str) -> dict[str, float]:
    """The smallest residual of the solvers that sections of a kind name; empty where there are none."""
    solvers: set[str] = set()
    for (section, key), words in lists.items():
        if section.startswith(f"{kind} ") and key == "isp":
            get.take(section, key)
            solvers |= set(words)
    found = [get.number(f"Solver {n}", "res") for n in solvers if (f"Solver {n}", "res") in lists]
    return {"tolerance": min(found)} if found else {}


def _openqcd_time_boundary(get: Getter, periodic: bool) -> list[str]:
    """Remarks on the boundary conditions in time."""
    group = "Boundary conditions"
    get.take(group, "theta")
    if get.text(group, "type", "-") == "-":
        return ["the input states no boundary conditions: here periodic in time, antiperiodic for quarks"]
    found = get.integer(group, "type")
    if not 0 <= found < len(_BOUNDARIES):
        raise BadArgument(f"type of {group}: expected 0 to {len(_BOUNDARIES) - 1}, found {found}")
    if _BOUNDARIES[found] == "periodic":
        get.take(group, "cG", "cF")
        return []
    if not periodic:
        raise BadArgument(
            f"type of {group} = {found} ({_BOUNDARIES[found]}): Trellis has lattices that are periodic in "
            "time only; periodic=True (--periodic) takes that in its place, which is another theory near the "
            "boundaries"
        )
    return [f"periodic in time, where the input has {_BOUNDARIES[found]} boundary conditions"]


def _openqcd_phases(theta: list[str]) -> list[float]:
    """Angles in x, y, z as phases over pi; openQCD's quarks are antiperiodic in time."""
    angles = [number_of(angle, "the openQCD input: theta of Boundary conditions") for angle in theta]
    if len(angles) != 3:
        raise BadArgument(f"theta of Boundary conditions: expected three angles, found {theta}")
    return [*(angle / math.pi for angle in angles), 1.0]


def _openqcd_integrator(
    get: Getter,
    lists: dict[tuple[str, str], list[str]],
    doublets: list[_Doublet],
    monomials: dict[str, str],
) -> tuple[list[dict[str, Any]], list[str]]:
    """Levels, outermost first, and remarks: those of the input, or the outermost and innermost one."""
    schemes = {"LPFR": "leapfrog", "OMF2": "omelyan2", "OMF4": "omelyan4"}
    count = get.integer("HMC parameters", "nlv")
    if not 1 <= count <= _MOST_LEVELS:
        raise BadArgument(f"nlv of HMC parameters: expected 1 to {_MOST_LEVELS} levels, found {count}")
    levels: list[dict[str, Any]] = []
    for number in range(count):  # level 0 is their innermost
        name = f"Level {number}"
        scheme = get.text(name, "integrator")
        if scheme not in schemes:
            raise BadArgument(f"[{name}] integrator {scheme}: expected one of {', '.join(schemes)}")
        level: dict[str, Any] = {"scheme": schemes[scheme], "steps": get.integer(name, "nstep")}
        if scheme == "OMF2":
            level["lambda"] = get.number(name, "lambda", 0.1931833275037836)
        levels.insert(0, level)
    forces = [lists.get((f"Level {number}", "forces"), []) for number in reversed(range(count))]
    if monomials and sorted(n for level in forces for n in level) == sorted(monomials):
        for number in range(count):
            get.take(f"Level {number}", "forces")
        parts = [[monomials[n] for n in numbers] for numbers in forces]
        remarks = []
    else:
        parts = [[] for _ in levels]
        parts[0] += [doublet.name for doublet in doublets]
        parts[-1].append("gauge")
        remarks = ["quarks on the outermost level, the gauge action on the innermost"] if doublets else []
    kept, more = _without_idle_levels(levels, parts)
    return kept, remarks + more


def _without_idle_levels(
    levels: list[dict[str, Any]], parts: list[list[str]]
) -> tuple[list[dict[str, Any]], list[str]]:
    """The levels that have monomials, outermost first, and a remark on the others."""
    kept: list[dict[str, Any]] = []
    idle, drifts = 0, 1  # drifts of the levels since the last one that is kept
    for level, names in zip(levels, parts, strict=True):
        if names:
            kept.append(level | {"steps": drifts * level["steps"], "monomials": names})
            drifts = 1
        else:
            idle += 1
            drifts *= level["steps"] * DRIFTS[level["scheme"]]
    if not idle:
        return kept, []
    return kept, [f"levels without forces ({idle}) are left out; those inside keep their number of steps"]
