"""This module has the run file of `trellis measure`: propagators and correlators on a set of
configurations."""

from __future__ import annotations

from typing import Annotated, Self, get_args

from pydantic import Field, model_validator

from .common import FourIntegers, MachineTable, RunFile, Table, at_key
from .contractions import (
    UP_AND_DOWN,
    CorrelatorsTable,
    FeynmanHellmannTable,
    ThreePointTable,
    conserved,
)
from .flow import FlowTable
from .measured_quarks import MeasuredQuark
from .measured_sources import SinkTable, SourceTable
from .smearing import SmearingTable
from .solvers import DeflationTable, SolverTable
from .spin_measurement import require_spin
from .staggered_measurement import (
    CondensateTable,
    LocalMeson,
    MeasuredHisq,
    MeasuredStaggered,
    MeasuredStaggeredKind,
    require_no_staggered_keys,
    require_staggered,
)
from .stored import MeasureOutputTable, StoredPropagatorsTable

#: This is the table [fermion].
FermionTable = Annotated[MeasuredQuark | MeasuredStaggered | MeasuredHisq, Field(discriminator="type")]


class ConfigurationsTable(Table):
    """The table [configurations] says what is measured on."""

    files: str | list[str] = Field(
        description="These are file names or patterns (*, ?, **), relative to the folder that the command "
        "is started in. The last number in a name is the number of the configuration; a name without one "
        "gets its place, from 1, in sorted order."
    )
    first: int | None = Field(default=None, description="Numbers below this are left out.")
    last: int | None = Field(default=None, description="Numbers above this are left out.")
    lattice: FourIntegers | None = Field(
        default=None,
        description="The files have these extents x, y, z, t; only files that do not say them need the key.",
    )


class MeasureRun(RunFile):
    """The run measures correlators and condensates of quarks, one file per configuration."""

    configurations: ConfigurationsTable
    fermion: FermionTable | None = Field(
        default=None, description="These quarks are measured; without the table there are no correlators."
    )
    flow: FlowTable | None = Field(
        default=None,
        description="The gradient flow of the links gives E(t), t0, w0 and the charge. The default is none.",
    )
    solver: SolverTable = SolverTable()
    deflation: DeflationTable | None = Field(
        default=None,
        description="Low modes of the system that is solved deflate the solves. The default is none.",
    )
    source: SourceTable = SourceTable()
    sink: SinkTable = SinkTable()
    smearing: SmearingTable = SmearingTable()
    correlators: CorrelatorsTable = CorrelatorsTable()
    feynman_hellmann: FeynmanHellmannTable = FeynmanHellmannTable()
    three_point: ThreePointTable = ThreePointTable()
    condensate: CondensateTable | None = Field(
        default=None, description="Condensates of staggered quarks are measured. The default is none."
    )
    stored_propagators: StoredPropagatorsTable | None = Field(
        default=None,
        description="Propagators that an earlier run saved take the place of solves. The default is none.",
    )
    output: MeasureOutputTable
    machine: MachineTable = MachineTable()

    @model_validator(mode="after")
    def _something_to_measure(self) -> Self:
        if self.fermion is None and self.flow is None:
            raise ValueError("give [fermion] for correlators, or [flow], or both")
        self._require_smearing()
        self._require_multigrid()
        if self.staggered_quark is not None:
            require_staggered(self, self.staggered_quark)
        else:
            require_no_staggered_keys(self)
            require_spin(self, self.spin_quark)
        self._require_stored()
        return self

    @property
    def spin_quark(self) -> MeasuredQuark | None:
        """Return [fermion] where it is a quark with spin."""
        return None if isinstance(self.fermion, MeasuredStaggeredKind) else self.fermion

    @property
    def staggered_quark(self) -> MeasuredStaggered | MeasuredHisq | None:
        """Return [fermion] where it is a staggered quark."""
        return self.fermion if isinstance(self.fermion, MeasuredStaggeredKind) else None

    @property
    def local_mesons(self) -> list[LocalMeson]:
        """Return the local mesons that a run with a staggered quark measures."""
        chosen = self.correlators.local_mesons
        return list(get_args(LocalMeson)) if chosen is None else chosen

    @property
    def has_gaussian_smearing(self) -> bool:
        """Return True if quarks are smeared at the source, at the sink, or at both."""
        return self.source.is_gaussian or self.sink.is_gaussian

    @property
    def has_solves(self) -> bool:
        """Return True if a propagator may be solved for; False if all come from stored ones."""
        stored = self.stored_propagators
        currents = self.feynman_hellmann.currents or self.three_point.currents
        return bool(stored is None or stored.use == "guess" or stored.missing == "solve" or currents)

    @property
    def has_doublet(self) -> bool:
        """Return True if up (+mu) and down (-mu) are solved for apart, as a twisted mass with use of both
        needs."""
        if self.spin_quark is None or not self.spin_quark.is_twisted:
            return False
        currents = self.feynman_hellmann.currents or self.three_point.currents
        return bool(currents or UP_AND_DOWN & set(self.correlators.baryons))

    def _require_stored(self) -> None:
        """Refuse [stored_propagators] where files of propagators do not have what the run needs."""
        stored, fermion = self.stored_propagators, self.fermion
        if stored is None:
            return
        if fermion is None:
            raise at_key("stored_propagators", "[stored_propagators] belongs to quarks: give [fermion]")
        if fermion.slices == 1:
            return
        if stored.use == "guess":
            raise at_key(
                "stored_propagators.use",
                'the guess of a domain-wall solve is 5-D, and files hold the 4-D quark: expected "solution"',
                stored.use,
            )
        for table, names in self.conserved_currents().items():
            raise at_key(
                f"{table}.currents",
                f"{', '.join(names)} of domain walls need the 5-D solution, and files hold the 4-D quark: "
                "leave out [stored_propagators], or these currents",
            )

    def _require_multigrid(self) -> None:
        """Refuse multigrid for quarks that it does not serve, and beside low modes."""
        if self.solver.multigrid is None:
            return
        if self.fermion is not None and not self.fermion.has_multigrid:
            raise at_key(
                "solver.type",
                f"{self.solver.type} solves quarks of type wilson, clover and twisted_mass: expected another "
                f'solver beside fermion.type = "{self.fermion.type}"',
                self.solver.type,
            )
        if self.deflation is not None:
            raise at_key(
                "deflation",
                f'solver.type = "{self.solver.type}" takes the low modes out itself; leave it out',
            )

    def _require_smearing(self) -> None:
        """Refuse keys of Gaussian smearing if neither source nor sink uses them."""
        if self.has_gaussian_smearing:
            return
        for key in ("width", "steps", "links"):
            if key in self.source.model_fields_set:
                raise at_key(
                    f"source.{key}",
                    f'source.{key} is for gaussian sources or sinks: expected source.type = "gaussian" or '
                    f'sink.type = "gaussian", found "{self.source.type}" and "{self.sink.type}"; leave it '
                    "out",
                )

    def conserved_currents(self) -> dict[str, list[str]]:
        """Return the conserved currents of each table that has some, by the table's name."""
        found = {
            "feynman_hellmann": conserved(self.feynman_hellmann.currents),
            "three_point": conserved(self.three_point.currents),
        }
        return {table: names for table, names in found.items() if names}

    @property
    def needs_fields(self) -> bool:
        """Return True if the 5-D solutions of the light quark are kept."""
        return self.fermion is not None and self.fermion.slices > 1 and bool(self.conserved_currents())
