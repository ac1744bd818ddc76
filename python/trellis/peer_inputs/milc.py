"""This module has inputs of MILC's su3_rhmc_hisq."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ..ground.errors import BadArgument
from .common import Getter, left_out, legal_names, lines, number_of, run_file

#: Each key of the run file has the keys of the input from which it is made; messages name them.
_SOURCES = {
    "lattice.extents": ("nx", "ny", "nz", "nt"),
    "action.beta": ("beta",),
    "integrator": ("steps_per_trajectory",),
    "molecular_dynamics.length": ("steps_per_trajectory", "microcanonical_time_step"),
    "molecular_dynamics.tolerance": ("cgresid_md_fa_gr",),
    "metropolis.tolerance": ("cgresid_md_fa_gr",),
    "trajectories.total": ("warms", "trajecs"),
    "trajectories.thermalisation": ("warms",),
    "random.seed": ("iseed",),
}


def from_milc(
    text: str,
    *,
    flavours: Iterable[float] | None = None,
    tree_level: bool = False,
    directory: str = "milc_run",
) -> str:
    """Return a run file from the input of MILC's HISQ RHMC (KEY VALUE ... lines).

    Parameters
    ----------
    flavours
        n_f of each dynamical mass; default: dyn_flavors of the input.
    tree_level
        Take the tree-level gauge action also where the input has tadpole factors (u0 other than 1).
    directory
        The folder of the output.

    Raises
    ------
    BadArgument
        A key is missing, or u0 is not 1: MILC's gauge action then has one-loop terms with parallelograms,
        which Trellis does not have, unless `tree_level`; or `trellis generate` refuses a value.
    """
    values = _milc_values(text)
    get = Getter([("input", {k: v[0] for k, v in values.items()})], "the MILC input")

    def number(key: str, default: float | None = None) -> float:
        return get.number("input", key, default)

    def integer(key: str) -> int:
        return get.integer("input", key)

    u0 = number("u0", 1.0)
    if u0 != 1.0 and not tree_level:
        raise BadArgument(
            f"u0 = {u0:g}: expected 1, the gauge action without tadpole factors and one-loop terms; "
            "tree_level=True (--tree-level) takes it in place of MILC's, at the same 10 / g^2, which is "
            "another action"
        )
    n_f = list(flavours) if flavours is not None else _milc_flavours(values)
    fermions = _milc_fermions(values, integer("n_dyn_masses"), n_f)
    get.take("input", "dyn_mass", "dyn_flavors", "naik_term_epsilon", "prompt")
    get.take("input", "n_pseudo", "cgresid_md_fa_gr")
    dynamics, metropolis = _milc_residuals(text)
    steps = integer("steps_per_trajectory")
    tables: list[tuple[str, Any]] = [
        ("lattice", {"extents": [integer(k) for k in ("nx", "ny", "nz", "nt")]}),
        # MILC's beta is 10 / g^2 with 5/3 taken out; ours is 6 / g^2.
        ("action", {"type": "symanzik", "beta": 0.6 * number("beta")}),
        ("fermions", fermions),
        (
            "integrator",
            [
                {
                    "scheme": "omelyan2",
                    "steps": (steps + 1) // 2,  # MILC counts evaluations of the force, and a step has two
                    "monomials": [*(fermion["name"] for fermion in fermions), "gauge"],
                }
            ],
        ),
        (
            "molecular_dynamics",
            {"length": math.sqrt(2) * steps * number("microcanonical_time_step")} | dynamics,
        ),
        *([("metropolis", metropolis)] if metropolis else []),
        (
            "trajectories",
            {"total": integer("warms") + integer("trajecs"), "thermalisation": integer("warms")},
        ),
        ("random", {"seed": integer("iseed")}),
        ("output", {"directory": directory}),
    ]
    remarks = [
        "masses are the same numbers (MILC's matrix is 2 m + D', ours m + D)",
        "beta is 3/5 of MILC's",
        "length is sqrt(2) times MILC's: its momenta are sqrt(2) times ours, <|P_01|^2> = 1",
        "one time scale with omelyan2, half as many steps as MILC counts forces: choose steps with --tune",
    ]
    if "n_pseudo" in values:
        remarks.append(
            f"one pseudofermion for each flavour: which flavours MILC's n_pseudo = {values['n_pseudo'][0]} "
            "share is in its file of rational functions; set `pseudofermions`"
        )
    if u0 != 1.0:
        remarks.append(f"u0 = {u0:g}: tadpole factors and one-loop terms of the gauge action are left out")
    if "naik_term_epsilon" not in values:
        remarks.append(
            "epsilon is 0: MILC keeps naik_term_epsilon in its file of rational functions; set it for charm"
        )
    said = {key: _milc_said(values, *keys) for key, keys in _SOURCES.items()}
    said["output.directory"] = f"directory = {directory!r}"
    given = {"mass": "dyn_mass", "epsilon": "naik_term_epsilon"}
    given |= {"n_f": "dyn_flavors"} if flavours is None else {}
    for n in range(len(fermions)):
        said |= {f"fermions.{n}.{key}": _milc_said(values, source) for key, source in given.items()}
        if flavours is not None:
            said[f"fermions.{n}.n_f"] = f"flavours (--flavours) = {n_f}"
    return run_file(
        "an input of MILC's HISQ RHMC", remarks + left_out([get]), tables, where=get.where, said=said
    )


def _milc_said(values: dict[str, list[str]], *keys: str) -> str:
    """Return the input's text for keys, for messages."""
    return ", ".join(f"{key} = {' '.join(values[key])}" for key in keys if key in values)


