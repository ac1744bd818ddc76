"""trellis generate makes chains of gauge fields by heat bath or by trajectories, which are saved and
continued."""

from ..runs.reporting import Step
from .application import propose_steps, run
from .result import HeatBathResult, LevelProposal, StepProposal, TrajectoriesResult

__all__ = [
    "HeatBathResult",
    "LevelProposal",
    "Step",
    "StepProposal",
    "TrajectoriesResult",
    "propose_steps",
    "run",
]
