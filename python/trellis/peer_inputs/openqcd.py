"""Inputs of openQCD's qcd1."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from ..errors import BadArgument
from .common import Getter, left_out, lines, to_toml

#: Of an input; more are a misprint.
_MOST_LEVELS = 32


def from_openqcd(text: str, *, extents: Iterable[int]) -> str:
    """A run file from an input of openQCD's qcd1 with two flavours (sections in brackets).

    Read: [Lattice parameters] beta, c0, kappa, csw; [HMC parameters] nlv, tau; [MD trajectories] nth, ntr,
    dtr_cnfg; [Random number generator] seed; [Run name] name; [Level n] integrator, lambda, nstep. The gauge
    action goes to the innermost level and the quarks to the outermost; Hasenbusch masses are chosen anew.

    Parameters
    ----------
    extents
        Lx, Ly, Lz, Lt, which the program has when it is compiled.

    Raises
    ------
    BadArgument
        A key that is missing, more than one kappa, or another integrator.
    """
    groups, lists = _openqcd_sections(text)
    get = Getter(groups, "the openQCD input")
    integrator, remarks = _openqcd_integrator(get)
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
        ("fermions", [_openqcd_doublet(get, lists.get((lattice, "kappa"), []))]),
        ("integrator", integrator),
        ("molecular_dynamics", {"length": get.number("HMC parameters", "tau")}),
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


def _openqcd_integrator(get: Getter) -> tuple[list[dict[str, Any]], list[str]]:
    """Outermost and innermost level, outermost first, and remarks."""
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
    remarks = ["quarks on the outermost level, the gauge action on the innermost; no Hasenbusch masses"]
    if count == 1:
        return [levels[0] | {"monomials": ["light", "gauge"]}], remarks
    if count > 2:
        remarks.append(f"{count - 2} levels in between are left out")
    return [levels[0] | {"monomials": ["light"]}, levels[-1] | {"monomials": ["gauge"]}], remarks
