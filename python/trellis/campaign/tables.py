"""The tables of campaign files and machine files (pydantic); files.py turns them into the model."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, model_validator

from ..ground.errors import BadArgument
from ..run_files.common import Table
from .hardware_tables import CostsTable, DeviceTable, FabricTable, LinkTable
from .times import parse_seconds


def _duration(value: Any) -> Any:
    parse_seconds(value)
    return value


def _longer_than_nothing(value: Any) -> Any:
    if parse_seconds(value) <= 0:
        raise BadArgument("it must be longer than 0")
    return value


def _shape_of_value(value: Any) -> str:
    """Return the form of the value, so that only errors of that form of the key are reported."""
    return "table" if isinstance(value, dict) else "list" if isinstance(value, list) else "text"


Duration = Annotated[float | int | str, BeforeValidator(_duration)]
LongDuration = Annotated[Duration, AfterValidator(_longer_than_nothing)]
#: Words, or a line for sh.
Words = Annotated[
    Annotated[list[str], Tag("list")] | Annotated[str, Tag("text")], Discriminator(_shape_of_value)
]


class CampaignTable(Table):
    """[campaign]"""

    name: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", description="Name of the campaign, and of its state folder."
    )
    root: str = Field(default=".", description="Where tasks' relative paths start; relative to this file.")
    state: str | None = Field(
        default=None, description="Folder for claims, records and logs; default: <root>/<name>.state."
    )
    lease: LongDuration = Field(
        default=60, description="A manager on another host that gives no sign for so long counts as dead."
    )
    orphans: Literal["end", "await"] = Field(
        default="end", description="What happens to tasks that outlived their manager."
    )
    hang_factor: float = Field(
        default=20.0,
        ge=0,
        description="A task without a timeout that runs so many times its estimate hangs; 0: never.",
    )
    hang_least: Duration = Field(default="1h", description="No task hangs before so long.")
    hash_inputs_mib: float = Field(
        default=64.0, ge=0, description="Files of `needs` up to this size are hashed for the provenance."
    )


class OutputTable(Table):
    """An entry of `outputs`; a string is a path with the defaults."""

    path: str = Field(description="The file, with {parameters}; relative to `root`.")
    min_bytes: int = Field(default=1, ge=0, description="A smaller file does not count as written.")
    bytes: int | None = Field(default=None, ge=0, description="Exact size.")
    sha256: str | None = Field(
        default=None, pattern=r"^[0-9a-f]{64}$", description="The sha256 of its content."
    )
    end_marker: str | None = Field(default=None, min_length=1, description="The last bytes of a whole file.")
    atomic: bool | None = Field(
        default=None,
        description="The program writes under another name and renames by itself; default: true for stages.",
    )


class RetriesTable(Table):
    """`retries`: repetitions after a failure, by class."""

    task: int = Field(
        default=1, ge=0, description="The program ended with another status than 0, or without its outputs."
    )
    node: int = Field(default=5, ge=0, description="A node failed.")
    launcher: int = Field(default=3, ge=0, description="The program was not started.")
    input: int = Field(default=0, ge=0, description="A file of `needs` is missing or damaged.")
    timeout: int = Field(default=0, ge=0, description="The task took longer than its limits.")
    out_of_memory: int = Field(default=0, ge=0, description="The task took more memory than there is.")


class EstimateTable(Table):
    """`estimate` as a table: seconds from parameters, before anything has been measured."""

    formula: str | None = Field(default=None, description='e.g. "3e-4 * volume / mass"')
    by: str | None = Field(default=None, description="Name of the parameter that `table` is keyed by.")
    table: dict[str, Duration] | None = Field(
        default=None, description="Value of the parameter -> duration: 90, '5min', '2h'."
    )

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.formula is None) == (self.table is None) or (self.table is None) != (self.by is None):
            raise ValueError("give `formula`, or `by` and `table`")
        return self


Estimate = Annotated[
    Annotated[Duration, Tag("text")] | Annotated[EstimateTable, Tag("table")],
    Discriminator(lambda value: "table" if isinstance(value, (dict, EstimateTable)) else "text"),
]
OutputEntry = Annotated[
    Annotated[str, Tag("text")] | Annotated[OutputTable, Tag("table")],
    Discriminator(lambda value: "table" if isinstance(value, (dict, OutputTable)) else "text"),
]
ValueList = Annotated[
    Annotated[list[Any], Tag("list")] | Annotated[str, Tag("text")], Discriminator(_shape_of_value)
]


class RequestTable(Table):
    """The resources that an attempt needs; a task and its alternatives have these keys."""

    nodes: int | None = Field(default=None, ge=1, description="Exactly so many; default: as few as hold it.")
    ranks: int | None = Field(default=None, ge=1, le=10_000_000, description="Processes; default: 1.")
    threads: int | None = Field(default=None, ge=1, description="Cores per rank.")
    gpus_per_rank: float | None = Field(default=None, ge=0, description="Whole, or a fraction below 1.")
    gpu_kind: str | None = Field(default=None, description="Kind of GPU; default: any.")
    memory_gib: float | None = Field(default=None, ge=0, description="Per rank.")
    min_ranks_per_node: int | None = Field(
        default=None, ge=1, description="Without `nodes` ranks may be spread over more nodes, down to this."
    )
    whole_nodes: bool | None = Field(
        default=None, description="Nothing else runs on its nodes meanwhile; default: false."
    )
    estimate: Estimate | None = Field(default=None, description="Duration: 90, '5min', '2h', or a table.")
    environment: dict[str, str] = Field(default={}, description="Environment variables of the program.")


class AlternativeTable(RequestTable):
    """[[task.alternatives]]: another way to run it; what is not given is the task's."""

    command: Words | None = Field(default=None, description="A list of words, or a line for sh.")


