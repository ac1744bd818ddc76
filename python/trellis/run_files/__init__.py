"""Run files: the TOML that `trellis generate` and `trellis measure` take, as validated Python objects.

>>> from trellis.run_files import load_run_file, MeasureRun
>>> run = load_run_file("measure.toml", MeasureRun)                             # doctest: +SKIP

The models are the documentation: `trellis schema KIND` prints them with all descriptions. Unknown keys
are refused.
"""

from .generate import GenerateRun
from .hmc import HmcRun
from .loading import load_run_file, parse_run_file
from .measure import MeasureRun

__all__ = ["GenerateRun", "HmcRun", "MeasureRun", "load_run_file", "parse_run_file"]
