"""This module has operators of the flavours of the sea, of which the compiled part knows the forces."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..ground.arguments import stout_weights
from ..ground.compiled_core import load

if TYPE_CHECKING:
    from ..run_files import HmcRun
    from ..run_files.sea import SeaQuark


class SeaOperators:
    """These are the operators of a run's flavours, which share smeared links.

    Parameters
    ----------
    run
        The run file.
    """

    def __init__(self, run: HmcRun) -> None:
        core = load()
        self._run = run
        stout = run.smearing.stout
        rho, steps = (0.0, 0) if stout is None else (stout.rho, stout.steps)
        arithmetic = run.molecular_dynamics.arithmetic
        self._stout = core.SmearedLinks(stout_weights("smearing.stout.rho", rho), steps, arithmetic)
        self._hisq, self._staggered = core.HisqSmearing(run.hisq.force_cut), core.StaggeredSea()
        self._makers: dict[str, Callable[[Any], Any]] = {
            "WilsonClover": self._wilson,
            "Staggered": self._naive_staggered,
            "HISQ": self._improved_staggered,
        }

    def links_of(self, flavour: SeaQuark) -> Any:
        """Return the smearing whose links a flavour sees."""
        return self._hisq if flavour.has_own_smearing else self._stout

    def of(self, flavour: SeaQuark) -> Any:
        """Make the even-odd operator of a flavour."""
        return self._makers[flavour.operator_name](flavour)

    def _wilson(self, flavour: Any) -> Any:
        """Return the operator, with multigrid for its solves where the flavour asks for it.

        Blocks and smoother follow from the lattice alone, so that no bit depends on ranks.
        """
        core, table, extents = load(), flavour.multigrid_table, self._run.lattice.extents
        if table is None:
            return core.wilson_fermion(wilson_params(flavour))
        params = core.MultigridParams()
        params.levels = table.levels_on(extents)
        params.block, *params.coarse_blocks = table.blocks_on(extents)
        params.cycle = table.cycle
        params.smoother = table.smoother_on(extents)
        if params.smoother == "sap":
            params.schwarz_block = params.block
        params.vectors, *params.coarse_vectors = table.vectors_on(extents)
        params.sweeps, params.seed = table.sweeps, table.seed
        params.smoothing = table.smoothing or 0  # 0: the smoother decides
        params.coarse_tolerance = table.coarse_tolerance
        params.coarse_solver, params.coarse_ranks = table.coarse_solver, table.coarse_ranks
        params.prolongator_storage = table.prolongator_storage
        return core.wilson_fermion_with_multigrid(wilson_params(flavour), params, table.refresh)

    def _naive_staggered(self, flavour: Any) -> Any:
        return load().staggered_fermion(self._staggered, flavour.bare_mass, *self._phases(flavour))

    def _improved_staggered(self, flavour: Any) -> Any:
        return load().hisq_fermion(
            self._hisq, flavour.bare_mass, flavour.naik_epsilon, *self._phases(flavour)
        )

    def _phases(self, flavour: Any) -> tuple[Any, ...]:
        """Return what the phases of staggered hops are made of: boundary, chemical potential, field."""
        background = self._run.background
        charge = (flavour.mu_over_ipiT, flavour.charge_thirds)
        return (list(flavour.phase_factors), *charge, list(background.b), list(background.e))


def wilson_params(flavour: SeaQuark) -> Any:
    """Return the parameters of a flavour of the Wilson kinds in the compiled part's form."""
    arguments = {"csw": 0.0, "twisted_mass": 0.0, **flavour.operator_arguments()}
    params = load().WilsonParams()
    params.mass = arguments["mass"]
    params.csw_spatial = params.csw_temporal = arguments["csw"]
    params.twisted_mass = arguments["twisted_mass"]
    params.boundary = list(arguments["boundary"])
    return params