class TaskTable(RequestTable):
    """[[task]]: one task, or one for each combination of `over` and `rows`."""

    name: str = Field(description="With {parameters}; unique after the expansion.")
    group: str | None = Field(default=None, description="Default: the name up to the first '{'.")
    over: dict[str, ValueList] = Field(
        default={}, description="Parameter -> list, range '1..10' or name of a variable; all combinations."
    )
    rows: list[dict[str, Any]] = Field(default=[], description="Parameters that go together.")
    kind: Literal["command", "generate", "measure", "analyze"] = Field(
        default="command", description="command: any program; the others are stages, commands of trellis."
    )
    command: Words | None = Field(default=None, description="A list of words, or a line for sh.")
    run_file: str | None = Field(default=None, description="Stages: the run file, relative to this file.")
    set: dict[str, Any] = Field(default={}, description='Stages: changes, e.g. {"sweeps.total" = "{n}"}.')
    arguments: list[str] = Field(default=[], description="Stages: further words of the command line.")
    directory: str = Field(default=".", description="Where it runs, relative to `root`.")
    priority: int = Field(default=0, description="Higher first; then the longest chain of work behind it.")
    after: list[str] = Field(
        default=[], description="Tasks, groups or patterns with *; with '?' at the end it may match nothing."
    )
    needs: list[str] = Field(default=[], description="Files that must be there.")
    predicate: Words | None = Field(
        default=None, description="Asked before it runs: status 0 run, 1 skip, 75 ask again later."
    )
    outputs: list[OutputEntry] = Field(
        default=[], description="Files that it writes: paths, or tables with what they have to be."
    )
    makes: str | None = Field(default=None, description="A TOML file of further tasks that this task writes.")
    retries: RetriesTable = RetriesTable()
    timeout: LongDuration | None = Field(
        default=None, description="It is ended after so long; default: hang_factor of [campaign]."
    )
    silence: LongDuration | None = Field(
        default=None, description="No growth of log and outputs for so long: hangs."
    )
    spread: float = Field(
        default=0.0, ge=0, le=3, description="Scatter of log(duration) about the estimate: 0.3 is about 30 %."
    )
    project: str = Field(default="", description="Project that it is accounted to, for ledgers of METAQ.")
    tags: list[str] = Field(default=[], description="Words of the user's, on which nothing depends.")
    alternatives: list[AlternativeTable] = Field(
        default=[], description="Other ways to run it, of which a planner takes the one that fits best."
    )

    @model_validator(mode="after")
    def _one_command(self) -> Self:
        if self.kind == "command":
            if not self.command and not (self.alternatives and all(a.command for a in self.alternatives)):
                raise ValueError("a task of kind 'command' needs `command`")
            if self.run_file is not None or self.set:
                raise ValueError(f"`run_file` and `set` are for stages, and kind is {self.kind!r}")
        elif self.command is not None:
            raise ValueError(f"`command` is for kind 'command', and kind is {self.kind!r}")
        elif self.run_file is None and self.kind != "analyze":
            raise ValueError(f"kind {self.kind!r} needs `run_file`")
        return self


