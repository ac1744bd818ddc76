"""This module has inputs of the OpenACC staggered code."""

from __future__ import annotations

import math
from typing import Any, get_args

from ..ground.action_parameters import GaugeActionName
from ..ground.errors import BadArgument
from ..run_files.dynamics import SMALLEST_SINGLE_TOLERANCE
from .common import Getter, left_out, legal_names, lines, run_file

_OPENACC_GROUPS = (
    "ActionParameters",
    "FlavourParameters",
    "BackgroundFieldParameters",
    "MDParameters",
    "MontecarloParameters",
    "GaugeMeasuresSettings",
    "FermionMeasuresSettings",
    "TopoMeasuresSettings",
    "DeviceSettings",
    "Geometry",
    "DebugSettings",
    "InverterTricks",
    "TestSettings",
    "ReplicasNumbers",
    "AcceptancesMeasuresSettings",
)
#: These groups have no physics of the chain.
_OPENACC_LEFT_OUT = {*_OPENACC_GROUPS[5:9], *_OPENACC_GROUPS[10:13], _OPENACC_GROUPS[14]}
_TEMPERING = "ReplicasNumbers"
#: A key of the run file comes from this group and these keys; messages name them.
_SOURCES = {
    "lattice.extents": ("Geometry", "nx", "ny", "nz", "nt"),
    "action.beta": ("ActionParameters", "Beta"),
    "smearing.stout.rho": ("ActionParameters", "StoutRho"),
    "smearing.stout.steps": ("ActionParameters", "StoutSteps"),
    "background.b": ("BackgroundFieldParameters", "bx", "by", "bz"),
    "background.e": ("BackgroundFieldParameters", "ex", "ey", "ez"),
    "molecular_dynamics.length": ("MDParameters", "TrajLength"),
    "molecular_dynamics.tolerance": ("MDParameters", "residue_md"),
    "metropolis.tolerance": ("MDParameters", "residue_metro"),
    "metropolis.max_iterations": ("MDParameters", "MaxCGIterations"),
    "trajectories.total": ("MontecarloParameters", "Ntraj"),
    "trajectories.thermalisation": ("MontecarloParameters", "ThermNtraj"),
    "trajectories.keep_every": ("MontecarloParameters", "StoreConfInterval"),
    "trajectories.checkpoint_every": ("MontecarloParameters", "SaveConfInterval"),
    "random.seed": ("MontecarloParameters", "Seed"),
    "output.directory": ("MontecarloParameters", "StoreConfName"),
}
#: These are the same of a flavour.
_FLAVOUR_SOURCES = {
    "n_f": "Degeneracy",
    "mass": "Mass",
    "mu_over_ipiT": "MuOverPiT",
    "charge_thirds": "Charge",
    "pseudofermions": "PseudoFermions",
}


