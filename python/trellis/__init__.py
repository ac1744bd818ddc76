"""Trellis: lattice QCD from a gauge field to a number with an error bar.

>>> import trellis as tr
>>> U = tr.read_gauge_field("conf.ildg")                                        # doctest: +SKIP
>>> M = tr.WilsonClover(U, kappa=0.13, csw=1.0, boundary=(1, 1, 1, -1))         # doctest: +SKIP
>>> solve = tr.even_odd(tr.mixed_precision(tr.cg(tolerance=1e-10), inner="half"))
>>> S = solve(M).propagator(tr.point_source(U.geometry, (0, 0, 0, 0)))          # doctest: +SKIP
>>> pion = tr.meson(S, S, "gamma5", "gamma5")                                   # doctest: +SKIP

Conventions (signs, norms, layouts) are those of doc/conventions.md. Arrays that leave or enter trellis have
the site order [t, z, y, x]; lists of four numbers (extents, coordinates, boundary phases) have the order
x, y, z, t. Under mpirun every rank calls the same functions, and arrays hold the part of the calling rank.

The compiled part is loaded at the first use of something that needs it, so that ``import trellis.analysis``
works without it.
"""

from __future__ import annotations

import importlib

#: That of typing, whose import takes several times as long as this file: __main__ takes Ctrl-C the sooner.
TYPE_CHECKING = False

__version__ = "0.1.0"
#: Version of doc/conventions.md; written into every result.
conventions_version = "1"

__all__ = [
    "HISQ",
    "BadArgument",
    "ChecksumError",
    "ConservedCurrent",
    "Eigenvectors",
    "Error",
    "FileError",
    "FlowHistory",
    "GaugeField",
    "Geometry",
    "GradientFlow",
    "MoebiusDomainWall",
    "NotAvailable",
    "NotConverged",
    "NumericError",
    "OutOfMemory",
    "Propagator",
    "RunFileError",
    "SolveReport",
    "Staggered",
    "StaggeredObservables",
    "WilsonClover",
    "WilsonObservables",
    "abort",
    "all_mesons",
    "barrier",
    "baryon",
    "bicgstab",
    "cg",
    "cold",
    "conserved_current_propagator",
    "custom_operator",
    "deflated",
    "dense",
    "even_odd",
    "feynman_hellmann_propagator",
    "flow_history",
    "gaussian_source",
    "gcr",
    "hamiltonian",
    "hot",
    "lanczos",
    "log_det",
    "meson",
    "mesons",
    "mixed_precision",
    "momenta_up_to",
    "mr",
    "noise_source",
    "nucleon",
    "nucleon_conserved_three_point",
    "nucleon_feynman_hellmann",
    "nucleon_sequential_source",
    "nucleon_three_point",
    "point_source",
    "projected_feynman_hellmann",
    "propagator_norm",
    "quenched",
    "rank",
    "ranks",
    "read_eigenvectors",
    "read_gauge_field",
    "read_propagator",
    "read_scidac_propagator",
    "reference_time",
    "residual_mass",
    "sequential_source",
    "three_point",
    "w0_scale",
    "wall_source",
    "weak_field",
]