class CampaignFile(Table):
    """A campaign: its tasks and what they depend on."""

    campaign: CampaignTable
    variables: dict[str, Any] = Field(default={}, description="Names for use in {braces} and in `over`.")
    task: list[TaskTable] = Field(min_length=1, description="The tasks.")


class MadeTasksFile(Table):
    """The content of the `makes` file that a task writes."""

    variables: dict[str, Any] = {}
    task: list[TaskTable] = []


class NodesTable(Table):
    """[[nodes]]: alike nodes."""

    count: int = Field(default=1, ge=1, le=1_000_000, description="So many of these nodes.")
    names: list[str] = Field(default=[], description="Default: <prefix>1, <prefix>2, ...")
    prefix: str = Field(default="n", description="Of names that are not given.")
    cpus: Annotated[int, Field(ge=1)] | Literal["all"] = Field(
        description='Cores of a node; "all": those of this machine.'
    )
    gpus: int = Field(default=0, ge=0, description="GPUs of a node.")
    gpu_kind: str = Field(default="gpu", description="Their kind, which tasks may ask for.")
    cpus_per_gpu: int = Field(default=1, ge=0, description="Cores next to each GPU, kept for tasks on it.")
    gpu_environment: list[dict[str, str]] = Field(
        default=[],
        description="One per GPU, e.g. its NIC; a task with several GPUs gets their values with commas.",
    )
    memory_gib: float = Field(default=0, ge=0, description="0: not counted.")
    environment: dict[str, str] = Field(default={}, description="Environment variables of tasks there.")


class AllocationTable(Table):
    """[allocation]"""

    length: Duration | None = Field(default=None, description="Default: no end.")
    drain: Duration = Field(default=0, description="Nothing is to run in the last so many seconds.")
    lump: int | None = Field(default=None, ge=1, description="Nodes launched together; default: all.")
    block: int | None = Field(
        default=None, ge=1, description="A task lives within one block; default: a lump."
    )
    join_timeout: Duration = Field(
        default=30, description="A lump that has not reported by then is left out."
    )
    bad_hosts: list[str] = Field(default=[], description="Nodes on which nothing runs.")


class StartUpTable(Table):
    """[start_up]: costs, for the simulator."""

    lump_seconds: float = Field(default=0, ge=0, description="Mean time in which a lump launches.")
    lump_spread: float = Field(default=0, ge=0, description="Standard deviation of that.")
    late_fraction: float = Field(default=0, ge=0, le=1, description="Fraction of lumps that come later.")
    late_seconds: float = Field(default=0, ge=0, description="How much later they come.")
    step_seconds: float = Field(default=0, ge=0, description="Time before the program of a task runs.")
    bad_fraction: float = Field(default=0, ge=0, lt=1, description="Fraction of nodes that do not work.")


class MachineTable(Table):
    """[machine]"""

    name: str = Field(description="Name of the machine.")
    launcher: str = Field(
        default="process",
        description="Starts programs: process, slurm, slurm_steps, slurm_agents, flux, hyperqueue, template.",
    )
    health: list[str] = Field(default=[], description="Run on a node after a failure there; status 0: sound.")
    node_failures: int = Field(default=1, ge=1, description="So many quarantine a node.")
    settle: Duration | None = Field(
        default=None,
        description="Files may be seen so much later than their task's end with status 0; default: 0 with "
        "the launcher 'process', else 2 s.",
    )


class MachineFile(Table):
    """A machine: nodes, GPUs, lumps, blocks, and how programs are started on it."""

    machine: MachineTable
    nodes: list[NodesTable] = Field(min_length=1, description="The nodes, by kinds.")
    allocation: AllocationTable = AllocationTable()
    start_up: StartUpTable = StartUpTable()
    launcher_options: dict[str, Any] = Field(default={}, description="The launcher's own words.")
    device: list[DeviceTable] = Field(default=[], description="What ranks compute on, for the scaling model.")
    link: list[LinkTable] = Field(default=[], description="Ways between devices and to other nodes.")
    fabric: FabricTable = FabricTable()
    costs: CostsTable = CostsTable()
