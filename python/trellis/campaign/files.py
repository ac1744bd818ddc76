"""This module reads campaign and machine files into the model."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..ground.errors import BadArgument, RunFileError
from ..run_files.loading import load_run_file, parse_run_file, validate_run
from .batch import Batch
from .dataflow import link_files
from .expansion import expand
from .graph import check_graph
from .launchers import check_options
from .machine_tables import BatchTable, MachineFile, MachineTable, NodesTable
from .model import Campaign, Gpu, Machine, Node, StartUp, Task, require_estimates
from .tables import CampaignFile, CampaignTable, MadeTasksFile
from .times import parse_seconds

#: The machine files that come with trellis lie here in an installed package; a source tree
#: has them in machines/.
MACHINES = Path(__file__).parent / "machine_files"
#: This folder of them has machines of papers, for the scaling model.
PUBLISHED = "published"


def load_campaign(path: Path | str) -> Campaign:
    """Read, validate and expand a campaign file.

    Raises
    ------
    RunFileError
        The file does not fit the schema (with line and nearest key).
    BadArgument
        A name in braces or a dependency is unknown, there is a cycle, or a name is used twice.
    """
    path = Path(path)
    file, text = load_run_file(path, CampaignFile)
    return _expanded(file, path.resolve().parent, str(path), text)


def make_campaign(words: Mapping[str, Any], folder: Path | str = ".") -> Campaign:
    """Return a campaign from dictionaries with the words of a campaign file.

    Parameters
    ----------
    words
        ``tomllib.load`` gives them for such a file: ``{"campaign": {...}, "task": [{...}, ...]}``.
    folder
        Relative paths start here.

    Raises
    ------
    RunFileError
        They do not fit the schema (with the key).
    BadArgument
        A name in braces or a dependency is unknown, there is a cycle, or a name is used twice.
    """
    name = "campaign"
    return _expanded(validate_run(words, CampaignFile, name), Path(folder).resolve(), name, json.dumps(words))


def make_machine(words: Mapping[str, Any]) -> Machine:
    """Return a machine from dictionaries with the words of a machine file; see :func:`make_campaign`."""
    return _machine(validate_run(words, MachineFile, "machine"), "machine")


def _expanded(file: CampaignFile, folder: Path, where: str, text: str) -> Campaign:
    root = Path(os.path.normpath(folder / file.campaign.root))
    state = root / (file.campaign.state or f"{file.campaign.name}.state")
    tasks: dict[str, Task] = {}
    expand(file.task, file.variables, folder, into=tasks, where=where)
    link_files(tasks, root, where)
    check_graph(tasks, where)
    return _campaign(file.campaign, root, state, tasks, text)


def _campaign(table: CampaignTable, root: Path, state: Path, tasks: dict[str, Task], text: str) -> Campaign:
    return Campaign(
        name=table.name,
        root=str(root),
        state=str(state),
        tasks=tasks,
        lease_seconds=parse_seconds(table.lease),
        orphans=table.orphans,
        text=text,
        hang_factor=table.hang_factor,
        hang_least_seconds=parse_seconds(table.hang_least),
        hash_inputs_bytes=round(table.hash_inputs_mib * (1 << 20)),
    )


def load_made_tasks(path: Path, campaign: Campaign) -> dict[str, Task]:
    """Return the tasks that a task wrote to its `makes` file; they may depend on all
    tasks of the campaign.
    """
    file, _ = load_run_file(path, MadeTasksFile)
    made: dict[str, Task] = {}
    expand(file.task, file.variables, path.parent, into=made, known=campaign.tasks, where=str(path))
    require_estimates(made)
    link_files(made, Path(campaign.root), str(path), known=campaign.tasks)
    check_graph({**campaign.tasks, **made}, str(path))
    return made


def machine_names() -> list[str]:
    """Return the names of the machine files that come with trellis."""
    return sorted(path.stem for path in _machine_folder().glob("*.toml"))


def published_machine_names() -> list[str]:
    """Return the names of the machine files that were made from published figures."""
    return sorted(path.stem for path in (_machine_folder() / PUBLISHED).glob("*.toml"))


def _machine_folder() -> Path:
    source = Path(__file__).resolve().parents[3] / "machines"
    return source if source.is_dir() else MACHINES


def load_machine(name: Path | str) -> Machine:
    """Return the machine of a machine file, by path or by the name of one that comes with trellis.

    Raises
    ------
    BadArgument
        There is no such machine.
    RunFileError
        The file does not fit the schema.
    """
    path = machine_path(name)
    file, _ = load_run_file(path, MachineFile)
    return _machine(file, str(path))


def machine_path(name: Path | str) -> Path:
    """Return the path of a machine file: a path, or the name of one that comes with trellis.

    Raises
    ------
    BadArgument
        There is no such machine.
    """
    path = Path(name)
    if path.is_file():
        return path
    for folder in (_machine_folder(), _machine_folder() / PUBLISHED):
        if (folder / f"{name}.toml").is_file():
            return folder / f"{name}.toml"
    raise BadArgument(
        f"no machine {str(name)!r}: give a file, or one of {', '.join(machine_names())}; of papers: "
        f"{', '.join(published_machine_names())}"
    )


def parse_machine(text: str, name: str = "machine file") -> Machine:
    """Return a machine from the text of a machine file."""
    return _machine(parse_run_file(text, MachineFile, name), name)


def _machine(file: MachineFile, where: str) -> Machine:
    allocation = file.allocation
    try:
        check_options(file.machine.launcher, file.launcher_options)
    except BadArgument as error:
        raise RunFileError(f"{where}: {error}") from None
    if allocation.length is not None and parse_seconds(allocation.length) <= parse_seconds(allocation.drain):
        raise RunFileError(
            f"{where}: allocation: nothing is left of a length of {allocation.length} with a drain of "
            f"{allocation.drain}"
        )
    names: list[tuple[str, NodesTable]] = []
    for table in file.nodes:
        if table.names and len(table.names) != table.count and "count" in table.model_fields_set:
            raise RunFileError(f"{where}: nodes: {table.count} nodes, but {len(table.names)} names")
        if table.gpu_environment and len(table.gpu_environment) != table.gpus:
            raise RunFileError(f"{where}: nodes.gpu_environment: one entry per GPU ({table.gpus}) is needed")
        first = len(names) + 1
        own = table.names or [f"{table.prefix}{first + i}" for i in range(table.count)]
        names += [(name, table) for name in own]
    if len({name for name, _ in names}) != len(names):
        raise RunFileError(f"{where}: nodes: a name occurs twice")
    lump = allocation.lump or len(names)
    block = allocation.block or lump
    if lump % block:
        raise RunFileError(f"{where}: allocation: lumps of {lump} nodes do not consist of blocks of {block}")
    return Machine(
        name=file.machine.name,
        nodes=tuple(
            _node(name, table, i // lump, i // block, where) for i, (name, table) in enumerate(names)
        ),
        launcher=file.machine.launcher,
        launcher_options=file.launcher_options,
        bad_hosts=frozenset(allocation.bad_hosts),
        allocation_seconds=None if allocation.length is None else parse_seconds(allocation.length),
        drain_seconds=parse_seconds(allocation.drain),
        join_timeout=parse_seconds(allocation.join_timeout),
        health=tuple(file.machine.health),
        node_failures=file.machine.node_failures,
        settle_seconds=_settle_seconds(file.machine),
        start_up=StartUp(**file.start_up.model_dump()),
        batch=_batch(file.batch),
    )


def _batch(table: BatchTable) -> Batch:
    words: dict[str, Any] = table.model_dump()
    words |= {key: tuple(value) for key, value in words.items() if isinstance(value, list)}
    return Batch(**words)


def _settle_seconds(table: MachineTable) -> float:
    if table.settle is not None:
        return parse_seconds(table.settle)
    return 0.0 if table.launcher == "process" else 2.0


def _node(name: str, table: NodesTable, lump: int, block: int, where: str) -> Node:
    cpus = len(os.sched_getaffinity(0)) if table.cpus == "all" else table.cpus
    near = table.cpus_per_gpu
    if table.gpus * near > cpus:
        raise RunFileError(f"{where}: nodes: {table.gpus} GPUs with {near} cores each, but {cpus} cores")
    gpus = tuple(
        Gpu(
            kind=table.gpu_kind,
            cpus=tuple(range(i * near, (i + 1) * near)),
            environment=table.gpu_environment[i] if table.gpu_environment else {},
        )
        for i in range(table.gpus)
    )
    return Node(
        name=name,
        cpus=cpus,
        gpus=gpus,
        memory_mib=round(1024 * table.memory_gib),
        lump=lump,
        block=block,
        environment=table.environment,
    )


def parse_campaign(text: str, folder: Path | str, name: str = "campaign file") -> Campaign:
    """Return a campaign from text; relative paths start at `folder`."""
    return _expanded(parse_run_file(text, CampaignFile, name), Path(folder).resolve(), name, text)
