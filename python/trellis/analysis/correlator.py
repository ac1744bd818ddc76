"""Correlators come from arrays here: those of other programs, of own measurements and of tests.

>>> from trellis.analysis import Correlator
>>> pion = Correlator("pion", values, symmetry=1)              # doctest: +SKIP
>>> pion.fit(max_states=2).formatted                           # doctest: +SKIP
'0.1523(12)'

A correlator here is what a dataset of a measurement file is, so that fits take the way of `trellis analyze`
and give the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import h5py
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..ground.crash_safe_files import make_folder
from ..run_files.loading import validate_run
from .correlator_arguments import lattice_of, momentum_of, numbers_of, rows_of, sign_of
from .masses.assemble import effective_mass_series, mean_series
from .masses.correlators import ParticleCorrelator, particle_correlators
from .pipeline import analyze_measurements
from .readers.hdf5_files import open_hdf5
from .readers.sources import averaged_sources, from_the_source
from .records.errors import AnalysisError, FitFailed, in_one_line
from .records.limits import NAME_IN_WORDS, is_file_name
from .records.measurements import CorrelatorData, Measurements
from .records.numbering import number_text, same_numbers, stream_names
from .records.options import AnalysisOptions
from .records.record import Series
from .records.results import ParticleResult, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TYPES = ("meson", "baryon")
_BOUNDARIES = ("periodic", "antiperiodic", "dirichlet")


@dataclass(init=False)
class Correlator:
    """This is a correlator of one particle on the configurations of one ensemble.

    Parameters
    ----------
    name
        Name of the particle; results carry it.
    values
        Real or complex numbers, shape [configuration, time] or [configuration, source, time]. Sources of one
        configuration are averaged.
    configurations
        Number of the configuration of each row; the default is 0, 1, 2 ... Numbers may be irregular. Rows
        with the same number are sources of one configuration.
    streams
        Name of the stream (replica) of each row, where the ensemble has several. Streams may have the same
        numbers.
    type
        "meson" or "baryon".
    boundary_t
        Boundary condition of the quarks in time: "periodic", "antiperiodic" or "dirichlet".
    symmetry
        The symmetry of a meson is +1 or -1 where C(T - t) = +-C(t) holds in the mean, so that fits fold
        it; 0 where it is not to be folded. By default the names of the gamma matrices tell it, or,
        without these, the data.
    parity
        The parity of a baryon is -1 for a correlator of the projector onto negative parity.
    source_times
        Time slice of the source: one number, or one for each row, source, or row and source. Values then
        count times of the lattice; they are shifted so that the source is at t = 0, and a baryon of
        antiperiodic quarks takes the sign of the boundary. The default is that times count from the source.
    source, sink
        Names of the gamma matrices of a meson, such as "gamma5" or "gamma_t gamma5".
    momentum
        The momentum n of p = 2 pi n / L.
    lattice
        Extents (Lx, Ly, Lz, Lt); spatial ones may be left out.

    Raises
    ------
    AnalysisError
        Shapes, numbers or words cannot be those of a correlator.
    """

    name: str
    values: NDArray
    numbers: NDArray = field(repr=False)
    source_counts: NDArray = field(repr=False)
    attributes: dict = field(repr=False)
    momentum: tuple[int, int, int] = (0, 0, 0)
    lattice: tuple[int, int, int, int] = (0, 0, 0, 0)

    def __init__(
        self,
        name: str,
        values: ArrayLike,
        *,
        configurations: ArrayLike | None = None,
        streams: Sequence[str] | None = None,
        type: str = "meson",
        boundary_t: str = "antiperiodic",
        symmetry: int | None = None,
        parity: int | None = None,
        source_times: ArrayLike | None = None,
        source: str | None = None,
        sink: str | None = None,
        momentum: Sequence[int] = (0, 0, 0),
        lattice: Sequence[int] | None = None,
    ) -> None:
        if not is_file_name(name):
            raise AnalysisError(f"name: expected {NAME_IN_WORDS}, found {name!r}")
        if not isinstance(type, str) or type not in _TYPES:
            raise AnalysisError(f"{name}: type: expected meson or baryon, found {type!r}")
        if not isinstance(boundary_t, str) or boundary_t not in _BOUNDARIES:
            expected = "periodic, antiperiodic or dirichlet"
            raise AnalysisError(f"{name}: boundary_t: expected {expected}, found {boundary_t!r}")
        symmetry, parity = sign_of(name, "symmetry", symmetry), sign_of(name, "parity", parity)
        if symmetry not in (None, 0, 1, -1) or (symmetry and type != "meson"):
            expected = "+1, -1, 0 or None, for mesons" if type == "meson" else "None or 0 for a baryon"
            raise AnalysisError(f"{name}: symmetry: expected {expected}, found {symmetry!r}")
        if parity not in (None, 1, -1) or (parity is not None and type != "baryon"):
            raise AnalysisError(f"{name}: parity: expected +1 or -1, for baryons, found {parity!r}")
        self.name = name
        rows = rows_of(name, values)
        rows = rows if source_times is None else from_the_source(name, rows, source_times, type, boundary_t)
        numbers = numbers_of(name, configurations, streams, len(rows))
        self.numbers, self.values, self.source_counts = averaged_sources(rows, numbers)
        self.momentum = momentum_of(name, momentum)
        self.lattice = lattice_of(name, lattice, self.values.shape[1])
        self.attributes = {"type": type, "particle": name, "boundary_t": boundary_t}
        given = {"time_symmetry": symmetry, "parity": parity, "source": source, "sink": sink}
        self.attributes |= {key: value for key, value in given.items() if value is not None}

    @property
    def time_extent(self) -> int:
        """Return T, the number of time slices."""
        return self.values.shape[1]

    def mean(self) -> Series:
        """Return the mean over configurations at t = 0 ... T - 1; errors ignore autocorrelations."""
        return mean_series(self._of_particle())

    def effective_mass(self) -> Series:
        """Return the effective mass at t + 1/2, in lattice units.

        It is that of the folded correlator (cosh or sinh) where there is a symmetry in time, else the
        logarithm of C(t) / C(t + 1). Times without a solution, or with an error above 0.5, are left out.
        """
        return effective_mass_series(self._of_particle())

    def fit(self, **options: object) -> ParticleResult:
        """Fit the mass, in lattice units, in all windows and with all numbers of
        states, and average the fits.

        Parameters
        ----------
        options
            Fields of :class:`AnalysisOptions`.

        Raises
        ------
        FitFailed
            No fit was possible; the text says why.
        AnalysisError
            There are too few configurations.
        RunFileError
            An option does not exist, or has a wrong value.
        """
        results = analyze_correlators([self], options=dict(options))
        if self.label not in results.particles:
            raise FitFailed(f"{self.name}: {results.not_fitted.get(self.label, 'nothing was fitted')}")
        return results.particles[self.label]

    def plot(self, fit: ParticleResult | None = None) -> Figure:
        """Draw the correlator and its effective mass, or with a `fit` the effective mass and all fits.

        Save the figure by its `savefig`; a notebook shows it.
        """
        from ..report.correlator_figure import correlator_figure
        from ..report.figures import fit_figure
        from ..report.style import look

        with look():
            if fit is not None:
                return fit_figure(self.name, fit)
            return correlator_figure(self.name, self.mean(), self.effective_mass())

    @property
    def label(self) -> str:
        """Return the name of the results: that of the particle, with _p and |n|^2 for a moving one."""
        squared = sum(n * n for n in self.momentum)
        return self.name if squared == 0 else f"{self.name}_p{squared}"

    def data(self) -> CorrelatorData:
        """Return the record that readers of files make."""
        values = self.values[:, np.newaxis, :].astype(np.complex128)
        return CorrelatorData(
            self.name, values, np.array([self.momentum]), self.source_counts, dict(self.attributes)
        )

    def _of_particle(self) -> ParticleCorrelator:
        options = AnalysisOptions(particles=[self.name], averages={}, moving=any(self.momentum))
        return particle_correlators(measurements_of([self]), options)[0]


def measurements_of(correlators: Iterable[Correlator]) -> Measurements:
    """Return the correlators as what readers of files make.

    Raises
    ------
    AnalysisError
        There are none at all, a name comes twice, or the correlators have different
        configurations or lattices.
    """
    every = _listed(correlators)
    if not every:
        raise AnalysisError("expected at least one correlator, found none")
    first = every[0]
    found = Measurements(lattice=first.lattice, configurations=first.numbers)
    for c in every:
        if c.name in found.correlators:
            raise AnalysisError(f"{c.name}: expected each name once, found two correlators with it")
        if c.lattice != first.lattice:
            raise AnalysisError(
                f"{c.name}: lattice: expected {first.lattice} as for {first.name}, found {c.lattice}"
            )
        if not same_numbers(c.numbers, first.numbers):
            raise AnalysisError(
                f"{c.name}: configurations: expected those of {first.name} ({_in_words(first.numbers)}), "
                f"found {_in_words(c.numbers)}"
            )
        found.correlators[c.name] = c.data()
    return found


def _listed(correlators: Iterable[Correlator] | Correlator) -> list[Correlator]:
    every: list[Correlator] = [correlators] if isinstance(correlators, Correlator) else list(correlators)
    other = next((c for c in every if not isinstance(c, Correlator)), None)
    if other is not None:
        raise AnalysisError(f"expected correlators, found {in_one_line(repr(other))}")
    return every


def _in_words(numbers: NDArray) -> str:
    return f"{len(numbers)} from {number_text(numbers[0])} to {number_text(numbers[-1])}"


def analyze_correlators(
    correlators: Iterable[Correlator],
    *,
    output: Path | str | None = None,
    title: str | None = None,
    options: AnalysisOptions | dict | None = None,
) -> Results:
    """Return masses with errors of correlators that are in memory, as :func:`analyze` does of files.

    Parameters
    ----------
    correlators
        They have the same configurations and different names.
    output
        Folder for results.json, plots/ and report.html; made if needed. None: nothing is written.
    title
        Title of the report.
    options
        An AnalysisOptions or a dict of its fields.

    Raises
    ------
    AnalysisError
        See :func:`analyze`.
    """
    every = _listed(correlators)
    if not isinstance(options, AnalysisOptions):
        options = validate_run(options or {}, AnalysisOptions, "options")
    return analyze_measurements(measurements_of(every), output=output, title=title, options=options)


def write_correlators(
    path: Path | str, correlators: Iterable[Correlator], *, beta: float | None = None
) -> Path:
    """Write a measurement file that `trellis analyze` reads.

    Parameters
    ----------
    path
        The file; the name ends in .h5 or .hdf5. Its folder is made if needed.
    correlators
        They have the same configurations and different names.
    beta
        The coupling of the ensemble, if it is to be in the report.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    AnalysisError
        The correlators do not belong together, or the file's name ends in something else.
    """
    target, found = Path(path), measurements_of(correlators)
    if target.suffix not in (".h5", ".hdf5"):
        raise AnalysisError(f"{target}: expected a name that ends in .h5 or .hdf5, found {target.name!r}")
    is_number = isinstance(beta, (int, float, np.number)) and not isinstance(beta, bool)
    if beta is not None and not (is_number and np.isfinite(beta)):
        raise AnalysisError(f"beta: expected a finite number, found {beta!r}")
    make_folder(target.parent)
    with open_hdf5(target, "w") as file:
        file.attrs["kind"] = "measurement"
        file.attrs["lattice"] = np.asarray(found.lattice, dtype=np.int64)
        if beta is not None:
            file.attrs["beta"] = beta
        _write_numbers(file, found.configurations)
        for data in found.correlators.values():
            dataset = file.create_dataset(f"correlators/{data.name}", data=data.values[:, np.newaxis])
            dataset.attrs.update(data.attributes)
            dataset.attrs["momenta"] = data.momenta
            dataset.attrs["source_counts"] = data.source_counts
    return target


def _write_numbers(file: h5py.File, numbers: NDArray) -> None:
    names = stream_names(numbers)
    file["configurations"] = numbers["number"] if names else numbers
    if names:
        file.create_dataset("streams", data=names, dtype=h5py.string_dtype())
