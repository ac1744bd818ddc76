"""This module has inputs of openQCD's qcd1."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

from ..ground.errors import BadArgument
from ..run_files.dynamics import DRIFTS
from .common import Getter, left_out, lines, number_of, run_file
from .openqcd_doublets import Doublet, doublet_table, doublets_of

#: An input has at most this many levels; more are a misprint.
_MOST_LEVELS = 32
#: The type in [Boundary conditions] means these boundaries in time.
_BOUNDARIES = ("open", "Schroedinger functional", "open and Schroedinger functional", "periodic")
#: A key of the run file comes from this section and these keys; messages name them.
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
    """Return a run file from an input of openQCD's qcd1 (sections in brackets).

    The run is quenched, or has doublets. These keys are read: [Lattice parameters] beta, c0, kappa, csw;
    [Boundary conditions] type, theta; [HMC parameters] actions, mu, nlv, tau; [MD trajectories] nth, ntr,
    dtr_cnfg; [Random number generator] seed; [Run name] name; [Level n] integrator, lambda, nstep, forces;
    [Action n] action, im0, imu, isp; [Force n] isp; [Solver n] res. Each action TM1, with the ratios TM2 that
    follow it down to mu = 0, becomes a doublet and its Hasenbusch masses; the gauge action alone is a
    quenched run; forces stay on their levels. Where an input has no section of any action, one doublet is
    assumed, on the outermost level, and the gauge action goes to the innermost, which the run file says.

    Parameters
    ----------
    extents
        Lx, Ly, Lz, Lt, which the program has when it is compiled.
    periodic
        Take boundaries that are periodic in time (antiperiodic for quarks) whatever the input says.

    Raises
    ------
    BadArgument
        A key is missing, actions are no doublets (of one flavour, or with masses that do not follow each
        other), the integrator is another one, `trellis generate` refuses a value, or Trellis does not have
        the boundary conditions in time: all but periodic ones, unless `periodic`.
    """
    groups, lists = _openqcd_sections(text)
    get = Getter(groups, "the openQCD input")
    sites = list(extents)
    doublets, monomials, remarks = doublets_of(get, lists)
    integrator, more = _openqcd_integrator(get, lists, doublets, monomials)
    remarks += more
    residuals = [_openqcd_residual(get, lists, name) for name in ("Action", "Force")]
    remarks += _openqcd_time_boundary(get, periodic)
    theta = lists.get(("Boundary conditions", "theta"), [])
    phases = {"boundary": _openqcd_phases(theta)} if theta else {}
    kappas = lists.get(("Lattice parameters", "kappa"), [])
    fermions = [doublet_table(get, doublet, kappas) | phases for doublet in doublets]
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
    """Return keys of the run file, and what the input says of them, for messages."""

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
    """Return sections with the first word of each key, and (section, key) -> all its words."""
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


def _openqcd_residual(get: Getter, lists: dict[tuple[str, str], list[str]], kind: str) -> dict[str, float]:
    """Return the smallest residual of the solvers that sections of a kind name;
    empty where there are none.
    """
    solvers: set[str] = set()
    for (section, key), words in lists.items():
        if section.startswith(f"{kind} ") and key == "isp":
            get.take(section, key)
            solvers |= set(words)
    found = [get.number(f"Solver {n}", "res") for n in solvers if (f"Solver {n}", "res") in lists]
    return {"tolerance": min(found)} if found else {}


def _openqcd_time_boundary(get: Getter, periodic: bool) -> list[str]:
    """Return remarks on the boundary conditions in time."""
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
    """Return angles in x, y, z as phases over pi; openQCD's quarks are antiperiodic in time."""
    angles = [number_of(angle, "the openQCD input: theta of Boundary conditions") for angle in theta]
    if len(angles) != 3:
        raise BadArgument(f"theta of Boundary conditions: expected three angles, found {theta}")
    return [*(angle / math.pi for angle in angles), 1.0]


def _openqcd_integrator(
    get: Getter,
    lists: dict[tuple[str, str], list[str]],
    doublets: list[Doublet],
    monomials: dict[str, str],
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return levels, outermost first, and remarks: those of the input, or the outermost and innermost one."""
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
    """Return the levels that have monomials, outermost first, and a remark on the others."""
    kept: list[dict[str, Any]] = []
    idle, drifts = 0, 1  # these are the drifts of the levels since the last one that is kept
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
