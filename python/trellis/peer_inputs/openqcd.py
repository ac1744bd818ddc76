"""Inputs of openQCD's qcd1."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..errors import BadArgument
from ..run_files.dynamics import DRIFTS
from .common import Getter, left_out, lines, number_of, to_toml

#: Of an input; more are a misprint.
_MOST_LEVELS = 32
#: type of [Boundary conditions], in time.
_BOUNDARIES = ("open", "Schroedinger functional", "open and Schroedinger functional", "periodic")


def from_openqcd(text: str, *, extents: Iterable[int], periodic: bool = False) -> str:
    """A run file from an input of openQCD's qcd1 with two flavours (sections in brackets).

    Read: [Lattice parameters] beta, c0, kappa, csw; [Boundary conditions] type, theta; [HMC parameters]
    actions, mu, nlv, tau; [MD trajectories] nth, ntr, dtr_cnfg; [Random number generator] seed; [Run name]
    name; [Level n] integrator, lambda, nstep, forces; [Action n] action, imu, isp; [Force n] isp; [Solver n]
    res. Actions of two flavours whose masses follow each other (TM1, then ratios TM2 down to mu = 0) become
    Hasenbusch masses, and forces stay on their levels. Where the input does not say so much, the quarks go to
    the outermost level and the gauge action to the innermost, which the run file says.

    Parameters
    ----------
    extents
        Lx, Ly, Lz, Lt, which the program has when it is compiled.
    periodic
        Take boundaries that are periodic in time (antiperiodic for quarks) whatever the input says.

    Raises
    ------
    BadArgument
        A key that is missing, more than one kappa, a third quark, another integrator, or boundary conditions
        in time that Trellis does not have: all but periodic ones, unless `periodic`.
    """
    groups, lists = _openqcd_sections(text)
    get = Getter(groups, "the openQCD input")
    actions = lists.get(("HMC parameters", "actions"), [])
    _require_doublet_alone(get, actions)
    quarks, remarks = _openqcd_quarks(get, lists, actions)
    integrator, more = _openqcd_integrator(get, lists, quarks)
    remarks += more
    doublet = _openqcd_doublet(get, lists.get(("Lattice parameters", "kappa"), []))
    if quarks is not None and quarks.masses:
        doublet["hasenbusch"] = quarks.masses
    residuals = [_openqcd_residual(get, lists, name) for name in ("Action", "Force")]
    remarks += _openqcd_time_boundary(get, periodic)
    theta = lists.get(("Boundary conditions", "theta"), [])
    if theta:
        doublet["boundary"] = _openqcd_phases(theta)
    lattice, chain = "Lattice parameters", "MD trajectories"
    tables: list[tuple[str, Any]] = [
        ("lattice", {"extents": list(extents)}),
        (
            "action",
            {
                "type": "custom",
                "beta": get.number(lattice, "beta"),
                "c1": (1 - get.number(lattice, "c0", 1.0)) / 8,
            },
        ),
        ("fermions", [doublet]),
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
    return to_toml("an input of openQCD", remarks + left_out([get]), tables)


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


def _openqcd_doublet(get: Getter, kappas: list[str]) -> dict[str, Any]:
    """The [[fermions]] of one kappa."""
    if len(kappas) != 1:
        raise BadArgument(f"kappa: expected one doublet, found {kappas}; add further flavours by hand")
    lattice = "Lattice parameters"
    return {
        "name": "light",
        "type": "wilson",
        "n_f": 2,
        "kappa": get.number(lattice, "kappa"),
        "csw": get.number(lattice, "csw"),
    }


def _require_doublet_alone(get: Getter, actions: list[str]) -> None:
    """Pseudofermion actions of one flavour are of a quark that the run file would lack."""
    for number in actions:
        kind = get.text(f"Action {number}", "action", "-")
        if kind.startswith("ACF_RAT"):
            raise BadArgument(
                f"[Action {number}] {kind}: expected pseudofermions of two flavours (ACF_TM1, ACF_TM2) "
                "alone; leave it out of `actions`, and add the flavour with n_f = 1 by hand"
            )


@dataclass(frozen=True)
class _Quarks:
    """Hasenbusch masses, descending, and the monomial of each action."""

    masses: list[float]
    monomials: dict[str, str]


def _openqcd_quarks(
    get: Getter, lists: dict[tuple[str, str], list[str]], actions: list[str]
) -> tuple[_Quarks | None, list[str]]:
    """What the actions make of the determinant, and remarks; None: the input does not say, or is not a chain.

    TM1 is det(A + mu^2), TM2 det[(A + mu^2) / (A + mu'^2)], with A the operator squared.
    """
    kinds = {number: get.text(f"Action {number}", "action", "-") for number in actions}
    get.take("HMC parameters", "actions", "npf")
    if not actions or "-" in kinds.values():
        return None, ["not every action has a section: no Hasenbusch masses"]
    get.take("HMC parameters", "mu")
    masses = [number_of(mu, "the openQCD input: mu") for mu in lists.get(("HMC parameters", "mu"), ["0.0"])]
    heaviest: list[tuple[str, float]] = []
    ratios: dict[float, tuple[str, float]] = {}
    for number, kind in kinds.items():
        if kind == "ACG":
            continue
        get.take(f"Action {number}", "imu", "ipf", "im0")
        used = sorted(_entry(masses, word, number) for word in lists.get((f"Action {number}", "imu"), ["0"]))
        if kind.startswith("ACF_TM1"):
            heaviest.append((number, used[0]))
        elif kind.startswith("ACF_TM2") and len(used) > 1 and used[-1] not in ratios:
            ratios[used[-1]] = (number, used[0])
    order = heaviest[:1]
    while order and order[-1][1] in ratios:
        order.append(ratios.pop(order[-1][1]))
    if not order or len(order) + sum(kind == "ACG" for kind in kinds.values()) != len(kinds):
        return None, ["actions whose masses do not follow each other (TM1, then TM2): no Hasenbusch masses"]
    remarks = []
    if order[-1][1] != 0:
        remarks.append(f"mu = {order[-1][1]:g} of the lightest action is left out: here 0")
    if len(order) > 1 and any(kind in ("ACF_TM1", "ACF_TM2") for kind in kinds.values()):
        remarks.append("Hasenbusch masses are those of the even-odd operator here, of the whole one there")
    if kinds[order[0][0]] == "ACF_TM1_EO":
        remarks.append("the determinant of the odd sites, which ACF_TM1_EO leaves out, is part of the weight")
    parts = len(order)
    names = ["light"] if parts == 1 else [f"light.{k}" for k in reversed(range(parts))]
    monomials = {number: name for (number, _), name in zip(order, names, strict=True)}
    monomials |= {number: "gauge" for number, kind in kinds.items() if kind == "ACG"}
    return _Quarks([mu for _, mu in order[:-1]], monomials), remarks


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
    return {"residual": min(found)} if found else {}


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
    get: Getter, lists: dict[tuple[str, str], list[str]], quarks: _Quarks | None
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
    known = quarks.monomials if quarks is not None else {}
    if known and all(forces) and sorted(n for level in forces for n in level) == sorted(known):
        for number in range(count):
            get.take(f"Level {number}", "forces")
        return [
            level | {"monomials": [known[n] for n in numbers]}
            for level, numbers in zip(levels, forces, strict=True)
        ], []
    remarks = ["quarks on the outermost level, the gauge action on the innermost"]
    if count == 1:
        return [levels[0] | {"monomials": ["light", "gauge"]}], remarks
    if count > 2:
        remarks.append(
            f"levels in between ({count - 2}) are left out; the gauge action keeps its number of steps"
        )
    inner = levels[-1]
    for level in levels[1:-1]:
        inner["steps"] *= level["steps"] * DRIFTS[level["scheme"]]
    return [levels[0] | {"monomials": ["light"]}, inner | {"monomials": ["gauge"]}], remarks
