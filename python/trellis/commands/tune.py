"""This module runs trellis tune: it fills the tuner's cache for the kernels of a run file.

The lattice and the operators of the run are made, on links close to one, and applied until no trial is left:
a few sweeps, a few short trajectories, or the solves for one propagator. Nothing of the run is written, and
nothing is read but its file and the headers of its configurations.
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import Any

from ..evolve.heatbath import HeatBath
from ..evolve.monomials import make_hmc, make_sea, naming_keys
from ..evolve.quark_operators import make_measured_operator, make_operator
from ..evolve.smeared_links import smeared_links
from ..gauge.fields import GaugeField
from ..gauge.geometry import Geometry
from ..gauge.start_fields import weak_field
from ..ground.compiled_core import load
from ..ground.errors import NumericError
from ..ground.parallel import broadcast, on_root
from ..ground.solve_report import NotConverged
from ..ground.tuning import keep, prepare
from ..measure.configuration_files import find_configurations
from ..measure.inputs import require_one_lattice
from ..measure.multigrid import set_up
from ..measure.setup import make_solver
from ..measure.sources import make_source
from ..measure.staggered_quarks import solve_all_masses
from ..quarks.operators import WilsonClover
from ..run_files import GenerateRun, HmcRun, MeasureRun
from ..run_files.common import MachineTable
from ..run_files.loading import load_toml
from ..runs.reporting import counted
from ..runs.setup import gauge_field_bytes, load_run, require_memory, set_threads
from ..solve.multigrid import Multigrid
from .output import Output

#: Most kernels are launched several times in a sweep: so many sweeps have all launches of the longest trial.
_SWEEPS = 12
#: So many trajectories are made, with one step on each level.
_TRAJECTORIES = 3
#: A trial takes at most 48 launches.
_ITERATIONS = 100
_SEED = 1


def tune(run_file: Path, *, json: bool) -> int:
    """Apply the kernels of the run twice, and keep what is fastest.

    Returns
    -------
    int
        Exit status: 0.
    """
    output = Output(json)
    model = _model_of(on_root(lambda: load_toml(run_file)))
    run, _ = load_run(run_file, model)
    prepare("on", output.warning)  # this command tunes, whatever machine.tune and TRELLIS_TUNE say
    set_threads(run.machine, output)
    start = time.perf_counter()
    work: Any = {MeasureRun: _solves, HmcRun: _trajectories, GenerateRun: _sweeps}[model]
    for said in (output, Output(json=True)):  # the work is done twice, and told once
        work(run, said)
    choices = broadcast(load().take_tuner_records())  # the choices of rank 0 hold for all
    for choice in choices:
        load().fill_tuner(**choice)
    path = broadcast(keep(choices, output.warning) if load().rank() == 0 else None)
    seconds = time.perf_counter() - start
    kept = f", kept in {path}" if path else ""
    output.line(f"{counted(len(choices), 'new choice')} in {seconds:.1f} s{kept}")
    output.result(
        {
            "run": "tune",
            "choices": choices,
            "file": str(path) if path else None,
            "seconds": seconds,
            "ranks": load().size(),
        }
    )
    return 0


def _model_of(tables: dict[str, Any]) -> type[GenerateRun] | type[HmcRun] | type[MeasureRun]:
    """Return the model of the command that the run file is for."""
    if "configurations" in tables:
        return MeasureRun
    return HmcRun if "molecular_dynamics" in tables else GenerateRun


def _links(extents: Any, machine: MachineTable, output: Output) -> GaugeField:
    geometry = Geometry(extents, machine.grid)
    require_memory(
        2 * gauge_field_bytes(geometry.local_extents, geometry.grid), "the links alone", machine, output
    )
    return weak_field(geometry, seed=_SEED)


def _sweeps(run: GenerateRun, output: Output) -> None:
    U = _links(run.lattice.extents, run.machine, output)
    heatbath = HeatBath(beta=run.action.beta, seed=_SEED, over_relaxation=run.heatbath.over_relaxation)
    for number in range(1, _SWEEPS + 1):
        heatbath.sweep(U, number)
        U.plaquette  # noqa: B018, its kernel is what counts


def _trajectories(run: HmcRun, output: Output) -> None:
    U = _links(run.lattice.extents, run.machine, output)
    one_step = [level.model_copy(update={"steps": 1}) for level in run.integrator]
    short = run.model_copy(update={"integrator": one_step})
    try:
        with naming_keys(short):
            hmc = make_hmc(make_sea(short, U))
            for number in range(1, _TRAJECTORIES + 1):
                hmc.energy_violation(U, number)
    except (NotConverged, NumericError) as error:  # links close to one need not have the run's spectrum
        output.notice(f"not all kernels of a trajectory are tuned: {error}")


def _solves(run: MeasureRun, output: Output) -> None:
    found = on_root(lambda: find_configurations(run.configurations))
    U = _links(require_one_lattice(found, run.configurations), run.machine, output)
    links = smeared_links(run.smearing, U)
    if run.fermion is None:
        return
    short = run.solver.model_copy(
        update={"max_iterations": min(run.solver.max_iterations, _ITERATIONS), "fallback": False}
    )
    source = make_source(run.source, links, (0, 0, 0, 0), 1, has_spin=run.spin_quark is not None)
    with contextlib.suppress(NotConverged):  # a few iterations have all kernels
        if run.spin_quark is not None:
            M: Any = make_measured_operator(run.spin_quark, links, run.solver.columns)
            make_solver(short, _multigrid(run, M))(M).propagator(source)
        elif run.staggered_quark is not None:
            quark = run.staggered_quark
            of_all = make_operator(quark, links)
            solve_all_masses(of_all, quark.masses, source, make_solver(short))


def _multigrid(run: MeasureRun, M: WilsonClover) -> Multigrid | None:
    """Return a multigrid with a single sweep, which has all kernels, where the run solves with multigrid."""
    table = run.solver.multigrid
    return None if table is None else set_up(table.model_copy(update={"sweeps": 1}), M, sources=1)
