"""The tables of campaign files (pydantic) have these keys; files.py turns them into the model."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, model_validator

from ..ground.errors import BadArgument
from ..run_files.common import Table
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
#: A command is a list of words, or a line for sh.
Words = Annotated[
    Annotated[list[str], Tag("list")] | Annotated[str, Tag("text")], Discriminator(_shape_of_value)
]


class CampaignTable(Table):
    """The table [campaign] describes the campaign as a whole."""

    name: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$",
        description="The campaign and its state folder have this name.",
    )
    root: str = Field(
        default=".", description="Relative paths of tasks start here; the folder is relative to this file."
    )
    state: str | None = Field(
        default=None,
        description="This folder holds claims, records and logs. The default is <root>/<name>.state.",
    )
    lease: LongDuration = Field(
        default=60, description="A manager on another host that gives no sign for so long counts as dead."
    )
    orphans: Literal["end", "await"] = Field(
        default="end", description="This happens to tasks that outlived their manager."
    )
    hang_factor: float = Field(
        default=20.0,
        ge=0,
        description="A task without a timeout that runs so many times its estimate hangs; with 0 none does.",
    )
    hang_least: Duration = Field(default="1h", description="No task hangs before so long.")
    hash_inputs_mib: float = Field(
        default=64.0,
        ge=0,
        description="Files of `needs` up to this size, in MiB, are hashed for the provenance.",
    )


class OutputTable(Table):
    """This is an entry of `outputs`; a string is a path with the defaults."""

    path: str = Field(description="This is the file, with {parameters}; it is relative to `root`.")
    min_bytes: int = Field(default=1, ge=0, description="A file of fewer bytes does not count as written.")
    bytes: int | None = Field(default=None, ge=0, description="The file has exactly so many bytes.")
    sha256: str | None = Field(
        default=None, pattern=r"^[0-9a-f]{64}$", description="The content of the file has this sha256."
    )
    end_marker: str | None = Field(
        default=None, min_length=1, description="A whole file ends with these bytes."
    )
    atomic: bool | None = Field(
        default=None,
        description="With true the program writes under another name and renames by itself. The default is "
        "true for stages.",
    )


class RetriesTable(Table):
    """The table `retries` has the repetitions after a failure, by class."""

    task: int = Field(
        default=1,
        ge=0,
        description="So many retries follow where the program ended with another status than 0, or without "
        "its outputs.",
    )
    node: int = Field(default=5, ge=0, description="So many retries follow where a node failed.")
    launcher: int = Field(
        default=3, ge=0, description="So many retries follow where the program was not started."
    )
    input: int = Field(
        default=0, ge=0, description="So many retries follow where a file of `needs` is missing or damaged."
    )
    timeout: int = Field(
        default=0, ge=0, description="So many retries follow where the task took longer than its limits."
    )
    out_of_memory: int = Field(
        default=0, ge=0, description="So many retries follow where the task took more memory than there is."
    )


class EstimateTable(Table):
    """The table `estimate` has seconds from parameters, before anything has been measured."""

    formula: str | None = Field(
        default=None, description='This formula gives the duration, as "3e-4 * volume / mass" does.'
    )
    by: str | None = Field(
        default=None, description="The entries of `table` belong to values of this parameter."
    )
    table: dict[str, Duration] | None = Field(
        default=None, description="Each value of the parameter has a duration: 90, '5min', '2h'."
    )
    model: str | None = Field(
        default=None,
        description="The scaling model gives the duration, with these iterations of solves: 'light=400', or "
        "'' for runs without solves.",
    )
    lattice: str | None = Field(
        default=None,
        description="With `model`: the extents, as '32.32.32.64', where the run file does not say them.",
    )

    @model_validator(mode="after")
    def _one(self) -> Self:
        given = [value for value in (self.formula, self.table, self.model) if value is not None]
        if len(given) != 1 or (self.table is None) != (self.by is None):
            raise ValueError("give `formula`, `model`, or `by` and `table`")
        if self.lattice is not None and self.model is None:
            raise ValueError("`lattice` belongs to `model`")
        return self


#: The scaling model gives the estimate of a stage that has this word.
BY_MODEL = "model"


def _form_of_estimate(value: Any) -> str:
    if isinstance(value, (dict, EstimateTable)):
        return "table"
    return "model" if value == BY_MODEL else "text"


Estimate = Annotated[
    Annotated[Duration, Tag("text")]
    | Annotated[EstimateTable, Tag("table")]
    | Annotated[Literal["model"], Tag("model")],
    Discriminator(_form_of_estimate),
]
OutputEntry = Annotated[
    Annotated[str, Tag("text")] | Annotated[OutputTable, Tag("table")],
    Discriminator(lambda value: "table" if isinstance(value, (dict, OutputTable)) else "text"),
]
ValueList = Annotated[
    Annotated[list[Any], Tag("list")] | Annotated[str, Tag("text")], Discriminator(_shape_of_value)
]


class RequestTable(Table):
    """An attempt needs these resources; a task and its alternatives have these keys."""

    nodes: int | None = Field(
        default=None,
        ge=1,
        description="The task takes exactly so many nodes. The default is as few as hold it.",
    )
    ranks: int | None = Field(
        default=None, ge=1, le=10_000_000, description="The task has so many processes. The default is 1."
    )
    threads: int | None = Field(default=None, ge=1, description="Each rank has so many cores.")
    gpus_per_rank: float | None = Field(
        default=None, ge=0, description="Each rank has so many GPUs: a whole number, or a fraction below 1."
    )
    gpu_kind: str | None = Field(default=None, description="The GPUs are of this kind. The default is any.")
    memory_gib: float | None = Field(
        default=None, ge=0, description="Each rank takes so much memory, in GiB."
    )
    min_ranks_per_node: int | None = Field(
        default=None,
        ge=1,
        description="Without `nodes` ranks may be spread over more nodes, down to so many on a node.",
    )
    whole_nodes: bool | None = Field(
        default=None,
        description="With true nothing else runs on the task's nodes meanwhile. The default is false.",
    )
    estimate: Estimate | None = Field(
        default=None,
        description="The task takes about so long: 90, '5min', '2h', 'model' (the scaling model says it), or "
        "a table.",
    )
    environment: dict[str, str] = Field(
        default={}, description="The program sees these environment variables."
    )


class AlternativeTable(RequestTable):
    """A table [[task.alternatives]] is another way to run a task; keys that are not given are the task's."""

    command: Words | None = Field(
        default=None, description="The command is a list of words, or a line for sh."
    )


