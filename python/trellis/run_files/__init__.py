"""This package has run files: the TOML that applications take (generate, measure, glass), as validated Python
objects.

>>> from trellis.run_files import load_run_file, MeasureRun
>>> run = load_run_file("measure.toml", MeasureRun)                             # doctest: +SKIP

The models are the documentation: `trellis schema KIND` prints them with all descriptions. Unknown keys
are refused.
"""

from .generate import GenerateRun
from .glass import GlassRun
from .hmc import HmcRun
from .loading import load_run_file, parse_run_file
from .measure import MeasureRun

__all__ = ["GenerateRun", "GlassRun", "HmcRun", "MeasureRun", "load_run_file", "parse_run_file"]
