"""Measured correlators become masses with errors here.

>>> from trellis.analysis import analyze
>>> results = analyze("measurements/", output="analysis/")          # doctest: +SKIP
>>> results.particles["pion"].mass, results.particles["pion"].mass_error   # doctest: +SKIP

Correlators of other programs come as arrays:

>>> from trellis.analysis import Correlator
>>> Correlator("pion", values, symmetry=1).fit().formatted          # doctest: +SKIP

Fits are made by lsqfit and gvar, autocorrelations by pyerrors. Nothing here touches the compiled core, so
that results can be analysed on any machine.
"""

from .autocorrelation import Autocorrelation, autocorrelation, bin_series
from .charges.charges import ChargeOptions, ChargeResult, effective_charge, fit_charges, neutron_lifetime
from .charges.fixed_sink import fit_fixed_sinks
from .charges.nucleon import read_lalibe
from .correlator import Correlator, analyze_correlators, write_correlators
from .export import to_gvar, to_pandas, to_pyerrors, write_csv, write_gvar, write_pyerrors
from .export_hdf5 import write_hdf5
from .masses.effective_mass import arccosh_effective_mass, log_effective_mass, periodic_effective_mass
from .masses.models import SpectralModel
from .masses.spectrum import fit_particle
from .masses.window_fit import WindowFit, fit_window
from .pipeline import analyze
from .readers.foreign import read_foreign
from .readers.measurement_files import read_measurements
from .records.errors import AnalysisError, FitFailed, MeasurementFileError, TooFewConfigurations
from .records.foreign_options import ForeignOptions
from .records.measurements import Measurements
from .records.options import AnalysisOptions
from .records.record import format_error
from .records.results import ParticleResult, Results
from .statistics.averaging import ModelAverage, model_average, model_weights
from .statistics.weights import Weights, make_weights

__all__ = [
    "AnalysisError",
    "AnalysisOptions",
    "Autocorrelation",
    "ChargeOptions",
    "ChargeResult",
    "Correlator",
    "FitFailed",
    "ForeignOptions",
    "MeasurementFileError",
    "Measurements",
    "ModelAverage",
    "ParticleResult",
    "Results",
    "SpectralModel",
    "TooFewConfigurations",
    "Weights",
    "WindowFit",
    "analyze",
    "analyze_correlators",
    "arccosh_effective_mass",
    "autocorrelation",
    "bin_series",
    "effective_charge",
    "fit_charges",
    "fit_fixed_sinks",
    "fit_particle",
    "fit_window",
    "format_error",
    "log_effective_mass",
    "make_weights",
    "model_average",
    "model_weights",
    "neutron_lifetime",
    "periodic_effective_mass",
    "read_foreign",
    "read_lalibe",
    "read_measurements",
    "to_gvar",
    "to_pandas",
    "to_pyerrors",
    "write_correlators",
    "write_csv",
    "write_gvar",
    "write_hdf5",
    "write_pyerrors",
]
