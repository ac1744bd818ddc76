"""The tables of machine files (pydantic) have these keys; files.py turns them into the model."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from ..run_files.common import Table
from .hardware_tables import CostsTable, DeviceTable, FabricTable, LinkTable
from .tables import Duration


class NodesTable(Table):
    """A table [[nodes]] describes nodes that are alike."""

    count: int = Field(default=1, ge=1, le=1_000_000, description="There are so many of these nodes.")
    names: list[str] = Field(
        default=[], description="The nodes have these names. The default is <prefix>1, <prefix>2, ..."
    )
    prefix: str = Field(default="n", description="Names that are not given begin with this.")
    cpus: Annotated[int, Field(ge=1)] | Literal["all"] = Field(
        description='A node has so many cores; "all" stands for those of this machine.'
    )
    gpus: int = Field(default=0, ge=0, description="A node has so many GPUs.")
    gpu_kind: str = Field(default="gpu", description="The GPUs are of this kind, which tasks may ask for.")
    cpus_per_gpu: int = Field(
        default=1, ge=0, description="So many cores next to each GPU are kept for tasks on it."
    )
    gpu_environment: list[dict[str, str]] = Field(
        default=[],
        description="Each GPU has an entry, as its NIC; a task with several GPUs gets their values with "
        "commas.",
    )
    memory_gib: float = Field(
        default=0, ge=0, description="A node has so much memory, in GiB; 0 means that it is not counted."
    )
    environment: dict[str, str] = Field(
        default={}, description="Tasks on the nodes see these environment variables."
    )


class AllocationTable(Table):
    """The table [allocation] describes an allocation of the machine."""

    length: Duration | None = Field(
        default=None, description="The allocation lasts so long. By default it has no end."
    )
    drain: Duration = Field(default=0, description="Nothing is to run in the last so many seconds.")
    lump: int | None = Field(
        default=None, ge=1, description="So many nodes are launched together. The default is all."
    )
    block: int | None = Field(
        default=None,
        ge=1,
        description="A task lives within one block of so many nodes. The default is a lump.",
    )
    join_timeout: Duration = Field(
        default=30, description="A lump that has not reported by then is left out."
    )
    bad_hosts: list[str] = Field(default=[], description="Nothing runs on these nodes.")


class StartUpTable(Table):
    """The table [start_up] has costs, which the simulator needs."""

    lump_seconds: float = Field(default=0, ge=0, description="A lump launches in this mean time, in s.")
    lump_spread: float = Field(
        default=0, ge=0, description="This is the standard deviation of that time, in s."
    )
    late_fraction: float = Field(default=0, ge=0, le=1, description="This fraction of lumps comes later.")
    late_seconds: float = Field(default=0, ge=0, description="Those come so much later, in s.")
    step_seconds: float = Field(
        default=0, ge=0, description="So much time passes before the program of a task runs, in s."
    )
    bad_fraction: float = Field(default=0, ge=0, lt=1, description="This fraction of nodes does not work.")


class BatchTable(Table):
    """The table [batch] describes batch jobs of `trellis campaign submit`, and what stands
    around programs in them.
    """

    system: Literal["slurm", "pbs", "lsf"] = Field(
        default="slurm", description="This system takes the batch jobs."
    )
    account: str = Field(default="", description="The time is charged to this account or project.")
    partition: str = Field(
        default="", description="Jobs go to this partition of Slurm, or to this queue of PBS or LSF."
    )
    qos: str = Field(default="", description="Jobs have this quality of service; Slurm alone knows it.")
    constraint: str = Field(default="", description="The nodes have this feature.")
    gpu_option: Literal["gres", "gpus-per-node", "none"] = Field(
        default="gres", description="Slurm is asked for the GPUs of a node by this option."
    )
    modules: list[str] = Field(
        default=[], description="These modules are loaded in the job; one that is missing ends the campaign."
    )
    prologue: list[str] = Field(
        default=[], description="These lines of shell follow in the batch script, before anything runs."
    )
    container: list[str] = Field(
        default=[],
        description="These words stand before the command of each task, as "
        '["apptainer", "exec", "trellis.sif"]. The manager and predicates run outside the container.',
    )
    container_python: str = Field(
        default="python3", description="Stages of trellis run by this interpreter inside the container."
    )
    options: list[str] = Field(default=[], description="These are further options of the batch system.")


class MachineTable(Table):
    """The table [machine] has the name and launcher of the machine, and says how its failures are met."""

    name: str = Field(description="The machine has this name.")
    launcher: str = Field(
        default="process",
        description="Programs are started by this launcher: process, slurm, slurm_steps, slurm_agents, "
        "flux, hyperqueue, pbs, lsf, template.",
    )
    health: list[str] = Field(
        default=[],
        description="This command runs on a node after a failure there; status 0 says that the node is "
        "sound.",
    )
    node_failures: int = Field(default=1, ge=1, description="So many failures quarantine a node.")
    settle: Duration | None = Field(
        default=None,
        description="Files may be seen so much later than their task's end with status 0. The default is 0 "
        "with the launcher 'process', else 2 s.",
    )


class MachineFile(Table):
    """This is a machine: it has nodes, GPUs, lumps and blocks, and a way in which
    programs are started on it.
    """

    machine: MachineTable
    nodes: list[NodesTable] = Field(min_length=1, description="The machine has these nodes, by kinds.")
    allocation: AllocationTable = AllocationTable()
    start_up: StartUpTable = StartUpTable()
    batch: BatchTable = BatchTable()
    launcher_options: dict[str, Any] = Field(default={}, description="These are the launcher's own words.")
    device: list[DeviceTable] = Field(
        default=[], description="Ranks compute on these, for the scaling model."
    )
    link: list[LinkTable] = Field(
        default=[], description="These ways lead between devices and to other nodes."
    )
    fabric: FabricTable = FabricTable()
    costs: CostsTable = CostsTable()
