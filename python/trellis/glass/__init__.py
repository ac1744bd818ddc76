"""This module has spin glasses: `trellis glass` from Python (doc/glass.md)."""

from ..runs.reporting import Step
from .application import run
from .result import GlassResult

__all__ = ["GlassResult", "Step", "run"]
