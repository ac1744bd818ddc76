"""Correlators of baryons with any phase in time do not depend on where in time the source is."""

from __future__ import annotations

import numpy as np
import pytest

import trellis as tr

SHIFT = 2


def propagator(U: tr.GaugeField, phase: complex, time: int) -> tuple[tr.BoundSolver, tr.Propagator]:
    M = tr.WilsonClover(U, kappa=0.12, csw=1.0, boundary=(1, 1, 1, phase))
    solve = tr.even_odd(tr.cg(tolerance=1e-12))(M)
    return solve, solve.propagator(tr.point_source(U.geometry, (1, 0, 2, time)))


def three_point(solve: tr.BoundSolver, S: tr.Propagator) -> np.ndarray:
    source = tr.nucleon_sequential_source(S, separation=2, insertion="up")
    return tr.nucleon_three_point(solve.propagator(source), S, ["gamma_t"])


@pytest.mark.parametrize("angle", [0.7, np.pi / 3, np.pi, -2.0])
def test_correlators_do_not_depend_on_the_place_of_the_boundary(angle: float) -> None:
    """Links and source moved in time leave everything as it was once the phase is taken out; pi/3 is that of
    three quarks with the sign -1, up to rounding."""
    U = tr.quenched(lattice=(4, 4, 4, 4), beta=5.7, seed=2, sweeps=5)
    V = tr.GaugeField.from_numpy(np.roll(U.to_numpy(), SHIFT, axis=0))
    phase = np.exp(1j * angle)
    results = []
    for links, time in ((U, 1), (V, 1 + SHIFT)):  # the second wraps around from its second time slice on
        solve, S = propagator(links, phase, time)
        inserted = tr.feynman_hellmann_propagator(solve, S, "gamma_t")
        results.append(
            {
                "full": tr.nucleon(S),
                "projected": tr.baryon("proton", up=S, down=S, form="projected"),
                "decuplet": tr.baryon("delta_plus_plus", up=S),
                "negative": tr.baryon("proton", up=S, down=S, parity=-1),
                "feynman_hellmann": tr.nucleon_feynman_hellmann(S, inserted, insertion="up"),
                "three_point": three_point(solve, S),
                "pion": tr.meson(S, S, "gamma5", "gamma5"),
            }
        )
    for name, expected in results[0].items():
        found = results[1][name]
        assert np.abs(found - expected).max() < 1e-9 * np.abs(expected).max(), name


def test_dirichlet_has_no_phase() -> None:
    """The states that run backwards between the walls stay."""
    U = tr.quenched(lattice=(4, 4, 4, 4), beta=5.7, seed=2, sweeps=5)
    _, S = propagator(U, 0, 2)
    assert np.all(np.abs(tr.nucleon(S)) > 0)
