"""This module has traces of Dirac operators with noise vectors, in the parts that staggered and Wilson quarks
share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..ground.arguments import choice, integer
from ..ground.arguments import seed as seed_of
from ..ground.solve_report import SolveReport

Noise = Literal["z2", "z4"]


def noise_key(
    noise: Noise, *, seed: int, stream: int, configuration: int, first: int, vectors: int
) -> tuple[bool, int, int, int, int, int]:
    """Return the noise in the form of the compiled core's arguments.

    The values are: is it Z2, seed, stream, configuration, number of the first vector, number of vectors.

    Raises
    ------
    BadArgument
        The noise is another one, or a number is no integer or outside its range.
    """
    choice("noise", noise, "z2", "z4")
    return (
        noise == "z2",
        seed_of("seed", seed),
        seed_of("stream", stream),
        integer("configuration", configuration, least=0),
        integer("first", first, least=0),
        integer("vectors", vectors, least=1, most=4096),
    )


def thermal_factor(extents: Any) -> float:
    """Return 1 / (V_3 T^3) in lattice units."""
    lx, ly, lz, lt = extents
    return float(lt) ** 3 / (lx * ly * lz)


def disconnected_susceptibility(density: NDArray[np.complex128], thermal: float) -> complex | None:
    """Return (V_3 T^3) n^2 from pairs of different vectors, without bias; `density` has d log det / d(mu/T)
    of each."""
    vectors = len(density)
    if vectors < 2:
        return None
    pairs = (density.sum() ** 2 - (density**2).sum()) / (vectors * (vectors - 1))
    return complex(thermal * pairs)


@dataclass(frozen=True)
class WilsonObservables:
    """These are the traces of one Wilson-type flavour entry on one configuration, bare, summed over its n_f
    flavours.

    Arrays have one entry for each noise vector; their mean is the estimate. With a twisted mass n_f = 2 means
    the doublet, whose second flavour has -mu.

    Attributes
    ----------
    condensate
        n_f Re Tr M^-1 / V.
    pseudoscalar
        complex: n_f Tr gamma5 M^-1 / V (with a twisted mass: of the first flavour, times n_f; -1 times its
        imaginary part is the condensate of i gamma5 tau3).
    number_density
        complex: (1 / (V_3 T^3)) d log Z / d(mu/T) for a real chemical potential.
    susceptibility_connected
        complex: the connected part of (1 / (V_3 T^3)) d^2 log Z / d(mu/T)^2, or None.
    susceptibility_disconnected
        complex: (V_3 T^3) n^2 from pairs of different noise vectors, without bias; None for one vector.
    report
        This is the report of the solves.
    """

    condensate: NDArray[np.float64]
    pseudoscalar: NDArray[np.complex128]
    number_density: NDArray[np.complex128]
    susceptibility_connected: NDArray[np.complex128] | None
    susceptibility_disconnected: complex | None
    report: SolveReport

    def series(self) -> dict[str, Any]:
        """Return what is there by the names of a stream's series."""
        own = {"condensate": self.condensate, "pseudoscalar": self.pseudoscalar}
        return {**own, **_density_series(self)}


@dataclass(frozen=True)
class StaggeredObservables:
    """These are the traces of one flavour entry on one configuration, bare, summed over its n_f
    (doc/conventions.md).

    Arrays have one entry for each noise vector; their mean is the estimate.

    Attributes
    ----------
    condensate
        (n_f / 4) Tr M^-1 / V.
    number_density
        complex: (1 / (V_3 T^3)) d log Z / d(mu/T) for a real chemical potential.
    susceptibility_connected
        complex: the connected part of (1 / (V_3 T^3)) d^2 log Z / d(mu/T)^2, or None.
    susceptibility_disconnected
        complex: (V_3 T^3) n^2 from pairs of different noise vectors, without bias; None for one vector.
    magnetisation
        Plane -> (1 / V) d log Z / dk.
    report
        This is the report of the solves.
    """

    condensate: NDArray[np.float64]
    number_density: NDArray[np.complex128]
    susceptibility_connected: NDArray[np.complex128] | None
    susceptibility_disconnected: complex | None
    magnetisation: dict[str, NDArray[np.float64]]
    report: SolveReport

    def series(self) -> dict[str, Any]:
        """Return what is there by the names of a stream's series."""
        magnetisation = {f"magnetisation_{plane}": values for plane, values in self.magnetisation.items()}
        return {"condensate": self.condensate, **magnetisation, **_density_series(self)}


def _density_series(found: WilsonObservables | StaggeredObservables) -> dict[str, Any]:
    """Return the series of derivatives by the chemical potential that are there."""
    series = {
        "number_density": found.number_density,
        "susceptibility_connected": found.susceptibility_connected,
        "susceptibility_disconnected": found.susceptibility_disconnected,
    }
    return {name: values for name, values in series.items() if values is not None}


def wilson_observables(
    traces: Any, *, extents: Any, n_f: float, is_twisted: bool, report: SolveReport
) -> WilsonObservables:
    """Return the observables, from the core's traces of the first flavour.

    M(-mu) = gamma5 M(mu)^dagger gamma5: the second flavour of a twisted doublet has the conjugate Tr M^-1 and
    Tr M'' M^-1 - ..., and minus the conjugate Tr M' M^-1.
    """
    lx, ly, lz, lt = extents
    volume, thermal = lx * ly * lz * lt, thermal_factor(extents)
    density: NDArray[np.complex128] = n_f * np.array(traces.density, dtype=np.complex128)
    curvature = n_f * np.array(traces.curvature, dtype=np.complex128)
    if is_twisted:
        density = (1j * density.imag).astype(np.complex128)
        curvature = curvature.real.astype(np.complex128)
    return WilsonObservables(
        condensate=n_f * np.array(traces.inverse).real / volume,
        pseudoscalar=n_f * np.array(traces.gamma5, dtype=np.complex128) / volume,
        number_density=thermal * density,
        susceptibility_connected=thermal * curvature if len(curvature) else None,
        susceptibility_disconnected=disconnected_susceptibility(density, thermal),
        report=report,
    )


def staggered_observables(
    traces: Any, *, extents: Any, n_f: float, planes: Sequence[str], report: SolveReport
) -> StaggeredObservables:
    """Return the observables, from the core's traces of an operator with four tastes."""
    lx, ly, lz, lt = extents
    weight, volume, thermal = n_f / 4, lx * ly * lz * lt, thermal_factor(extents)
    density = weight * np.array(traces.density, dtype=np.complex128)
    curvature = thermal * weight * np.array(traces.curvature, dtype=np.complex128)
    return StaggeredObservables(
        condensate=weight * np.array(traces.inverse).real / volume,
        number_density=thermal * density,
        susceptibility_connected=curvature if len(curvature) else None,
        susceptibility_disconnected=disconnected_susceptibility(density, thermal),
        magnetisation={
            plane: weight * np.array(values).real / volume
            for plane, values in zip(planes, traces.magnetisation, strict=True)
        },
        report=report,
    )
