"""This room measures propagators and correlators on a set of configurations, which are saved and
continued."""

from ..runs.reporting import Step
from .application import run
from .result import MeasureResult

__all__ = ["MeasureResult", "Step", "run"]