def _milc_values(text: str) -> dict[str, list[str]]:
    """Return KEY -> its words; the first of several runs of an input counts."""
    values: dict[str, list[str]] = {}
    for _, line in lines(text):
        words = line.split()
        if len(words) > 1 and words[0] not in values:
            values[words[0]] = words[1:]
    return values


def _milc_residuals(text: str) -> tuple[dict[str, float], dict[str, float]]:
    """Return the residuals of the molecular dynamics, and those of action and heat bath.

    Each is the smallest of all pseudofermions.
    """
    found = []
    for _, line in lines(text):
        key, *words = line.split() or [""]
        if key == "cgresid_md_fa_gr":
            if len(words) != 3:
                raise BadArgument(f"the MILC input: cgresid_md_fa_gr: expected three numbers, found {words}")
            found.append([number_of(word, "the MILC input: cgresid_md_fa_gr") for word in words])
    if not found:
        return {}, {}
    return {"tolerance": min(r[0] for r in found)}, {"tolerance": min(min(r[1:]) for r in found)}


def _milc_flavours(values: dict[str, list[str]]) -> list[float]:
    """Return n_f of each mass as the input has them."""
    if "dyn_flavors" not in values:
        raise BadArgument(
            "the MILC input lacks dyn_flavors: give `flavours` (--flavours), n_f of each dynamical mass"
        )
    return [number_of(n, "the MILC input: dyn_flavors") for n in values["dyn_flavors"]]


def _milc_fermions(values: dict[str, list[str]], count: int, n_f: list[float]) -> list[dict[str, Any]]:
    """Return the [[fermions]], in MILC's order."""
    masses = [number_of(m, "the MILC input: dyn_mass") for m in values.get("dyn_mass", [])]
    if len(masses) != len(n_f) or len(masses) != count:
        raise BadArgument(
            f"the MILC input has {len(masses)} dyn_mass, n_dyn_masses = {count} and {len(n_f)} flavours do "
            "not agree"
        )
    epsilons = [
        number_of(e, "the MILC input: naik_term_epsilon") for e in values.get("naik_term_epsilon", [])
    ]
    epsilons = epsilons or [0.0] * len(masses)
    if len(epsilons) != len(masses):
        raise BadArgument(
            f"the MILC input: expected a naik_term_epsilon for each of {len(masses)} masses, found "
            f"{len(epsilons)}"
        )
    names = [f"mass_{m:g}".replace(".", "_") for m in masses]
    if len(set(names)) < len(names):
        names = [f"{name}_{k}" for k, name in enumerate(names)]
    names, _ = legal_names(names)  # 1e+06 has a sign
    return [
        {"name": name, "type": "hisq", "n_f": f, "mass": m, "epsilon": e}
        for name, f, m, e in zip(names, n_f, masses, epsilons, strict=True)
    ]
