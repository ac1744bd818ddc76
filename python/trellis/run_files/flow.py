"""This module has the gradient flow in run files: keys that [flow] and [measure.flow] share."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from ..ground.action_parameters import FlowAction
from .common import Table, require_flow_times


class FlowTable(Table):
    """The table [flow] asks for the gradient flow of the links, for E(t), t0, w0 and the charge; without it
    there is none."""

    action: FlowAction = Field(
        default="wilson", description="The gradient of this gauge action drives the flow."
    )
    time: float = Field(
        gt=0, description="The flow ends at this time t / a^2, at least four times the spacing."
    )
    spacing: float = Field(default=0.1, gt=0, description="Two measurements lie so far apart in t / a^2.")
    tolerance: float = Field(
        default=1e-6,
        gt=0,
        lt=1,
        description="Steps are so long that the estimated error of each is about this.",
    )

    @model_validator(mode="after")
    def _enough_times(self) -> Self:
        require_flow_times(self.time, self.spacing)
        return self
