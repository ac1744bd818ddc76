"""This module has a configuration that is measured, and the results of one of its sources."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from numpy.typing import NDArray

from ..gauge.fields import GaugeField
from ..ground.solve_report import SolveReport

#: It has the correlators of a source by name, the reports of solves, and for each report whether it was read.
MeasuredSource: TypeAlias = tuple[dict[str, NDArray], list[SolveReport], list[bool]]


@dataclass(frozen=True)
class ConfigurationInHand:
    """This is a configuration and its links.

    Attributes
    ----------
    number, path
        Its number and file.
    U
        Its links, as the file has them.
    links, smearing_links
        The links that quarks see, and those with which gaussian sources and sinks are smeared.
    """

    number: int
    path: str
    U: GaugeField
    links: GaugeField
    smearing_links: GaugeField
