"""Run files from the inputs of other programs: the OpenACC staggered code, MILC's RHMC, openQCD's qcd1.

Each function reads the input's text and gives the text of a run file of `trellis generate`. What a program
fixes when it is compiled (the gauge action) or keeps in another file (rational functions) is an argument or
chosen by Trellis. Comments at the head say what is not taken over as it is; measurements and file names are
not taken over.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Literal

from .errors import BadArgument

GaugeAction = Literal["wilson", "symanzik", "iwasaki", "dbw2"]

# ----------------------------------------------------------------------------------------------------
# the OpenACC staggered code


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
)
#: Groups without physics of the chain.
_OPENACC_LEFT_OUT = {*_OPENACC_GROUPS[5:9], *_OPENACC_GROUPS[10:]}


def from_openacc(text: str, *, action: GaugeAction = "symanzik") -> str:
    """A run file from an input of the OpenACC staggered code (groups of NAME VALUE lines).

    Parameters
    ----------
    action
        The gauge action that the program was compiled with.

    Raises
    ------
    BadArgument
        A group or a key that is missing, or something that Trellis does not do (the topological potential).
    """
    groups = _openacc_groups(text)
    get = _Getter(groups, "the OpenACC input")
    if get.number("ActionParameters", "TopoAct", 0) != 0:
        raise BadArgument("TopoAct: the multicanonical topological potential is not part of Trellis")
    flavours = [values for name, values in groups if name == "FlavourParameters"]
    fermions, names = [], []
    for values in flavours:
        one = _Getter([("FlavourParameters", values)], "the OpenACC input")
        names.append(one.text("FlavourParameters", "Name"))
        fermions.append(
            {
                "name": names[-1],
                "type": "staggered",
                "n_f": one.number("FlavourParameters", "Degeneracy"),
                "mass": one.number("FlavourParameters", "Mass"),
                "mu_over_ipiT": one.number("FlavourParameters", "MuOverPiT"),
                "charge_thirds": _integer(one.number("FlavourParameters", "Charge"), "Charge"),
                "pseudofermions": _integer(
                    one.number("FlavourParameters", "PseudoFermions"), "PseudoFermions"
                ),
            }
        )
    field = [
        _integer(get.number("BackgroundFieldParameters", k, 0), k)
        for k in ("bx", "by", "bz", "ex", "ey", "ez")
    ]
    remarks = ["rational functions are made by Trellis from measured intervals, not from ExpMaxEigenvalue"]
    if any(field):
        remarks.append(
            "the origin of the background field is the site 0 here, L/2 - 1 there: equal up to a shift"
        )
    levels = _integer(get.number("ActionParameters", "StoutSteps"), "StoutSteps")
    therm = _integer(get.number("MontecarloParameters", "ThermNtraj"), "ThermNtraj")
    integrator: list[dict[str, Any]] = [{"scheme": "omelyan2", "monomials": names}] if names else []
    integrator.append({"scheme": "omelyan2", "monomials": ["gauge"]})
    steps = ["NmdSteps", "GaugeSubSteps"] if names else ["NmdSteps"]
    for level, key in zip(integrator, steps, strict=True):
        level["steps"] = _integer(get.number("MDParameters", key), key)
    tables: list[tuple[str, dict[str, Any] | list[dict[str, Any]]]] = [
        ("lattice", {"extents": [_integer(get.number("Geometry", k), k) for k in ("nx", "ny", "nz", "nt")]}),
        ("action", {"type": action, "beta": get.number("ActionParameters", "Beta")}),
        (
            "smearing",
            {"rho": get.number("ActionParameters", "StoutRho", 0.15) if levels else 0.0, "levels": levels},
        ),
        ("background", {"b": field[:3], "e": field[3:]}),
        ("fermions", fermions),
        ("integrator", integrator),
        (
            "molecular_dynamics",
            {
                "length": get.number("MDParameters", "TrajLength", 1.0),
                "residual": get.number("MDParameters", "residue_md"),
                "precision": "single" if get.number("MDParameters", "SinglePrecMD", 0) != 0 else "double",
            },
        ),
        (
            "metropolis",
            {
                "residual": get.number("MDParameters", "residue_metro"),
                "max_iterations": _integer(
                    get.number("MDParameters", "MaxCGIterations", 10000), "MaxCGIterations"
                ),
            },
        ),
        (
            "trajectories",
            {
                "total": therm + _integer(get.number("MontecarloParameters", "Ntraj"), "Ntraj"),
                "thermalisation": therm,
                "keep_every": _integer(
                    get.number("MontecarloParameters", "StoreConfInterval"), "StoreConfInterval"
                ),
                "checkpoint_every": _integer(
                    get.number("MontecarloParameters", "SaveConfInterval"), "SaveConfInterval"
                ),
            },
        ),
        ("random", {"seed": _integer(get.number("MontecarloParameters", "Seed", 0), "Seed")}),
        ("output", {"directory": get.text("MontecarloParameters", "StoreConfName")}),
    ]
    return _toml("an input of the OpenACC staggered code", remarks, tables)


def _openacc_groups(text: str) -> list[tuple[str, dict[str, str]]]:
    groups: list[tuple[str, dict[str, str]]] = []
    for number, raw in enumerate(text.splitlines(), start=1):
        words = raw.split("#", 1)[0].split()
        if not words:
            continue
        if words[0] in _OPENACC_GROUPS:
            groups.append((words[0], {}))
        elif not groups or len(words) < 2:
            raise BadArgument(f"line {number}: expected a group ({', '.join(_OPENACC_GROUPS)}) or NAME VALUE")
        else:
            groups[-1][1][words[0]] = words[1]
    return [(name, values) for name, values in groups if name not in _OPENACC_LEFT_OUT]


class _Getter:
    """Values of groups, with errors that name group and key."""

    def __init__(self, groups: Iterable[tuple[str, dict[str, str]]], where: str) -> None:
        self.groups, self.where = list(groups), where

    def text(self, group: str, key: str, default: Any = None) -> str:
        for name, values in self.groups:
            if name == group and key in values:
                return values[key]
        if default is None:
            raise BadArgument(f"{self.where} lacks {key} of {group}")
        return str(default)

    def number(self, group: str, key: str, default: float | None = None) -> float:
        found = self.text(group, key, default)
        try:
            return float(found)
        except ValueError:
            raise BadArgument(f"{self.where}: {key} of {group}: expected a number, found {found!r}") from None


def _integer(value: float, name: str) -> int:
    if value != int(value):
        raise BadArgument(f"{name} = {value:g}: expected an integer")
    return int(value)


# ----------------------------------------------------------------------------------------------------
# MILC's su3_rhmc_hisq


def from_milc(text: str, *, flavours: Iterable[float], directory: str = "milc_run") -> str:
    """A run file from the input of MILC's HISQ RHMC (KEY VALUE ... lines).

    Parameters
    ----------
    flavours
        n_f of each dynamical mass, which MILC keeps in its file of rational functions.
    directory
        Of the output.

    Raises
    ------
    BadArgument
        A key is missing, or tadpole factors (u0 other than 1), which the tree-level action has not.
    """
    values: dict[str, list[str]] = {}
    for raw in text.splitlines():
        words = raw.split("#", 1)[0].split()
        if len(words) > 1 and words[0] not in values:
            values[words[0]] = words[1:]
    get = _Getter([("input", {k: v[0] for k, v in values.items()})], "the MILC input")

    def number(key: str, default: float | None = None) -> float:
        return get.number("input", key, default)

    if number("u0", 1.0) != 1.0:
        raise BadArgument(f"u0 = {number('u0'):g}: only the action without tadpole factors, u0 = 1, is built")
    masses = [float(m) for m in values.get("dyn_mass", [])]
    n_f = list(flavours)
    if len(masses) != len(n_f) or len(masses) != number("n_dyn_masses"):
        raise BadArgument(
            f"the MILC input has {len(masses)} dyn_mass, n_dyn_masses and {len(n_f)} flavours do not agree"
        )
    epsilons = [float(e) for e in values.get("naik_term_epsilon", [])] or [0.0] * len(masses)
    steps = _integer(number("steps_per_trajectory"), "steps_per_trajectory")
    names = [f"mass_{m:g}".replace(".", "_") for m in masses]
    tables: list[tuple[str, Any]] = [
        ("lattice", {"extents": [_integer(number(k), k) for k in ("nx", "ny", "nz", "nt")]}),
        # 10 / g^2 with 5/3 taken out; ours is 6 / g^2
        ("action", {"type": "symanzik", "beta": 0.6 * number("beta")}),
        (
            "fermions",
            [
                {"name": name, "type": "hisq", "n_f": f, "mass": m, "epsilon": e}
                for name, f, m, e in zip(names, n_f, masses, epsilons, strict=True)
            ],
        ),
        ("integrator", [{"scheme": "omelyan2", "steps": steps, "monomials": [*names, "gauge"]}]),
        ("molecular_dynamics", {"length": steps * number("microcanonical_time_step")}),
        (
            "trajectories",
            {
                "total": _integer(number("warms") + number("trajecs"), "trajecs"),
                "thermalisation": _integer(number("warms"), "warms"),
            },
        ),
        ("random", {"seed": _integer(number("iseed"), "iseed")}),
        ("output", {"directory": directory}),
    ]
    remarks = [
        "masses are the same numbers (MILC's matrix is 2 m + D', ours m + D)",
        "beta is 3/5 of MILC's; the one-loop terms of its gauge action are left out",
        "one time scale with omelyan2: choose steps with --tune",
    ]
    return _toml("an input of MILC's HISQ RHMC", remarks, tables)


# ----------------------------------------------------------------------------------------------------
# openQCD


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
    groups: list[tuple[str, dict[str, str]]] = []
    lists: dict[tuple[str, str], list[str]] = {}
    for raw in text.splitlines():
        line = raw.split("#", 1)[0].strip()
        section = re.match(r"^\[(.+)\]$", line)
        if section:
            groups.append((section[1], {}))
        elif line and groups:
            words = line.split()
            groups[-1][1][words[0]] = words[1] if len(words) > 1 else ""
            lists[groups[-1][0], words[0]] = words[1:]
    get = _Getter(groups, "the openQCD input")
    kappas = lists.get(("Lattice parameters", "kappa"), [])
    if len(kappas) != 1:
        raise BadArgument(f"kappa: expected one doublet, found {kappas}; add further flavours by hand")
    schemes = {"LPFR": "leapfrog", "OMF2": "omelyan2", "OMF4": "omelyan4"}
    integrator: list[dict[str, Any]] = []
    count = _integer(get.number("HMC parameters", "nlv"), "nlv")
    for number in range(count):  # level 0 is their innermost
        name = f"Level {number}"
        scheme = get.text(name, "integrator")
        if scheme not in schemes:
            raise BadArgument(f"[{name}] integrator {scheme}: expected one of {', '.join(schemes)}")
        level: dict[str, Any] = {
            "scheme": schemes[scheme],
            "steps": _integer(get.number(name, "nstep"), "nstep"),
        }
        if scheme == "OMF2":
            level["lambda"] = get.number(name, "lambda", 0.1931833275037836)
        integrator.insert(0, level)
    remarks = ["quarks on the outermost level, the gauge action on the innermost; no Hasenbusch masses"]
    if count == 1:
        integrator[0]["monomials"] = ["light", "gauge"]
    else:
        integrator = [integrator[0], integrator[-1]]
        integrator[0]["monomials"], integrator[1]["monomials"] = ["light"], ["gauge"]
        if count > 2:
            remarks.append(f"{count - 2} levels in between are left out")
    trajectories = "MD trajectories"
    c0 = get.number("Lattice parameters", "c0", 1.0)
    tables: list[tuple[str, Any]] = [
        ("lattice", {"extents": list(extents)}),
        ("action", {"type": "custom", "beta": get.number("Lattice parameters", "beta"), "c1": (1 - c0) / 8}),
        (
            "fermions",
            [
                {
                    "name": "light",
                    "type": "wilson",
                    "n_f": 2,
                    "kappa": float(kappas[0]),
                    "csw": get.number("Lattice parameters", "csw"),
                }
            ],
        ),
        ("integrator", integrator),
        ("molecular_dynamics", {"length": get.number("HMC parameters", "tau")}),
        (
            "trajectories",
            {
                "total": _integer(get.number(trajectories, "ntr"), "ntr"),
                "thermalisation": _integer(get.number(trajectories, "nth"), "nth"),
                "keep_every": _integer(get.number(trajectories, "dtr_cnfg"), "dtr_cnfg"),
            },
        ),
        ("random", {"seed": _integer(get.number("Random number generator", "seed"), "seed")}),
        ("output", {"directory": get.text("Run name", "name")}),
    ]
    return _toml("an input of openQCD", remarks, tables)


# ----------------------------------------------------------------------------------------------------


def _toml(source: str, remarks: Iterable[str], tables: Iterable[tuple[str, Any]]) -> str:
    lines = [f"# From {source}.", *[f"# {remark}" for remark in remarks]]
    for name, content in tables:
        for table in content if isinstance(content, list) else [content]:
            lines += ["", f"[[{name}]]" if isinstance(content, list) else f"[{name}]"]
            lines += [f"{key} = {_literal(value)}" for key, value in table.items()]
    return "\n".join(lines) + "\n"


def _literal(value: Any) -> str:
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, list):
        return "[" + ", ".join(_literal(v) for v in value) + "]"
    return repr(value)


#: By the name that the command takes.
CONVERTERS: dict[str, Callable[..., str]] = {
    "openacc": from_openacc,
    "milc": from_milc,
    "openqcd": from_openqcd,
}