def from_openacc(text: str, *, action: GaugeActionName = "symanzik", one_replica: bool = False) -> str:
    """Return a run file from an input of the OpenACC staggered code (groups of NAME VALUE lines).

    Parameters
    ----------
    action
        The gauge action that the program was compiled with.
    one_replica
        Leave parallel tempering out: take the chain without a defect alone, where the input has several.

    Raises
    ------
    BadArgument
        The action is another one, a group or a key is missing or comes twice, a value has another type or
        `trellis generate` refuses it, or Trellis does not do something of the input (the topological
        potential; parallel tempering, unless `one_replica`).
    """
    if action not in get_args(GaugeActionName):
        raise BadArgument(f"action: expected one of {', '.join(get_args(GaugeActionName))}, found {action!r}")
    groups = _openacc_groups(text)
    get = Getter(groups, "the OpenACC input")
    if get.number("ActionParameters", "TopoAct", 0) != 0:
        raise BadArgument("TopoAct: the multicanonical topological potential is not part of Trellis")
    tempering = _openacc_tempering(get, one_replica)
    flavours = [Getter([group], get.where) for group in groups if group[0] == "FlavourParameters"]
    names, renamed = legal_names(flavour.text("FlavourParameters", "Name") for flavour in flavours)
    fermions = [_openacc_flavour(flavour, name) for flavour, name in zip(flavours, names, strict=True)]
    field = [get.integer("BackgroundFieldParameters", k, 0) for k in ("bx", "by", "bz", "ex", "ey", "ez")]
    remarks = [
        "rational functions are made by Trellis from measured intervals, not from ExpMaxEigenvalue",
        "length is sqrt(2) times TrajLength: the momenta of that code are sqrt(2) times ours, <|P_01|^2> = 1",
    ]
    remarks += tempering + renamed
    if any(field) and not any(fermion["charge_thirds"] for fermion in fermions):
        remarks.append(f"no flavour has a Charge: the background field {field} is left out")
        field = [0] * 6
    if any(field):
        remarks.append(
            "the origin of the background field is the site 0 here, L/2 - 1 there: equal up to a shift"
        )
    steps = get.integer("ActionParameters", "StoutSteps")
    rho = get.number("ActionParameters", "StoutRho", 0.15)
    chain, more = _openacc_chain(get)
    remarks += more
    tables: list[tuple[str, Any]] = [
        ("lattice", {"extents": [get.integer("Geometry", k) for k in ("nx", "ny", "nz", "nt")]}),
        ("action", {"type": action, "beta": get.number("ActionParameters", "Beta")}),
        *([("smearing", {"stout": {"rho": rho, "steps": steps}})] if steps else []),
        ("background", {"b": field[:3], "e": field[3:]}),
        ("fermions", fermions),
        ("integrator", _openacc_integrator(get, names)),
        *chain,
    ]
    unread = [name for name in dict.fromkeys(n for n, _ in groups) if name in _OPENACC_LEFT_OUT]
    remarks += [f"groups that are not taken over: {', '.join(unread)}"] if unread else []
    return run_file(
        "an input of the OpenACC staggered code",
        remarks + left_out([get, *flavours]),
        tables,
        where=get.where,
        said=_openacc_said(get, flavours),
    )


def _openacc_said(get: Getter, flavours: list[Getter]) -> dict[str, str]:
    """Return keys of the run file, and what the input says of them."""
    said = {key: get.said(group, *keys) for key, (group, *keys) in _SOURCES.items()}
    steps = ["NmdSteps", "GaugeSubSteps"] if flavours else ["NmdSteps"]
    said |= {f"integrator.{n}.steps": get.said("MDParameters", key) for n, key in enumerate(steps)}
    return said | {
        f"fermions.{n}.{key}": flavour.said("FlavourParameters", source)
        for n, flavour in enumerate(flavours)
        for key, source in _FLAVOUR_SOURCES.items()
    }


def _openacc_tempering(get: Getter, one_replica: bool) -> list[str]:
    """Return remarks on the group of replicas with a defect in their boundary conditions."""
    count = get.integer(_TEMPERING, "totalnumber", 1)
    if count > 1 and not one_replica:
        raise BadArgument(
            f"totalnumber of {_TEMPERING} = {count}: parallel tempering in boundary conditions is not part "
            "of Trellis: expected one replica, or no such group; one_replica=True (--one-replica) takes the "
            "chain without a defect alone"
        )
    if count > 1:
        return [f"one chain without a defect, where the input has {count} replicas"]
    defect = get.number(_TEMPERING, "cr_values", 1.0)
    if defect != 1.0:
        raise BadArgument(
            f"cr_values of {_TEMPERING} = {defect:g}: a defect in the boundary conditions is not part of "
            "Trellis: expected 1"
        )
    return []


def _openacc_flavour(get: Getter, name: str) -> dict[str, Any]:
    """Return one [[fermions]]."""
    group = "FlavourParameters"
    return {
        "name": name,
        "type": "staggered",
        "n_f": get.number(group, "Degeneracy"),
        "mass": get.number(group, "Mass"),
        "mu_over_ipiT": get.number(group, "MuOverPiT"),
        "charge_thirds": get.integer(group, "Charge"),
        "pseudofermions": get.integer(group, "PseudoFermions"),
    }


