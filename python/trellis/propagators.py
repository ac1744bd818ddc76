"""Sources and quark propagators."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .core import load
from .errors import BadArgument, NotConverged
from .gauge import GaugeField, Geometry, require_device
from .machine import peak_gflops, roof_gflops
from .solvers import MixedPrecision, SolveReport

if TYPE_CHECKING:
    from . import _core
    from .domain_wall import MoebiusDomainWall
    from .operators import WilsonClover
    from .solvers import Solver

#: Spin basis of all arrays and files.
GAMMA_BASIS = "DeGrand-Rossi"


class Source:
    """Twelve columns, one for each spin and colour, of a right-hand side of M S = source.

    Made by :func:`point_source`, :func:`gaussian_source`, :func:`wall_source`.

    Attributes
    ----------
    at : tuple of int
        x, y, z, t from which times and momenta of correlators count.
    description : str
        For people and for the provenance.
    """

    def __init__(self, core: _core.Source) -> None:
        self._core = core
        self.at: tuple[int, int, int, int] = tuple(core.at)
        self.description: str = core.description

    def with_momentum(self, n: Sequence[int]) -> Source:
        """The source times exp(+i p.(x - at)), p = 2 pi n / L."""
        return Source(load().with_momentum(self._core, list(n)))

    def __repr__(self) -> str:
        return f"<Source {self.description}>"


def point_source(geometry: Geometry, at: Sequence[int]) -> Source:
    """One at a single site, for each spin and colour.

    Parameters
    ----------
    at
        x, y, z, t, from 0.

    Raises
    ------
    BadArgument
        The site lies outside the lattice.
    """
    return Source(load().point_source(geometry._core, list(at)))


def wall_source(geometry: Geometry, time: int, *, momentum: Sequence[int] = (0, 0, 0)) -> Source:
    """exp(i p.x) on all sites of a time slice, p = 2 pi n / L. Not gauge covariant.

    Parameters
    ----------
    time
        The slice, from 0.
    momentum
        n.
    """
    return Source(load().wall_source(geometry._core, time, list(momentum)))


def gaussian_source(U: GaugeField, at: Sequence[int], *, width: float, steps: int) -> Source:
    """A point source, smeared gauge-covariantly on its time slice.

    psi <- (1 - 6 a) psi + a (sum of the six spatial hops), `steps` times, a = width^2 / (4 steps).

    Parameters
    ----------
    U
        Links that the smearing sees; they may be smeared ones.
    at
        x, y, z, t of the centre.
    width
        Lattice units.
    steps
        At least 1; stable for steps > 3 width^2 / 2.
    """
    core = load()
    return Source(core.smeared_source(point_source(U.geometry, at)._core, U._core, width, steps))


def noise_source(
    geometry: Geometry,
    *,
    kind: Literal["z2", "z4"] = "z4",
    seed: int,
    configuration: int,
    index: int = 0,
    time: int | None = None,
) -> Source:
    """One random number a site, the same for all spins and colours: the one-end trick.

    Parameters
    ----------
    kind
        "z2": 1, -1; "z4": 1, i, -1, -i.
    seed, configuration, index
        Key of the numbers; they do not depend on the process grid.
    time
        The slice; None: all slices.
    """
    return Source(load().noise_source(geometry._core, kind, seed, configuration, index, time))


class Propagator:
    """S = M^-1 source, with its report.

    Attributes
    ----------
    report : SolveReport or None
        What the solves did; None if it was read or made from an array.
    midpoint : Propagator or None
        Domain-wall fermions with an even Ls: the quark of the middle of the fifth dimension, for m_res.
    axial_current : ndarray or None
        Domain-wall fermions, where asked for: A_4(t) of the partially conserved axial current between t and
        t + 1 with the source's pion, shape [time], time from the source.
    fields : object or None
        Domain-wall fermions, where ``keep_fields`` asked for them: the 5-D solutions, for
        :func:`conserved_current_propagator` and as a guess of further solves.
    """

    def __init__(
        self,
        core: _core.Propagator,
        report: SolveReport | None = None,
        midpoint: _core.Propagator | None = None,
        fields: _core.DomainWallFields | None = None,
    ) -> None:
        self._core = core
        self.report = report
        self.fields = fields
        self.midpoint: Propagator | None = None if midpoint is None else Propagator(midpoint, report)
        self.axial_current: NDArray[np.float64] | None = None

    @cached_property
    def geometry(self) -> Geometry:
        """The lattice."""
        return Geometry._of(self._core.lattice)

    @property
    def device(self) -> str:
        """Where it lies: "cpu" or "cuda"."""
        return self._core.device

    def to(self, device: str) -> Propagator:
        """The propagator on another device; contractions take propagators that lie on one.

        Parameters
        ----------
        device
            "cpu" or "cuda".

        Raises
        ------
        NotAvailable
            The build has no CUDA, or no GPU can be used.
        BadArgument
            Another device.
        """
        require_device(device)
        if device == self.device:
            return self
        moved = Propagator(self._core.on(device), self.report)
        if self.midpoint is not None:
            moved.midpoint = self.midpoint.to(device)
        moved.axial_current = self.axial_current
        return moved

    @property
    def source_at(self) -> tuple[int, int, int, int]:
        """x, y, z, t from which times and momenta count."""
        return tuple(self._core.source_at)

    @property
    def boundary(self) -> tuple[complex, complex, complex, complex]:
        """Fermion boundary phases in x, y, z, t."""
        return tuple(self._core.boundary)

    def to_numpy(self) -> NDArray[np.complex128]:
        """This rank's part: [t, z, y, x, spin sink, spin source, colour sink, colour source]; a copy.

        The spin basis is that of DeGrand and Rossi.
        """
        return self._core.to_numpy()

    @classmethod
    def from_numpy(
        cls, values: ArrayLike, geometry: Geometry, *, source_at: Sequence[int], boundary: Sequence[complex]
    ) -> Propagator:
        """A propagator from an array of the shape of :meth:`to_numpy` (copied)."""
        values = np.ascontiguousarray(values, dtype=np.complex128)
        core = load().Propagator.from_numpy(
            geometry._core, values, list(source_at), [complex(p) for p in boundary]
        )
        return cls(core)

    def smear_sink(self, U: GaugeField, *, width: float, steps: int) -> Propagator:
        """The sink smeared on every time slice; see :func:`gaussian_source`."""
        return Propagator(load().sink_smeared(self._core, U._core, width, steps), self.report)

    def write(
        self,
        path: str | os.PathLike,
        format: Literal["hdf5", "scidac"] = "hdf5",
        *,
        precision: Literal[32, 64] = 64,
        run_file: str = "",
    ) -> None:
        """Write to a file: under a temporary name, then renamed. Collective.

        Parameters
        ----------
        format
            "hdf5": dataset /propagator of the shape of :meth:`to_numpy`, with provenance, and /midpoint where
            there is one; "scidac": LIME file as Chroma writes it, one propagator: write ``S.midpoint`` to a
            file of its own, and set it on what is read.
        precision
            Bits of a number. Both formats hold a checksum, "hdf5" the norm too.
        run_file
            Text for the provenance.

        Raises
        ------
        FileError
            The file cannot be written; an older file of that name is left alone.
        BadArgument
            Another precision, or a number that is not finite in it.
        """
        if precision not in (32, 64):
            raise BadArgument(f"precision must be 32 or 64 bits, found {precision!r}")
        if format == "scidac":
            at = " ".join(map(str, self.source_at))
            note = f"<propagator><source>{self._core.description}</source><at>{at}</at></propagator>"
            self._core.write_scidac(os.fspath(path), precision, note)
        elif format == "hdf5":
            self._write_hdf5(os.fspath(path), precision, run_file)
        else:
            raise BadArgument(f'format must be "hdf5" or "scidac", found {format!r}')

    def _write_hdf5(self, path: str, precision: int, run_file: str) -> None:
        from .provenance import write_root_attributes

        file = load().Hdf5File.create(path)
        root = file.root()
        write_root_attributes(root, "propagator", run_file, self.geometry.extents)
        for name, quark in (("propagator", self), ("midpoint", self.midpoint)):
            if quark is not None:
                quark._core.write_hdf5(root, name, precision)
        root.set_text("gamma_basis", GAMMA_BASIS, "propagator")
        root.set_text("source", self._core.description, "propagator")
        root.set_integers("source_at", list(self.source_at), "propagator")
        root.set_reals("boundary_real", [p.real for p in self.boundary], "propagator")
        root.set_reals("boundary_imag", [p.imag for p in self.boundary], "propagator")
        if self.report is not None:
            root.set_reals("relative_residuals", list(self.report.relative_residuals), "propagator")
        file.commit()

    def __repr__(self) -> str:
        return f"<Propagator {'x'.join(map(str, self.geometry.extents))} from {self.source_at}>"


def read_propagator(path: str | os.PathLike, *, grid: Sequence[int] | None = None) -> Propagator:
    """Read the HDF5 file that :meth:`Propagator.write` wrote. Collective.

    Checksum and norm are compared with the stored ones; a file without them (written by an older version)
    gives a UserWarning. Domain walls: with the midpoint, if the file has it.

    Raises
    ------
    FileError
        Not such a file, or damaged.
    ChecksumError
        The numbers are not those that were written.
    """
    core = load()
    file = core.Hdf5File.open(os.fspath(path))
    root = file.root()
    geometry = Geometry(root.integers("lattice"), grid)
    phases = zip(
        root.reals("boundary_real", "propagator"), root.reals("boundary_imag", "propagator"), strict=True
    )
    at = root.integers("source_at", "propagator")
    boundary = [complex(re, im) for re, im in phases]
    quarks: dict[str, Propagator] = {}
    for name in ("propagator", "midpoint"):
        if name == "midpoint" and not root.has(name):
            continue
        S, messages = core.Propagator.read_hdf5(root, name, geometry._core, at, boundary)
        quarks[name] = Propagator(S)
        for message in messages:
            warnings.warn(f"{os.fspath(path)}: {message}", UserWarning, stacklevel=2)
    quarks["propagator"].midpoint = quarks.get("midpoint")
    return quarks["propagator"]


def read_scidac_propagator(
    path: str | os.PathLike,
    geometry: Geometry,
    *,
    source_at: Sequence[int],
    boundary: Sequence[complex] = (1, 1, 1, -1),
) -> Propagator:
    """Read a SciDAC (LIME) propagator of Chroma or of :meth:`Propagator.write`. Collective.

    Such files do not say where the source is nor what the boundary phases were.

    Parameters
    ----------
    source_at
        x, y, z, t from which times and momenta count.

    Raises
    ------
    FileError
        Not such a file, or of another lattice.
    ChecksumError
        The stored checksum is another one.
    """
    phases = [complex(phase) for phase in boundary]
    return Propagator(load().Propagator.read_scidac(os.fspath(path), geometry._core, list(source_at), phases))


class BoundSolver:
    """A solver of M x = b: what `solver(M)` returns."""

    def __init__(self, solver: Solver, M: WilsonClover | MoebiusDomainWall) -> None:
        self.solver = solver
        self.operator = M

    def propagator(
        self,
        source: Source,
        *,
        guess: Propagator | None = None,
        keep_fields: bool = False,
        axial_current: bool = False,
        allow_not_converged: bool = False,
    ) -> Propagator:
        """S = M^-1 source, all twelve columns in one batch. Collective.

        Parameters
        ----------
        guess
            Where the solve starts, for example the propagator of another mass or a less accurate one; zero
            without it. Domain-wall fermions: one solved with ``keep_fields=True``, of the same Ls and
            ``columns_per_solve``.
        keep_fields
            Domain-wall fermions: keep the 5-D solutions (``S.fields``, Ls times a propagator).
        axial_current
            Contract the partially conserved axial current too (``S.axial_current``): domain-wall fermions
            with an even Ls and one real b5 and c5 for all slices.
        allow_not_converged
            Return what was reached instead of raising; ``S.report`` tells how far it is.

        Raises
        ------
        NotConverged
            The tolerance was missed; the exception has the report.
        BadArgument
            Source, guess and operator live on different lattices; a domain-wall guess without fields; no
            axial current or 5-D fields for this operator.
        """
        core = load()
        spec, form = self.solver._spec(), self.solver._schur_form()
        M = self.operator
        if isinstance(M._core, core.DomainWallOperator):
            if guess is not None and guess.fields is None:
                raise BadArgument("the guess of a domain-wall solve needs its 5-D fields: keep_fields=True")
            solved = core.solve_domain_wall(
                M._core,
                spec,
                source._core,
                form,
                M._columns_per_solve,
                axial_current,
                keep_fields,
                None if guess is None else guess.fields,
            )
            propagator = self._checked(solved.quark, allow_not_converged, solved.midpoint, solved.fields)
            if axial_current:
                propagator.axial_current = np.asarray(solved.axial_current)
            return propagator
        if axial_current:
            raise BadArgument("the conserved axial current is one of domain-wall fermions")
        if keep_fields:
            raise BadArgument("keep_fields is for domain-wall fermions: this operator's fields are 4-D")
        S = core.solve_propagator(M._core, spec, source._core, form, None if guess is None else guess._core)
        return self._checked(S, allow_not_converged)

    def _checked(
        self, S: Any, allow_not_converged: bool, midpoint: Any = None, fields: Any = None
    ) -> Propagator:
        """With its report; NotConverged where the tolerance was missed."""
        report = self._report(S.report.solve, S.report.true_residual, self.solver._schur_form())
        if not report.converged and not allow_not_converged:
            raise NotConverged(_not_converged_message(report), report)
        return Propagator(S, report, midpoint, fields)

    def solve(
        self, b: ArrayLike, *, guess: ArrayLike | None = None, allow_not_converged: bool = False
    ) -> tuple[NDArray[np.complex128], SolveReport]:
        """x with M x = b for one spinor field; without even-odd preconditioning only. Collective.

        Parameters
        ----------
        b
            complex, shape [t, z, y, x, spin, colour], this rank's part.
        guess
            Where x starts, of the shape of `b`; zero without it.

        Returns
        -------
        x, report

        Raises
        ------
        NotConverged
            The tolerance was missed.
        """
        if self.solver._schur_form() != "none":
            raise BadArgument("solve() takes a solver without even_odd; propagator() takes both")
        core = load()
        M = self.operator
        if isinstance(M._core, core.DomainWallOperator):
            raise BadArgument("solve() is for 4-D fields; domain-wall operators have propagator()")
        right = core.SpinorField.from_numpy(M.geometry._core, np.ascontiguousarray(b, dtype=np.complex128))
        start = np.zeros_like(right.to_numpy()) if guess is None else guess
        x = core.SpinorField.from_numpy(M.geometry._core, np.ascontiguousarray(start, dtype=np.complex128))
        found = core.solve(self.solver._spec(), M._core, x, right)
        report = self._report(found, found.relative_residual, "none")
        if not report.converged and not allow_not_converged:
            raise NotConverged(_not_converged_message(report), report)
        return x.to_numpy(), report

    def _report(self, found: Any, true_residuals: Sequence[float], form: str) -> SolveReport:
        """The report with the roof of this machine for the solve's working set."""
        method = found.method if form == "none" else f"even-odd ({form}) {found.method}"
        seconds = max(found.seconds, 1e-12)
        inner: Any = self.solver
        while not isinstance(inner, MixedPrecision) and hasattr(inner, "solver"):
            inner = inner.solver
        precision = inner.inner if isinstance(inner, MixedPrecision) else "double"
        on_gpu = self.operator.device == "cuda"
        report = SolveReport(
            method=method,
            iterations=found.iterations,
            relative_residuals=tuple(true_residuals),
            converged=found.converged,
            reason=found.reason.replace("_", " "),
            seconds=found.seconds,
            gflops=found.flops / seconds * 1e-9,
            gbytes_per_second=found.bytes / seconds * 1e-9,
            conventional_gflops=found.conventional_flops / seconds * 1e-9,
            peak_gflops=None if on_gpu else peak_gflops(precision),
        )
        if on_gpu:  # the peak and the bandwidth that are measured are the processor's
            return report
        scale = {"double": 1.0, "float": 0.5, "single": 0.5, "half": 0.25}[precision]
        working_set = scale * self.operator._core.bytes(len(report.relative_residuals))
        return report.with_roof(roof_gflops(found.flops, found.bytes, working_set, precision))


def _not_converged_message(report: SolveReport) -> str:
    return (
        f"{report.method}: {report.reason} after {report.iterations} iterations; the largest true residual "
        f"is {report.largest_residual:.3e}"
    )
