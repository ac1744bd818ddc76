"""This module has propagators of staggered quarks: three columns of colour vectors, one for each colour of
the source."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..ground.compiled_core import load
from ..ground.operator_records import OperatorRecord
from ..ground.solve_report import SolveReport
from ..ground.version import __version__
from .propagator_metadata import STAGGERED_KIND
from .propagators import PropagatorBase
from .scidac_propagator_records import STAGGERED_RECORD
from .sources import Source

if TYPE_CHECKING:
    from .. import _core

_COLOURS = 3
_XML = '<?xml version="1.0" encoding="UTF-8"?>'
#: QIO gives this name to files with a colour vector of the source in front of each of the solution.
_PAIRS = "USQCD_ColorVector_Source_Sink_Pairs"


class StaggeredPropagator(PropagatorBase):
    """This is S = M^-1 source of a staggered quark, with its report.

    ``np.asarray(S)`` is :meth:`to_numpy`. Nothing changes the numbers of a propagator, and copies share them.

    Attributes
    ----------
    report : SolveReport or None
        It says what the solve did; that of a solve for several masses has the residuals of this one. None if
        it was read or made from an array.
    operator : object or None
        Name, parameters and plaquette of the operator that it was solved with; None if it was made from an
        array, or read from a file that does not say.
    source : Source or None
        The source that it was solved for, which SciDAC files keep; None if it is not known.
    is_sink_smeared : bool
        True if the sink has been smeared (:meth:`smear_sink`): it is no M^-1 source any more.
    """

    _instead = "write them to files (S.write), which tr.read_staggered_propagator reads"
    _file_kind = STAGGERED_KIND
    _smearing_hop = 2

    def __init__(
        self,
        core: _core.StaggeredPropagator,
        report: SolveReport | None = None,
        operator: OperatorRecord | None = None,
        source: Source | None = None,
        is_sink_smeared: bool = False,
    ) -> None:
        self._core = core
        self.report = report
        self.operator = operator
        self.source = source
        self.is_sink_smeared = is_sink_smeared

    def to_numpy(self) -> NDArray[np.complex128]:
        """Return a copy of this rank's part: [t, z, y, x, colour sink, colour source]."""
        return super().to_numpy()

    @classmethod
    def _of_numbers(
        cls, lattice: _core.Lattice, values: NDArray[np.complex128], at: list[int], boundary: list[complex]
    ) -> StaggeredPropagator:
        return cls(load().StaggeredPropagator.from_numpy(lattice, values, at, boundary))

    def _moved(self, device: str) -> StaggeredPropagator:
        moved = self.__copy__()
        moved._core = self._core.on(device)
        return moved

    def _smeared(self, links: _core.GaugeField, width: float, steps: int) -> StaggeredPropagator:
        smeared = self.__copy__()
        smeared._core, smeared.is_sink_smeared = self._core.smeared(links, width, steps), True
        return smeared

    def _norm2(self) -> float:
        found: float = self._core.norm2
        return found

    def _write_scidac(self, path: str, precision: int, note: str) -> None:
        source = None if self.source is None else self.source._core
        texts = []
        for colour in range(_COLOURS):
            if source is not None:
                texts.append(_record("usqcdSourceInfo", colour, source.description))
            texts.append(_record("usqcdKSPropInfo", colour, "staggered propagator of Trellis"))
        name = "usqcdKSPropFile" if source is not None else "trellisStaggeredPropagator"
        kind = f"<type>{_PAIRS}</type>" if source is not None else ""
        info = f"<info>Trellis {__version__}: solutions of (m + D) x = source</info>"
        about = f"{_XML}<{name}><version>1.0</version>{kind}{info}</{name}>"
        self._core.write_scidac(source, path, precision, texts, about, STAGGERED_RECORD, note)


def _record(name: str, colour: int, info: str) -> str:
    return f"{_XML}<{name}><version>1.0</version><color>{colour}</color><info>{info}</info></{name}>"