def _openacc_integrator(get: Getter, names: list[str]) -> list[dict[str, Any]]:
    """Return the quarks on NmdSteps and the gauge action on GaugeSubSteps for each of their drifts."""
    integrator: list[dict[str, Any]] = [{"scheme": "omelyan2", "monomials": names}] if names else []
    integrator.append({"scheme": "omelyan2", "monomials": ["gauge"]})
    steps = ["NmdSteps", "GaugeSubSteps"] if names else ["NmdSteps"]
    for level, key in zip(integrator, steps, strict=True):
        level["steps"] = get.integer("MDParameters", key)
    return integrator


def _openacc_precision(get: Getter) -> tuple[str, list[str]]:
    """Return the precision of the molecular dynamics, and a remark if single cannot reach the residual."""
    dynamics = "MDParameters"
    residual = get.number(dynamics, "residue_md")
    if get.number(dynamics, "SinglePrecMD", 0) == 0:
        return "double", []
    if residual >= SMALLEST_SINGLE_TOLERANCE:
        return "single", []
    return "mixed", [
        f"residue_md = {residual:g} is beyond single precision (at least {SMALLEST_SINGLE_TOLERANCE:g}): "
        "precision is mixed here, with the residuals of solves in double, where SinglePrecMD asks for single"
    ]


def _openacc_chain(get: Getter) -> tuple[list[tuple[str, dict[str, Any]]], list[str]]:
    """Return the tables that do not define the action, and remarks.

    They are trajectories, residuals, random numbers and output.
    """
    dynamics, chain = "MDParameters", "MontecarloParameters"
    total = get.integer(chain, "Ntraj")  # its first ThermNtraj are the thermalisation
    thermalisation = min(get.integer(chain, "ThermNtraj"), total)
    trajectories = {"total": total, "thermalisation": thermalisation}
    if total > thermalisation:  # else it is among what is not taken over
        trajectories["keep_every"] = get.integer(chain, "StoreConfInterval")
    trajectories["checkpoint_every"] = get.integer(chain, "SaveConfInterval")
    precision, remarks = _openacc_precision(get)
    tables: list[tuple[str, dict[str, Any]]] = [
        (
            "molecular_dynamics",
            {
                # The momenta of the program are sqrt(2) times ours, <|P_01|^2> = 1.
                "length": math.sqrt(2) * get.number(dynamics, "TrajLength", 1.0),
                "tolerance": get.number(dynamics, "residue_md"),
                "precision": precision,
            },
        ),
        (
            "metropolis",
            {
                "tolerance": get.number(dynamics, "residue_metro"),
                "max_iterations": get.integer(dynamics, "MaxCGIterations", 10000),
            },
        ),
        ("trajectories", trajectories),
        ("random", {"seed": get.integer(chain, "Seed", 0)}),
        ("output", {"directory": get.text(chain, "StoreConfName")}),
    ]
    return tables, remarks


def _openacc_groups(text: str) -> list[tuple[str, dict[str, str]]]:
    groups: list[tuple[str, dict[str, str]]] = []
    for number, line in lines(text):
        words = line.split()
        if not words:
            continue
        if words[0] in _OPENACC_GROUPS:
            if words[0] != "FlavourParameters" and any(name == words[0] for name, _ in groups):
                raise BadArgument(f"line {number}: the group {words[0]} comes twice")
            groups.append((words[0], {}))
        elif not groups or len(words) < 2:
            raise BadArgument(
                f"line {number}: expected a group ({', '.join(_OPENACC_GROUPS)}) or NAME VALUE, found "
                f"{line!r}"
            )
        elif words[0] in groups[-1][1]:
            raise BadArgument(f"line {number}: {words[0]} of {groups[-1][0]} comes twice")
        else:
            groups[-1][1][words[0]] = words[1]
    return groups
