"""This module writes synthetic measurement files with known masses: for tests, for teaching, and for trials.

The fluctuations imitate those of real correlators: correlated over time slices, growing with time for the
nucleon, and, if asked for, with an exponential autocorrelation over configurations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np
from numpy.typing import NDArray

from ..ground.crash_safe_files import make_folder
from .readers.hdf5_files import open_hdf5


@dataclass(frozen=True)
class SyntheticParticle:
    """This is a known spectrum.

    Attributes
    ----------
    energies, amplitudes
        The states that run forward have them; a meson's backward image follows from `image`.
    backward_energies, backward_amplitudes
        States of the other parity that run backwards (baryons).
    noise, growth
        Relative noise of one configuration at the source and its exponential growth per time slice.
    correlation_length
        The length over which the relative noise of time slices is correlated.
    """

    energies: Sequence[float]
    amplitudes: Sequence[float]
    image: int = 1
    backward_energies: Sequence[float] = ()
    backward_amplitudes: Sequence[float] = ()
    noise: float = 0.1
    growth: float = 0.05
    correlation_length: float = 6.0

    def correlator(self, time_extent: int) -> NDArray:
        """Return the exact correlator, t = 0 ... T - 1."""
        t = np.arange(time_extent)
        total = np.zeros(time_extent)
        for energy, amplitude in zip(self.energies, self.amplitudes, strict=True):
            total += amplitude * (np.exp(-energy * t) + self.image * np.exp(-energy * (time_extent - t)))
        for energy, amplitude in zip(self.backward_energies, self.backward_amplitudes, strict=True):
            total += amplitude * np.exp(-energy * (time_extent - t))
        return total

    def samples(
        self, count: int, time_extent: int, rng: np.random.Generator, *, tau_exp: float = 0.0
    ) -> NDArray:
        """Return `count` configurations, shape [configuration, time].

        With tau_exp > 0 they are an autoregressive chain with that autocorrelation time; tau_int is (1 + rho)
        / (2 (1 - rho)) with rho = exp(-1 / tau_exp).
        """
        t = np.arange(time_extent)
        away = np.minimum(t, time_extent - t)
        distance = np.abs(t[:, None] - t)
        distance = np.minimum(distance, time_extent - distance)
        correlation = np.exp(-distance / self.correlation_length)
        # The root is symmetric: eigenvectors of equal eigenvalues, of which there are
        # many, differ by machine.
        values, vectors = np.linalg.eigh(correlation)
        root = (vectors * np.sqrt(np.clip(values, 0.0, None))) @ vectors.T
        noise = rng.standard_normal((count, time_extent)) @ root
        if tau_exp > 0:
            rho = np.exp(-1.0 / tau_exp)
            for k in range(1, count):
                noise[k] = rho * noise[k - 1] + np.sqrt(1 - rho**2) * noise[k]
        size = self.noise * np.exp(self.growth * away)
        return self.correlator(time_extent) * (1.0 + size * noise)


PION = SyntheticParticle((0.45, 1.25), (1.0, 0.7), noise=0.12, growth=0.06, correlation_length=10.0)
RHO = SyntheticParticle((0.65, 1.45), (0.8, 1.1), noise=0.10, growth=0.12, correlation_length=6.0)
NUCLEON = SyntheticParticle(
    (0.95, 1.75),
    (1.0, 1.6),
    image=0,
    backward_energies=(1.35, 2.1),
    backward_amplitudes=(0.8, 1.2),
    noise=0.10,
    growth=0.26,
    correlation_length=5.0,
)


def write_synthetic_measurements(
    path: Path | str,
    *,
    configurations: Sequence[int] = tuple(range(100, 700, 10)),
    lattice: Sequence[int] = (8, 8, 8, 16),
    sources: int = 2,
    seed: int = 1,
    tau_exp: float = 0.0,
    one_file_each: bool = False,
    particles: dict[str, SyntheticParticle] | None = None,
) -> list[Path]:
    """Write files in the layout of `trellis measure`.

    Parameters
    ----------
    path
        A file, or with `one_file_each` a folder for correlators.NNNNNN.h5.
    particles
        They go by dataset name; default pion, rho_x, rho_y, rho_z, nucleon.

    Returns
    -------
    list of Path
        The files that were written.
    """
    particles = particles or {"pion": PION, "rho_x": RHO, "rho_y": RHO, "rho_z": RHO, "nucleon": NUCLEON}
    rng = np.random.default_rng(seed)
    count, time_extent = len(configurations), lattice[3]
    data = {}
    for name, particle in particles.items():
        total = [particle.samples(count, time_extent, rng, tau_exp=tau_exp) for _ in range(sources)]
        data[name] = np.stack(total, axis=1)[:, :, None, :].astype(np.complex128)
    plaquette = 0.5937 + 0.0006 * rng.standard_normal(count)
    if one_file_each:
        make_folder(Path(path))
        targets = [(Path(path) / f"correlators.{n:06d}.h5", [i]) for i, n in enumerate(configurations)]
    else:
        targets = [(Path(path), list(range(count)))]
    for target, chosen in targets:
        with open_hdf5(target, "w") as file:
            _write_root(file, lattice, np.asarray(configurations)[chosen], seed)
            for name, values in data.items():
                _write_correlator(file, name, values[chosen], sources)
            file["observables/plaquette"] = plaquette[chosen]
            _write_solves(file, len(chosen), sources, rng)
    return [target for target, _ in targets]


def _write_root(file: h5py.File, lattice: Sequence[int], configurations: NDArray, seed: int) -> None:
    file.attrs["kind"] = "measurement"
    file.attrs["trellis_version"] = "synthetic"
    file.attrs["conventions_version"] = "1"
    file.attrs["run_file"] = f"# synthetic data, no field behind them\n[random]\nseed = {seed}\n"
    file.attrs["lattice"] = list(lattice)
    file.attrs["beta"] = 6.0
    file.attrs["created"] = "2026-01-01T00:00:00Z"
    file["configurations"] = configurations.astype(np.int64)


def _write_correlator(file: h5py.File, name: str, values: NDArray, sources: int) -> None:
    dataset = file.create_dataset(f"correlators/{name}", data=values)
    stem = name.rsplit("_", 1)[0] if name[-2:] in ("_x", "_y", "_z") else name
    baryon = stem == "nucleon"
    gamma = "gamma5" if stem.startswith("pion") else f"gamma_{name[-1]}"
    dataset.attrs.update(
        type="baryon" if baryon else "meson",
        particle=stem,
        source=name if baryon else gamma,
        sink=name if baryon else gamma,
        momenta=np.zeros((1, 3), dtype=np.int64),
        sources=np.array([[0, 0, 0, s] for s in range(sources)], dtype=np.int64),
        boundary_t="antiperiodic",
        kappa=0.13,
        csw=1.0,
        fermion="clover",
    )


def _write_solves(file: h5py.File, count: int, sources: int, rng: np.random.Generator) -> None:
    group = file.create_group("solves")
    group.attrs["solver"] = "synthetic"
    group["iterations"] = rng.integers(180, 260, (count, sources))
    group["relative_residual"] = rng.uniform(3e-11, 1e-10, (count, sources))
    group.attrs["seconds"] = rng.uniform(0.9, 1.2, count * sources)
    group.attrs["gflops"] = rng.uniform(22, 26, count * sources)
