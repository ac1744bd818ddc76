"""Results leave in the formats of other programs, with all correlations.

Numbers are masses in lattice units, or in MeV where a caller asks for it and a scale was given. Their errors
are the totals of results.json. The statistical part is correlated, by the series of each mass over the
configurations, and so is the error of the scale; errors of models are each particle's own.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

import gvar as gv
import numpy as np
import pyerrors
from numpy.typing import NDArray

from ..ground.crash_safe_files import make_folder
from .export_hdf5 import write_hdf5
from .records.errors import AnalysisError
from .records.numbering import numbers_in_streams
from .records.options import AnalysisOptions
from .records.results import ParticleResult, Results
from .records.scale_records import HBAR_C, ScaleResult
from .statistics.autocorrelation import observable_of

if TYPE_CHECKING:
    import pandas

#: Tables have these columns in this order; those in MeV are empty where no scale was given.
COLUMNS = (
    "mass",
    "mass_error",
    "statistical_error",
    "model_error",
    "mass_mev",
    "mass_mev_error",
    "momentum_squared",
    "states",
    "t_min",
    "t_max",
    "chi2",
    "expected_chi2",
    "p_value",
    "tau_int",
    "tau_int_error",
    "configurations",
    "effective_samples",
)


def covariance(results: Results) -> NDArray:
    """Return the covariance of the masses in lattice units, shape [particle, particle]."""
    return np.array(results.covariance, dtype=float).reshape(len(results.particles), -1)


def to_pyerrors(
    results: Results, *, ensemble: str = "ensemble", mev: bool = False
) -> dict[str, pyerrors.Obs]:
    """Return the masses as Obs of one ensemble.

    Streams are replicas. The error of the models and that of the scale are Covobs of pyerrors.

    Parameters
    ----------
    ensemble
        Name of the ensemble: Obs of other analyses with the same name are correlated with these.
    mev
        The masses are in MeV rather than in lattice units.

    Raises
    ------
    AnalysisError
        There is no scale, or the results are of a version that did not keep series.
    """
    scale = _scale(results) if mev else None
    spacing = 1.0
    if scale is not None:
        spacing = pyerrors.cov_Obs(scale.a_fm, scale.a_fm_error**2, "lattice spacing in fm")
    found = {}
    for name, particle in results.particles.items():
        values, numbers = _series_of(results, name)
        mass = observable_of(values, numbers, ensemble)
        mass = mass + pyerrors.cov_Obs(0.0, particle.model_error**2, f"model error of {name}")
        found[name] = mass if scale is None else HBAR_C * mass / spacing
    return found


def write_pyerrors(
    results: Results, path: Path | str, *, ensemble: str = "ensemble", mev: bool = False
) -> Path:
    """Write the masses as a dictionary into a .json.gz file that `pyerrors.input.json.load_json_dict` reads.

    Parameters
    ----------
    ensemble, mev
        See :func:`to_pyerrors`.

    Raises
    ------
    AnalysisError
        See :func:`to_pyerrors`, or the file's name does not end in .json.gz.
    """
    target = _target(path, ".json.gz")
    description = f"{results.title}; masses in {'MeV' if mev else 'lattice units'}"
    pyerrors.input.json.dump_dict_to_json(
        to_pyerrors(results, ensemble=ensemble, mev=mev), str(target), description=description
    )
    return target


def to_gvar(results: Results, *, mev: bool = False) -> gv.BufferDict:
    """Return the masses as correlated gvars by name.

    Raises
    ------
    AnalysisError
        There is no scale.
    """
    means = [p.mass for p in results.particles.values()]
    masses = gv.gvar(means, covariance(results)) if means else []
    if mev:
        scale = _scale(results)
        masses = np.asarray(masses) * HBAR_C / gv.gvar(scale.a_fm, scale.a_fm_error)
    return gv.BufferDict(dict(zip(results.particles, masses, strict=True)))


def write_gvar(results: Results, path: Path | str, *, mev: bool = False) -> Path:
    """Write the masses by gvar.dump; gvar.load reads them with their correlations.

    Raises
    ------
    AnalysisError
        There is no scale.
    """
    target = _target(path)
    gv.dump(to_gvar(results, mev=mev), outputfile=str(target))
    return target


def table(results: Results) -> dict[str, dict[str, float | None]]:
    """Return a row of numbers for each particle, by COLUMNS."""
    return {name: _row(particle) for name, particle in results.particles.items()}


def _row(p: ParticleResult) -> dict[str, float | None]:
    fit, physical = p.fit, p.physical
    values = (
        p.mass,
        p.mass_error,
        p.statistical_error,
        p.model_error,
        None if physical is None else physical.mev,
        None if physical is None else physical.error,
        p.momentum_squared,
        fit.n_states,
        fit.t_min,
        fit.t_max,
        fit.chi2,
        fit.expected_chi2,
        fit.p_value,
        p.tau_int,
        p.tau_int_error,
        p.configurations,
        p.effective_samples,
    )
    return dict(zip(COLUMNS, values, strict=True))


def write_csv(results: Results, path: Path | str) -> Path:
    """Write a table with a row for each particle; numbers have all their digits."""
    target = _target(path)
    with open(target, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["particle", *COLUMNS])
        for name, row in table(results).items():
            writer.writerow([name, *("" if value is None else repr(value) for value in row.values())])
    return target


def to_pandas(results: Results) -> pandas.DataFrame:
    """Return a table with a row for each particle, the columns of :func:`write_csv`.

    Raises
    ------
    AnalysisError
        The package pandas is not installed.
    """
    try:
        import pandas
    except ImportError:
        raise AnalysisError(
            "to_pandas: expected the package pandas (pip install pandas), found none"
        ) from None
    frame = pandas.DataFrame.from_dict(table(results), orient="index", columns=list(COLUMNS))
    return frame.rename_axis("particle")


def export_all(results: Results, folder: Path | str, options: AnalysisOptions) -> list[Path]:
    """Write the formats of `options.export` beside results.json; masses are in lattice units."""
    place = Path(folder)
    writers = {
        "pyerrors": lambda: write_pyerrors(results, place / "masses.json.gz"),
        "gvar": lambda: write_gvar(results, place / "masses.gvar"),
        "csv": lambda: write_csv(results, place / "masses.csv"),
        "hdf5": lambda: write_hdf5(results, place / "results.h5"),
    }
    return [writers[name]() for name in options.export]


def _series_of(results: Results, name: str) -> tuple[NDArray, NDArray]:
    samples = results.samples
    if samples is None or name not in samples.masses:
        raise AnalysisError(
            f"{name}: expected its series over configurations, found none; analyse again with this version"
        )
    numbers = np.array(samples.numbers, dtype=np.int64)
    if samples.streams:
        numbers = numbers_in_streams(samples.streams, numbers)
    return np.array(samples.masses[name]), numbers


def _scale(results: Results) -> ScaleResult:
    if results.scale is None:
        raise AnalysisError("mev: expected results with a scale (the option scale), found none")
    return results.scale


def _target(path: Path | str, ending: str = "") -> Path:
    target = Path(path)
    if not target.name.endswith(ending):
        raise AnalysisError(f"{target}: expected a name that ends in {ending}, found {target.name!r}")
    make_folder(target.parent)
    return target