# Public name -> submodule that defines it.
_SUBMODULE_OF = {
    **dict.fromkeys(
        [
            "BadArgument",
            "ChecksumError",
            "Error",
            "FileError",
            "NotAvailable",
            "NotConverged",
            "NumericError",
            "OutOfMemory",
            "RunFileError",
        ],
        "errors",
    ),
    **dict.fromkeys(["GaugeField", "Geometry", "read_gauge_field"], "gauge"),
    **dict.fromkeys(["cold", "hot", "weak_field"], "starts"),
    "quenched": "heatbath",
    "hamiltonian": "monomials",
    **dict.fromkeys(["FlowHistory", "GradientFlow", "flow_history"], "flow"),
    **dict.fromkeys(["reference_time", "w0_scale"], "scales"),
    "WilsonClover": "operators",
    "WilsonObservables": "noise_traces",
    **dict.fromkeys(["HISQ", "Staggered", "StaggeredObservables"], "staggered"),
    **dict.fromkeys(["Eigenvectors", "lanczos"], "deflation"),
    "dense": "dense_matrices",
    "log_det": "determinants",
    "read_eigenvectors": "eigenvector_files",
    **dict.fromkeys(["MoebiusDomainWall", "propagator_norm", "residual_mass"], "domain_wall"),
    **dict.fromkeys(
        [
            "conserved_current_propagator",
            "feynman_hellmann_propagator",
            "nucleon_feynman_hellmann",
            "projected_feynman_hellmann",
            "sequential_source",
        ],
        "feynman_hellmann",
    ),
    **dict.fromkeys(["ConservedCurrent", "nucleon_conserved_three_point"], "conserved_three_point"),
    **dict.fromkeys(["nucleon_sequential_source", "nucleon_three_point", "three_point"], "sequential"),
    "SolveReport": "solve.report",
    "custom_operator": "solve.custom_operator",
    **dict.fromkeys(["gaussian_source", "noise_source", "point_source", "wall_source"], "sources"),
    "Propagator": "propagators",
    **dict.fromkeys(["read_propagator", "read_scidac_propagator"], "propagator_files"),
    **dict.fromkeys(["all_mesons", "baryon", "meson", "mesons", "momenta_up_to", "nucleon"], "correlators"),
    **dict.fromkeys(["abort", "barrier", "rank", "ranks"], "parallel"),
}
_SUBMODULES = ("analysis", "errors", "report", "run_files")

if TYPE_CHECKING:
    from .conserved_three_point import ConservedCurrent, nucleon_conserved_three_point
    from .correlators import all_mesons, baryon, meson, mesons, momenta_up_to, nucleon
    from .deflation import Eigenvectors, lanczos
    from .dense_matrices import dense
    from .determinants import log_det
    from .domain_wall import MoebiusDomainWall, propagator_norm, residual_mass
    from .eigenvector_files import read_eigenvectors
    from .errors import (
        BadArgument,
        ChecksumError,
        Error,
        FileError,
        NotAvailable,
        NotConverged,
        NumericError,
        OutOfMemory,
        RunFileError,
    )
    from .feynman_hellmann import (
        conserved_current_propagator,
        feynman_hellmann_propagator,
        nucleon_feynman_hellmann,
        projected_feynman_hellmann,
        sequential_source,
    )
    from .flow import FlowHistory, GradientFlow, flow_history
    from .gauge import GaugeField, Geometry, read_gauge_field
    from .heatbath import quenched
    from .monomials import hamiltonian
    from .noise_traces import WilsonObservables
    from .operators import WilsonClover
    from .parallel import abort, barrier, rank, ranks
    from .propagator_files import read_propagator, read_scidac_propagator
    from .propagators import Propagator
    from .scales import reference_time, w0_scale
    from .sequential import nucleon_sequential_source, nucleon_three_point, three_point
    from .solve.bicgstab import bicgstab
    from .solve.cg import cg
    from .solve.custom_operator import custom_operator
    from .solve.deflated import deflated
    from .solve.even_odd import even_odd
    from .solve.gcr import gcr
    from .solve.mixed_precision import mixed_precision
    from .solve.mr import mr
    from .solve.report import SolveReport
    from .sources import gaussian_source, noise_source, point_source, wall_source
    from .staggered import HISQ, Staggered, StaggeredObservables
    from .starts import cold, hot, weak_field


def __getattr__(name: str) -> object:
    if name in _SUBMODULE_OF:
        value = getattr(importlib.import_module(f".{_SUBMODULE_OF[name]}", __name__), name)
        globals()[name] = value
        return value
    if name in _SUBMODULES:
        return importlib.import_module(f".{name}", __name__)
    if (solver := _solver(name)) is not None:
        globals()[name] = solver
        return solver
    module = importlib.import_module(__name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=module)


def _solver(name: str) -> object | None:
    """The solver of the file solve/NAME.py; None where there is no such file, or one that solvers share."""
    from importlib.util import find_spec

    if name.startswith("_") or find_spec(f"{__name__}.solve.{name}") is None:
        return None
    found: object | None = getattr(importlib.import_module(f".solve.{name}", __name__), name, None)
    return found


def __dir__() -> list[str]:
    dunders = (name for name in globals() if name.startswith("__") and name.endswith("__"))
    return sorted({*__all__, "conventions_version", *_SUBMODULES, *dunders})
