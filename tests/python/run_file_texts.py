"""Run files that tests of several rooms use."""

from __future__ import annotations

#: From cold links; on rougher ones solves take more than 22 iterations.
FAILING_RUN = """\
[lattice]
extents = [4, 4, 4, 4]
[action]
beta = 4.0
[start]
type = "cold"
[[fermions]]
name = "light"
type = "wilson"
n_f = 2
mass = 0.1
[[integrator]]
steps = 8
monomials = ["gauge", "light"]
[molecular_dynamics]
residual = 1e-7
[metropolis]
residual = 1e-7
max_iterations = 22
[trajectories]
total = 2
thermalisation = 2
checkpoint_every = 1
[random]
seed = 5
[output]
directory = "out"
"""
ENDING_RUN = FAILING_RUN.replace("= 22", "= 60")
