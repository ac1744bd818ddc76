"""Quarks of run files make their operators by their own answers, in every place of a run file."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trellis as tr
from trellis.evolve.quark_operators import FlavourOperators, make_measured_operator, make_operator
from trellis.evolve.sea_operators import SeaOperators
from trellis.run_files import HmcRun, MeasureRun
from trellis.run_files.loading import validate_run
from trellis.run_files.smearing import SmearingTable
from trellis.run_files.valence import VALENCE_QUARKS

#: Each type has its keys beside the phase 1/2 in x, and the arguments of the operator that they mean.
QUARKS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "wilson": ({"kappa": 0.12}, {"mass": 1 / 0.24 - 4}),
    "clover": ({"mass": 0.3, "csw": 1.2}, {"mass": 0.3, "csw": 1.2}),
    "twisted_mass": (
        {"mass": 0.3, "csw": 1.2, "twisted_mass": 0.1},
        {"mass": 0.3, "csw": 1.2, "twisted_mass": 0.1},
    ),
    "domain_wall": (
        {"mass": 0.2, "Ls": 4, "M5": 1.7},
        {"mass": 0.2, "Ls": 4, "M5": 1.7, "b5": 1.5, "c5": 0.5},
    ),
    "staggered": ({"mass": 0.2, "mu_over_ipiT": 0.1}, {"mass": 0.2, "mu_over_ipiT": 0.1}),
    "hisq": ({"mass": 0.2, "epsilon": -0.1}, {"mass": 0.2, "epsilon": -0.1}),
}
CLASSES = {
    **dict.fromkeys(("wilson", "clover", "twisted_mass"), tr.WilsonClover),
    "domain_wall": tr.MoebiusDomainWall,
    "staggered": tr.Staggered,
    "hisq": tr.HISQ,
}
BOUNDARY = (0.5, 0.0, 1.0, 1.0)
FACTORS = (np.exp(0.5j * np.pi), 1.0, -1.0, -1.0)


@pytest.fixture(scope="module")
def U() -> tr.GaugeField:
    return tr.quenched(lattice=(4, 4, 4, 4), beta=6.0, seed=3, sweeps=1)


def measured(kind: str) -> Any:
    fermion = {"type": kind, "boundary": list(BOUNDARY), **QUARKS[kind][0]}
    content = {"configurations": {"files": "x.1"}, "output": {"directory": "o"}, "fermion": fermion}
    if fermion["boundary"] != [0.0, 0.0, 0.0, 1.0] and CLASSES[kind] not in (tr.Staggered, tr.HISQ):
        content["correlators"] = {"baryons": []}
    return validate_run(content, MeasureRun, "run.toml", "").fermion


@pytest.mark.parametrize("kind", QUARKS)
def test_a_measured_quark_has_the_operator_of_its_keys(U: tr.GaugeField, kind: str) -> None:
    quark = measured(kind)
    M = make_operator(quark, U)
    expected = CLASSES[kind](U, boundary=FACTORS, **QUARKS[kind][1])
    assert type(M) is CLASSES[kind]
    assert M._record == expected._record
    assert (M._slices, M._has_spin, M._has_multigrid) == (quark.slices, quark.has_spin, quark.has_multigrid)
    psi = np.random.default_rng(1).standard_normal((quark.slices,) * (quark.slices > 1) + shape(quark)) + 0j
    assert np.array_equal(M.apply(psi), expected.apply(psi))


def shape(quark: Any) -> tuple[int, ...]:
    return (4, 4, 4, 4, 4, 3) if quark.has_spin else (4, 4, 4, 4, 3)


def test_a_wall_in_time_is_a_phase_of_zero(U: tr.GaugeField) -> None:
    quark = measured("wilson").model_copy(update={"boundary": (0.0, 0.0, 0.0, "dirichlet")})
    assert make_operator(quark, U).boundary == (1, 1, 1, 0)


def test_columns_are_those_of_domain_walls_alone(U: tr.GaugeField) -> None:
    assert make_measured_operator(measured("domain_wall"), U, 3)._columns_at_once(12) == 3
    assert make_measured_operator(measured("wilson"), U, 3)._columns_at_once(12) == 12


def test_flavours_share_smeared_links(U: tr.GaugeField) -> None:
    operators = FlavourOperators(U)
    flavours = [
        VALENCE_QUARKS[kind].model_validate({"name": name, "type": kind, **QUARKS[kind][0], "mass": mass})
        for name, kind, mass in (("a", "hisq", 0.2), ("b", "hisq", 0.4), ("c", "staggered", 0.4))
    ]
    a, b, c = (operators.of(flavour) for flavour in flavours)
    assert a._smeared is b._smeared
    assert (a.mass, b.mass, c.mass) == (0.2, 0.4, 0.4)
    stout = SmearingTable.model_validate({"stout": {"rho": 0.1, "steps": 2}})
    smeared = operators.of(flavours[2].model_copy(update={"smearing": stout}))
    assert smeared.geometry == c.geometry
    assert smeared._links.plaquette == pytest.approx(U.stout(rho=0.1, steps=2).plaquette, rel=1e-13)


def test_the_sea_has_an_operator_of_each_type() -> None:
    own = {"wilson": {"n_f": 2}, "clover": {"n_f": 2}, "twisted_mass": {"n_f": 2}}
    fermions = [
        {"name": f"f{i}", "type": kind, "n_f": 1, **own.get(kind, {}), **QUARKS[kind][0]}
        for i, kind in enumerate(VALENCE_QUARKS)
    ]
    run = validate_run(
        {
            "lattice": {"extents": [4, 4, 4, 4]},
            "action": {"beta": 6.0},
            "integrator": [{"steps": 1, "monomials": ["gauge", *(f["name"] for f in fermions)]}],
            "fermions": fermions,
            "molecular_dynamics": {"length": 1.0},
            "trajectories": {"total": 1},
            "start": {"type": "cold"},
            "random": {"seed": 1},
            "output": {"directory": "o"},
        },
        HmcRun,
        "run.toml",
        "",
    )
    operators = SeaOperators(run)
    for flavour in run.fermions:
        assert operators.of(flavour) is not None
        assert (operators.links_of(flavour) is operators._hisq) == flavour.has_own_smearing
