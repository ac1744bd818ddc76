"""This module builds run files: a test names what matters to it, and the rest is that of a small run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trellis.run_files.writing import to_toml

Tables = Mapping[str, Any]

_HEAT_BATH: Tables = {
    "lattice": {"extents": [4, 4, 4, 4]},
    "action": {"beta": 6.0},
    "random": {"seed": 7},
    "sweeps": {"total": 4, "keep_every": 2},
    "output": {"directory": "out"},
}
_TRAJECTORIES: Tables = {
    "lattice": {"extents": [4, 4, 4, 4]},
    "action": {"type": "wilson", "beta": 5.5},
    "integrator": [{"scheme": "omelyan2", "steps": 4, "monomials": ["gauge"]}],
    "molecular_dynamics": {"length": 0.5},
    "trajectories": {"total": 2, "checkpoint_every": 1},
    "random": {"seed": 5},
    "output": {"directory": "out"},
}

_MEASUREMENT: Tables = {
    "configurations": {"files": "field.*"},
    "fermion": {"type": "wilson", "kappa": 0.1},
    "output": {"directory": "out"},
}


def heat_bath(*layers: Tables, **tables: Any) -> str:
    """Return a run file of a heat bath. Layers and tables change its tables key by key; None takes one
    away."""
    return to_toml(changed(_HEAT_BATH, *layers, tables))


def trajectories(*layers: Tables, **tables: Any) -> str:
    """Return a run file with [molecular_dynamics], changed in the same way."""
    return to_toml(changed(_TRAJECTORIES, *layers, tables))


def measurement(*layers: Tables, **tables: Any) -> str:
    """Return a run file of `trellis measure`, changed in the same way."""
    return to_toml(changed(_MEASUREMENT, *layers, tables))


def level(steps: int, *monomials: str, scheme: str = "omelyan2") -> dict[str, Any]:
    """Return a table of [[integrator]]."""
    return {"scheme": scheme, "steps": steps, "monomials": list(monomials or ["gauge"])}


def changed(tables: Tables, *layers: Tables) -> dict[str, Any]:
    """Return tables with the keys of each layer in turn; lists are replaced, and None takes a key away."""
    found = dict(tables)
    for layer in layers:
        for key, value in layer.items():
            if value is None:
                found.pop(key, None)
            elif isinstance(value, Mapping) and isinstance(found.get(key), Mapping):
                found[key] = changed(found[key], value)
            else:
                found[key] = value
    return found


#: These are the tables of a run from cold links that fails: on rougher ones solves take more than 22
#: iterations.
FAILING: Tables = {
    "action": {"beta": 4.0},
    "start": {"type": "cold"},
    "fermions": [{"name": "light", "type": "wilson", "n_f": 2, "mass": 0.1}],
    "integrator": [level(8, "gauge", "light")],
    "molecular_dynamics": {"length": 1.0, "tolerance": 1e-7},
    "metropolis": {"tolerance": 1e-7, "max_iterations": 22},
    "trajectories": {"thermalisation": 2},
}
ENDING: Tables = changed(FAILING, {"metropolis": {"max_iterations": 60}})