class TaskTable(RequestTable):
    """A table [[task]] is one task, or one for each combination of `over` and `rows`."""

    name: str = Field(
        description="The task has this name, with {parameters}; names are unique after the expansion."
    )
    group: str | None = Field(
        default=None,
        description="The task belongs to this group. The default is the name up to the first '{'.",
    )
    over: dict[str, ValueList] = Field(
        default={},
        description="Each parameter has a list, a range '1..10' or the name of a variable; the task is "
        "expanded over all combinations.",
    )
    rows: list[dict[str, Any]] = Field(
        default=[], description="Each row has values of parameters that go together."
    )
    kind: Literal["command", "generate", "measure", "analyze"] = Field(
        default="command",
        description="A command is any program; the other kinds are stages, commands of trellis.",
    )
    command: Words | None = Field(
        default=None, description="The command is a list of words, or a line for sh."
    )
    run_file: str | None = Field(
        default=None, description="A stage takes this run file, which is relative to this file."
    )
    set: dict[str, Any] = Field(
        default={},
        description='A stage\'s run file is changed in these keys, as {"sweeps.total" = "{n}"} does.',
    )
    arguments: list[str] = Field(
        default=[], description="The command line of a stage has these further words."
    )
    directory: str = Field(
        default=".", description="The task runs in this folder, which is relative to `root`."
    )
    priority: int = Field(
        default=0,
        description="Tasks with a higher number run first; among equals those with the longest chain of "
        "work behind them do.",
    )
    after: list[str] = Field(
        default=[],
        description="The task follows these tasks, groups or patterns with *; one with '?' at the end may "
        "match nothing.",
    )
    needs: list[str] = Field(default=[], description="The task needs these files.")
    predicate: Words | None = Field(
        default=None,
        description="This command is asked before the task runs: status 0 stands for run, 1 for skip, 75 "
        "for ask again later.",
    )
    outputs: list[OutputEntry] = Field(
        default=[], description="The task writes these files: paths, or tables with what they have to be."
    )
    makes: str | None = Field(default=None, description="The task writes this TOML file of further tasks.")
    retries: RetriesTable = RetriesTable()
    timeout: LongDuration | None = Field(
        default=None,
        description="The task is ended after so long. The default follows from hang_factor of [campaign].",
    )
    silence: LongDuration | None = Field(
        default=None, description="A task whose log and outputs do not grow for so long hangs."
    )
    spread: float = Field(
        default=0.0,
        ge=0,
        le=3,
        description="log(duration) scatters so much about the estimate: 0.3 is about 30 %.",
    )
    project: str = Field(default="", description="Ledgers of METAQ account the task to this project.")
    tags: list[str] = Field(
        default=[], description="These are words of the user's, on which nothing depends."
    )
    alternatives: list[AlternativeTable] = Field(
        default=[],
        description="The task may run in these other ways; a planner takes the one that fits best.",
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
    """This is a campaign: its tasks and what they depend on."""

    campaign: CampaignTable
    variables: dict[str, Any] = Field(
        default={}, description="These names stand for values in {braces} and in `over`."
    )
    task: list[TaskTable] = Field(min_length=1, description="The campaign has these tasks.")


class MadeTasksFile(Table):
    """A task writes this content to its `makes` file."""

    variables: dict[str, Any] = {}
    task: list[TaskTable] = []
