"""Chiral symmetry of domain-wall quarks on a quenched configuration gets better as Ls grows."""

from __future__ import annotations

import numpy as np

import trellis as tr


def test_residual_mass_falls_with_ls() -> None:
    U = tr.quenched(lattice=(4, 4, 4, 8), beta=6.0, seed=6, sweeps=60)
    solver = tr.even_odd(tr.mixed_precision(tr.cg(tolerance=1e-9), inner="half"))
    found = {}
    for Ls in (4, 8):
        M = tr.MoebiusDomainWall(U, mass=0.1, b5=1.5, c5=0.5, Ls=Ls, M5=1.8)
        S = solver(M).propagator(tr.point_source(U.geometry, (0, 0, 0, 0)))
        found[Ls] = tr.residual_mass(S)[2:7].mean()
    # Beyond the threshold modes of the transfer matrix it falls at least as 1 / Ls.
    assert 0 < found[8] < 0.5 * found[4] < 0.05
    heavy = solver(tr.MoebiusDomainWall(U, mass=0.2, Ls=8)).propagator(
        tr.point_source(U.geometry, (0, 0, 0, 0))
    )
    # This is a property of the field and of Ls, not of the mass.
    assert np.isclose(tr.residual_mass(heavy)[2:7].mean(), found[8], rtol=0.5)
