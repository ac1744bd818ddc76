"""This module has staggered propagators of a measurement in files, one for each mass: they are stored, and
taken instead of solves."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np

from ..ground.errors import BadArgument
from ..ground.operator_records import OperatorRecord
from ..quarks.sources import Source
from ..quarks.staggered_propagator_files import read_scidac_staggered_propagator, read_staggered_propagator
from ..quarks.staggered_propagators import StaggeredPropagator
from .propagator_records import PropagatorRecord
from .stored_propagators import StoredPropagators


class StoredStaggeredPropagators(StoredPropagators):
    """These are the staggered propagators of one configuration, by flavour and source."""

    def get(
        self, flavour: str, index: int, source: Source, operator: OperatorRecord
    ) -> tuple[StaggeredPropagator | None, StaggeredPropagator | None]:
        """Return the stored propagator, and the guess of its solve; None where there is none. Collective.

        Parameters
        ----------
        index
            The number of the source among those of the configuration.
        operator
            The record of the operator with the flavour's mass.
        """

        def require_own(S: StaggeredPropagator) -> None:
            S._require_point_sink("S")
            if not np.allclose(S.boundary, operator.parameters["boundary"], rtol=0, atol=1e-6):
                raise BadArgument(f"expected a propagator of {operator}, found boundary phases {S.boundary}")
            if S.operator is not None and (difference := S.operator.difference(operator)):
                raise BadArgument(f"expected a propagator of {operator}, found one with {difference}")

        return self._stored(flavour, index, source, self._expected_of(operator, source), require_own)

    def keep(self, S: StaggeredPropagator, flavour: str, index: int, source: Source) -> None:
        """Store a propagator that was solved for, if the run file asks for it. Collective."""
        assert S.operator is not None
        assert S.report is not None
        record = dataclasses.replace(self._expected_of(S.operator, source), report=S.report)
        self._save(S, self._own_file(flavour, index), record)

    def _read_numbers(self, path: Path, source: Source) -> StaggeredPropagator:
        lattice = self._U.geometry
        if path.suffix == ".lime":
            return read_scidac_staggered_propagator(path, lattice, source_at=source.at)
        return read_staggered_propagator(path, grid=lattice.grid)

    def _complete(
        self, S: StaggeredPropagator, path: Path, record: PropagatorRecord, source: Source, way: str
    ) -> None:
        """Add the source: the record says that it is this one."""
        S.source = source
