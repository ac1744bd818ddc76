"""Trellis does lattice QCD, from a gauge field to a number with an error bar.

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

#: This stands for TYPE_CHECKING of typing, whose import takes several times as long as this file: __main__
#: takes Ctrl-C the sooner.
TYPE_CHECKING = False

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
    "Multigrid",
    "NotAvailable",
    "NotConverged",
    "NumericError",
    "OutOfMemory",
    "Propagator",
    "RunFileError",
    "SolveReport",
    "Staggered",
    "StaggeredCondensates",
    "StaggeredObservables",
    "StaggeredPropagator",
    "WilsonClover",
    "WilsonObservables",
    "abort",
    "all_mesons",
    "barrier",
    "baryon",
    "bicgstab",
    "cg",
    "choose_solver",
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
    "multigrid",
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
    "read_etmc_propagator",
    "read_gauge_field",
    "read_milc_staggered_propagator",
    "read_multigrid",
    "read_propagator",
    "read_qdp_propagator",
    "read_scidac_propagator",
    "read_scidac_staggered_propagator",
    "read_staggered_propagator",
    "reference_time",
    "residual_mass",
    "schwarz",
    "sequential_source",
    "staggered_mesons",
    "three_point",
    "w0_scale",
    "wall_source",
    "weak_field",
]

# Each public name stands beside the submodule that defines it.
_SUBMODULE_OF = {
    **dict.fromkeys(["__version__", "conventions_version"], "ground.version"),
    **dict.fromkeys(
        [
            "BadArgument",
            "ChecksumError",
            "Error",
            "FileError",
            "NotAvailable",
            "NumericError",
            "OutOfMemory",
            "RunFileError",
        ],
        "ground.errors",
    ),
    "NotConverged": "ground.solve_report",
    "GaugeField": "gauge.fields",
    "Geometry": "gauge.geometry",
    "read_gauge_field": "gauge.field_files",
    **dict.fromkeys(["cold", "hot", "weak_field"], "gauge.start_fields"),
    "quenched": "evolve.heatbath",
    "hamiltonian": "evolve.monomials",
    **dict.fromkeys(["FlowHistory", "GradientFlow", "flow_history"], "gauge.flow"),
    **dict.fromkeys(["reference_time", "w0_scale"], "ground.scale_setting"),
    "WilsonClover": "quarks.operators",
    **dict.fromkeys(["StaggeredObservables", "WilsonObservables"], "solve.noise_traces"),
    **dict.fromkeys(["HISQ", "Staggered"], "solve.staggered"),
    "StaggeredCondensates": "solve.staggered_masses",
    "StaggeredPropagator": "quarks.staggered_propagators",
    "staggered_mesons": "hadrons.staggered_mesons",
    **dict.fromkeys(
        ["read_scidac_staggered_propagator", "read_staggered_propagator"], "quarks.staggered_propagator_files"
    ),
    **dict.fromkeys(["Eigenvectors", "lanczos"], "solve.deflation"),
    **dict.fromkeys(["Multigrid", "multigrid"], "solve.multigrid"),
    "choose_solver": "solve.choice",
    "dense": "quarks.dense_matrices",
    "log_det": "quarks.determinants",
    "read_eigenvectors": "solve.eigenvector_files",
    "read_multigrid": "solve.multigrid_files",
    **dict.fromkeys(["MoebiusDomainWall", "propagator_norm", "residual_mass"], "quarks.domain_wall"),
    **dict.fromkeys(
        [
            "conserved_current_propagator",
            "feynman_hellmann_propagator",
            "nucleon_feynman_hellmann",
            "projected_feynman_hellmann",
            "sequential_source",
        ],
        "hadrons.feynman_hellmann",
    ),
    **dict.fromkeys(["ConservedCurrent", "nucleon_conserved_three_point"], "hadrons.conserved_three_point"),
    **dict.fromkeys(
        ["nucleon_sequential_source", "nucleon_three_point", "three_point"], "hadrons.sequential_propagators"
    ),
    "SolveReport": "ground.solve_report",
    "custom_operator": "solve.custom_operator",
    **dict.fromkeys(["gaussian_source", "noise_source", "point_source", "wall_source"], "quarks.sources"),
    "Propagator": "quarks.propagators",
    **dict.fromkeys(["read_propagator", "read_scidac_propagator"], "quarks.propagator_files"),
    "read_milc_staggered_propagator": "quarks.milc_propagator_files",
    "read_etmc_propagator": "quarks.etmc_propagator_files",
    "read_qdp_propagator": "quarks.qdp_propagator_files",
    **dict.fromkeys(
        ["all_mesons", "baryon", "meson", "mesons", "momenta_up_to", "nucleon"], "hadrons.correlators"
    ),
    **dict.fromkeys(["abort", "barrier", "rank", "ranks"], "ground.parallel"),
}
_SUBMODULES = ("analysis", "errors", "generate", "glass", "measure", "report", "run_files")

if TYPE_CHECKING:
    from . import analysis as analysis
    from . import errors as errors
    from . import generate as generate
    from . import glass as glass
    from . import measure as measure
    from . import report as report
    from . import run_files as run_files
    from .evolve.heatbath import quenched
    from .evolve.monomials import hamiltonian
    from .gauge.field_files import read_gauge_field
    from .gauge.fields import GaugeField
    from .gauge.flow import FlowHistory, GradientFlow, flow_history
    from .gauge.geometry import Geometry
    from .gauge.start_fields import cold, hot, weak_field
    from .ground.errors import (
        BadArgument,
        ChecksumError,
        Error,
        FileError,
        NotAvailable,
        NumericError,
        OutOfMemory,
        RunFileError,
    )
    from .ground.parallel import abort, barrier, rank, ranks
    from .ground.scale_setting import reference_time, w0_scale
    from .ground.solve_report import NotConverged, SolveReport
    from .hadrons.conserved_three_point import ConservedCurrent, nucleon_conserved_three_point
    from .hadrons.correlators import all_mesons, baryon, meson, mesons, momenta_up_to, nucleon
    from .hadrons.feynman_hellmann import (
        conserved_current_propagator,
        feynman_hellmann_propagator,
        nucleon_feynman_hellmann,
        projected_feynman_hellmann,
        sequential_source,
    )
    from .hadrons.sequential_propagators import nucleon_sequential_source, nucleon_three_point, three_point
    from .hadrons.staggered_mesons import staggered_mesons
    from .quarks.dense_matrices import dense
    from .quarks.determinants import log_det
    from .quarks.domain_wall import MoebiusDomainWall, propagator_norm, residual_mass
    from .quarks.etmc_propagator_files import read_etmc_propagator
    from .quarks.milc_propagator_files import read_milc_staggered_propagator
    from .quarks.operators import WilsonClover
    from .quarks.propagator_files import read_propagator, read_scidac_propagator
    from .quarks.propagators import Propagator
    from .quarks.qdp_propagator_files import read_qdp_propagator
    from .quarks.sources import gaussian_source, noise_source, point_source, wall_source
    from .quarks.staggered_propagator_files import (
        read_scidac_staggered_propagator,
        read_staggered_propagator,
    )
    from .quarks.staggered_propagators import StaggeredPropagator
    from .solve.bicgstab import bicgstab
    from .solve.cg import cg
    from .solve.choice import choose_solver
    from .solve.custom_operator import custom_operator
    from .solve.deflated import deflated
    from .solve.deflation import Eigenvectors, lanczos
    from .solve.eigenvector_files import read_eigenvectors
    from .solve.even_odd import even_odd
    from .solve.gcr import gcr
    from .solve.mixed_precision import mixed_precision
    from .solve.mr import mr
    from .solve.multigrid import Multigrid, multigrid
    from .solve.multigrid_files import read_multigrid
    from .solve.noise_traces import StaggeredObservables, WilsonObservables
    from .solve.schwarz import schwarz
    from .solve.staggered import HISQ, Staggered
    from .solve.staggered_masses import StaggeredCondensates


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
    """Return the solver of the file solve/NAME.py; None where there is no such file, or one that solvers
    share."""
    from importlib.util import find_spec

    if name.startswith("_") or find_spec(f"{__name__}.solve.{name}") is None:
        return None
    found: object | None = getattr(importlib.import_module(f".solve.{name}", __name__), name, None)
    return found


def __dir__() -> list[str]:
    dunders = (name for name in globals() if name.startswith("__") and name.endswith("__"))
    return sorted({*__all__, "__version__", "conventions_version", *_SUBMODULES, *dunders})
