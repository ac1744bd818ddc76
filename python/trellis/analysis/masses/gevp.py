"""Energies come from a matrix of correlators by the generalised eigenvalue problem.

C_ij(t) is symmetric, with operators i and j of the same quantum numbers:

    C(t) v_n = lambda_n(t, t0) C(t0) v_n,     v_n^T C(t0) v_n = 1,     lambda_0 > lambda_1 > ...

For N states exactly, lambda_n = f_n(t) / f_n(t0) with f_n = exp(-E_n t), or cosh or sinh where the
correlators are symmetric in time (Michael 1985; Luescher and Wolff 1990). With more states the effective
energies

    E_n(t + 1/2, t0) = ln lambda_n(t, t0) / lambda_n(t + 1, t0)

differ from E_n by exp(-(E_N - E_n) t) where t0 >= t / 2 (Blossier and others 2009, arXiv:0902.1265). Both
are given: at a fixed t0, and in the window, t0 = t / 2 rounded up.

The response of an eigenvalue to configuration k is, to first order,

    v_n^T [C_k(t) - C(t)] v_n - lambda_n v_n^T [C_k(t0) - C(t0)] v_n,

so that every energy is a series over configurations, and errors are those of all other series. Masses are
fitted to the projected correlators v_n^T C(t) v_n, with the vectors of one pair of times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from ..records.errors import AnalysisError, FitFailed
from ..records.gevp_records import GevpOptions, GevpResult, GevpState
from ..records.options import AnalysisOptions
from ..statistics.autocorrelation import error_factor
from .assemble import EFFECTIVE_MASS_ERROR, series
from .correlators import ParticleCorrelator, is_beyond_noise, near_source
from .effective_mass import log_effective_mass, periodic_effective_mass

#: Parts of a matrix that should be zero may be so large, relative to the others.
_SMALL = 0.1


@dataclass(frozen=True)
class CorrelatorMatrix:
    """This is C_ij(t) on all configurations.

    Attributes
    ----------
    samples
        Shape [configuration, time, operator, operator], symmetric; not folded.
    image, time_extent
        Each correlator has the same ones.
    member
        One of the correlators, for what is the same in all.
    """

    name: str
    samples: NDArray
    member: ParticleCorrelator

    @property
    def image(self) -> int:
        return self.member.image

    @property
    def time_extent(self) -> int:
        return self.samples.shape[1]

    @property
    def operators(self) -> int:
        return self.samples.shape[2]

    def folded(self) -> NDArray:
        """Return the samples, folded where there is a symmetry in time: [configuration, T/2 + 1, ...]."""
        if self.image == 0:
            return self.samples
        half = self.time_extent // 2
        forward = self.samples[:, : half + 1].copy()
        backward = self.samples[:, :0:-1][:, :half]
        forward[:, 1:] = 0.5 * (forward[:, 1:] + self.image * backward)
        return forward


def correlator_matrix(
    name: str, names: Sequence[Sequence[str]], known: dict[str, ParticleCorrelator]
) -> CorrelatorMatrix:
    """Put correlators together; C_ij and C_ji are averaged.

    Raises
    ------
    AnalysisError
        A name is not there, the matrix is not square, or the correlators do not belong together.
    """
    count = len(names)
    if count < 2 or any(len(row) != count for row in names):
        raise AnalysisError(
            f"gevp.{name}: matrix: expected N rows of N names, N at least 2, found rows of "
            f"{[len(row) for row in names]}"
        )
    unknown = sorted({n for row in names for n in row} - known.keys())
    if unknown:
        raise AnalysisError(f"gevp.{name}: matrix: expected names among {sorted(known)}, found {unknown}")
    members = _with_symmetry_of_diagonal([[known[n] for n in row] for row in names])
    every = [c for row in members for c in row]
    seen = {(c.kind, c.image, c.samples.shape, c.boundary_t) for c in every}
    if len(seen) != 1:
        found = sorted({f"{c.name}: {c.kind}, symmetry {c.image:+d}" for c in every})
        text = f"expected one type and symmetry in time, found {found}"
        if any(c.image_from_data for c in every):
            raise FitFailed(f"{name}: {text} (where the gamma matrices do not say the symmetry, say it)")
        raise AnalysisError(f"gevp.{name}: {text}")
    flaw = next((c.flaw for c in every if c.flaw), None)
    if flaw is not None:
        raise FitFailed(f"{name}: {flaw}")
    _require_real(name, every)
    # Single correlators are made positive; a matrix needs the signs that were measured.
    total = np.array([[c.sign * c.samples for c in row] for row in members])
    _require_symmetric(name, names, total)
    samples = np.moveaxis(0.5 * (total + total.swapaxes(0, 1)), (0, 1), (2, 3))
    overall = np.sign(np.trace(samples[:, 1 : max(2, samples.shape[1] // 4)].mean(axis=(0, 1))))
    return CorrelatorMatrix(name, overall * samples, members[0][0])


def _with_symmetry_of_diagonal(members: list[list[ParticleCorrelator]]) -> list[list[ParticleCorrelator]]:
    """Give elements whose symmetry in time was taken from their noise that of the diagonal."""
    diagonal = {members[i][i].image for i in range(len(members))}
    if len(diagonal) != 1:
        return members
    image = diagonal.pop()
    return [[replace(c, image=image) if c.image_from_data else c for c in row] for row in members]


def _require_real(name: str, every: list[ParticleCorrelator]) -> None:
    """Refuse a matrix whose elements do not all have the same phase."""
    names = {c.name for c in every}
    imaginary = {c.name for c in every if c.is_imaginary}
    mixed = {c.name for c in every if c.other_part > _SMALL}
    if mixed or imaginary not in (set(), names):
        raise AnalysisError(
            f"gevp.{name}: expected real correlators, for a phase of an operator can make them so, found an "
            f"imaginary part in {', '.join(sorted(imaginary | mixed))}"
        )


def _require_symmetric(name: str, names: Sequence[Sequence[str]], total: NDArray) -> None:
    """Refuse C_ij and C_ji that differ by more than their noise.

    Parameters
    ----------
    total
        Shape [operator, operator, configuration, time].
    """
    for i in range(len(names)):
        for j in range(i):
            here, there = near_source(total[i, j]), near_source(total[j, i])
            if not is_beyond_noise(here - there):
                continue
            difference, both = (float(np.abs(s.mean(axis=0)).sum()) for s in (here - there, here + there))
            if difference > _SMALL * both:
                hint = " (one of the operators needs the sign of its adjoint)" if difference > both else ""
                raise AnalysisError(
                    f"gevp.{name}: expected C_{i}{j} = C_{j}{i} within errors, found "
                    f"{here.mean(axis=0)[0]:.4g} for {names[i][j]} and {there.mean(axis=0)[0]:.4g} for "
                    f"{names[j][i]} at t = 1{hint}"
                )


def eigenvalues(samples: NDArray, t: int, t0: int) -> tuple[NDArray, NDArray, NDArray]:
    """Solve C(t) v = lambda C(t0) v for the mean over configurations.

    Parameters
    ----------
    samples
        Shape [configuration, time, operator, operator].

    Returns
    -------
    values, vectors, responses
        lambda_n in descending order; v_n as columns; the value on each configuration to first order, shape
        [configuration, state].

    Raises
    ------
    FitFailed
        C(t0) is not positive: its noise is too large, or the operators are not independent.
    """
    mean, mean0 = samples[:, t].mean(axis=0), samples[:, t0].mean(axis=0)
    diagonal = np.diag(mean0)
    if np.any(diagonal <= 0):
        raise FitFailed(f"expected a positive matrix at t0 = {t0}, found the diagonal {diagonal.tolist()}")
    unit = 1 / np.sqrt(diagonal)  # operators of unlike sizes would spoil the factorisation
    try:
        values, vectors = eigh(mean * np.outer(unit, unit), mean0 * np.outer(unit, unit))
    except np.linalg.LinAlgError:
        smallest = float(np.linalg.eigvalsh(mean0 * np.outer(unit, unit))[0])
        raise FitFailed(
            f"expected a positive matrix at t0 = {t0}, found the eigenvalue {smallest:.2e} of C_ij / "
            f"sqrt(C_ii "
            "C_jj); take an earlier t0 or fewer operators"
        ) from None
    values, vectors = values[::-1], unit[:, np.newaxis] * vectors[:, ::-1]
    moved = np.einsum("in,kij,jn->kn", vectors, samples[:, t] - mean, vectors)
    moved0 = np.einsum("in,kij,jn->kn", vectors, samples[:, t0] - mean0, vectors)
    return values, vectors, values + moved - values * moved0


@dataclass(frozen=True)
class EffectiveEnergy:
    """This is E_n(t + 1/2, t0) of all states, NaN where there is no solution.

    responses has the shape [configuration, state].
    """

    t: int
    t0: int
    energies: NDArray
    responses: NDArray


def effective_energies(matrix: CorrelatorMatrix, t: int, t0: int) -> EffectiveEnergy:
    """Return the energies from lambda_n(t, t0) and lambda_n(t + 1, t0)."""
    samples = matrix.folded()
    now, _, on_each = eigenvalues(samples, t, t0)
    later, _, later_on_each = eigenvalues(samples, t + 1, t0)
    energies, responses = np.full(len(now), np.nan), np.full(on_each.shape, np.nan)
    for n in range(len(now)):
        energy, slope = _energy_of_ratio(now[n] / later[n], t, matrix)
        energies[n] = energy
        move = (on_each[:, n] - now[n]) / later[n] - (later_on_each[:, n] - later[n]) * now[n] / later[n] ** 2
        responses[:, n] = energy + slope * move
    return EffectiveEnergy(t, t0, energies, responses)


def _energy_of_ratio(ratio: float, t: int, matrix: CorrelatorMatrix) -> tuple[float, float]:
    """Return E with f(t) / f(t + 1) = ratio, and d E / d ratio; NaN without a solution."""

    def energy(value: float) -> float:
        pair = np.array([value, 1.0])
        if matrix.image == 0:
            return float(log_effective_mass(pair)[0])
        extent = matrix.time_extent - 2 * t  # the solver counts times from 0
        return float(periodic_effective_mass(pair, extent, matrix.image)[0])

    step = 1e-5 * abs(ratio)
    return energy(ratio), (energy(ratio + step) - energy(ratio - step)) / (2 * step)


def solve(
    matrix: CorrelatorMatrix, numbers: NDArray, wanted: GevpOptions, options: AnalysisOptions
) -> tuple[GevpResult, list[ParticleCorrelator]]:
    """Return effective energies with errors, and the projected correlator of each state.

    Parameters
    ----------
    numbers
        The numbers of the configurations.
    wanted
        t0, the time of the vectors, and how many states.

    Raises
    ------
    AnalysisError
        The times do not fit the lattice.
    FitFailed
        C(t0) is not positive.
    """
    last = matrix.folded().shape[1] - 1
    if not 0 < wanted.t0 < wanted.t_vectors <= last:
        raise AnalysisError(
            f"gevp.{matrix.name}: expected 0 < t0 < t_vectors <= {last}, found t0 = {wanted.t0} and "
            f"t_vectors = "
            f"{wanted.t_vectors}"
        )
    count = min(wanted.states or matrix.operators, matrix.operators)
    try:
        values, vectors, _ = eigenvalues(matrix.folded(), wanted.t_vectors, wanted.t0)
    except FitFailed as error:
        raise FitFailed(f"{matrix.name}: {error}") from None
    fixed = _all_energies(matrix, [(t, wanted.t0) for t in range(wanted.t0 + 1, last)])
    window = _all_energies(matrix, [(t, -(-t // 2)) for t in range(2, last)])
    states = [
        GevpState(
            eigenvalue=float(values[n]),
            vector=vectors[:, n].tolist(),
            energies=_energy_series(fixed, n, numbers, options),
            energies_in_window=_energy_series(window, n, numbers, options),
        )
        for n in range(count)
    ]
    result = GevpResult(t0=wanted.t0, t_vectors=wanted.t_vectors, matrix=wanted.matrix, states=states)
    return result, [projected(matrix, n, vectors[:, n]) for n in range(count)]


def projected(matrix: CorrelatorMatrix, n: int, vector: NDArray) -> ParticleCorrelator:
    """Return v^T C(t) v, the correlator of state n, as it is fitted."""
    samples = np.einsum("i,ktij,j->kt", vector, matrix.samples, vector)
    name = f"{matrix.name}_{n}"
    return replace(matrix.member, name=name, samples=samples, members=[matrix.name], notes=[], sign=1)


def _all_energies(matrix: CorrelatorMatrix, times: list[tuple[int, int]]) -> list[EffectiveEnergy]:
    """Return the energies at all pairs (t, t0) at which C(t0) is positive."""
    found = []
    for t, t0 in times:
        try:
            found.append(effective_energies(matrix, t, t0))
        except FitFailed:
            continue
    return found


def _energy_series(found: list[EffectiveEnergy], n: int, numbers: NDArray, options: AnalysisOptions):
    kept = [e for e in found if np.isfinite(e.energies[n]) and np.all(np.isfinite(e.responses[:, n]))]
    errors = []
    for e in kept:
        own = e.responses[:, n]
        factor = error_factor(own, numbers, options.autocorrelation)[0]
        errors.append(np.sqrt(factor / len(own)) * own.std(ddof=1))
    good = [(e, error) for e, error in zip(kept, errors, strict=True) if error < EFFECTIVE_MASS_ERROR]
    x, value = [e.t + 0.5 for e, _ in good], [e.energies[n] for e, _ in good]
    return series(np.array(x), np.array(value), np.array([error for _, error in good]))
