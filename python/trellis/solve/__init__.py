"""This module has solvers as values: they are small frozen objects that say which method and how far, and
they compose.

>>> import trellis as tr
>>> solve = tr.even_odd(tr.mixed_precision(tr.cg(tolerance=1e-10), inner="half"))
>>> S = solve(M).propagator(tr.point_source(U.geometry, (0, 0, 0, 0)))          # doctest: +SKIP
>>> solve = tr.gcr(tolerance=1e-8, preconditioner=tr.mr(iterations=8))

Any solver may stand inside any other. Tolerances are |b - A x| / |b| of every right-hand side, of the true
residual computed in double. Each method is one file here and one in the compiled part, which knows its name.
"""
