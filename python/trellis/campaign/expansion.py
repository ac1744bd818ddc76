"""Task tables are expanded here over their parameters."""

from __future__ import annotations

import bisect
import fnmatch
import itertools
import math
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..ground.errors import BadArgument, RunFileError
from ..run_files.loading import load_toml
from .formats import MOST_VALUES, SHELL, evaluate, fill, uses_outputs, value_list
from .model import Alternative, ModelEstimate, Output, Request, Retries, Task
from .shapes import WHOLE_GPU
from .stages import run_file_text
from .tables import BY_MODEL, AlternativeTable, Estimate, EstimateTable, OutputTable, TaskTable
from .times import parse_seconds

_REQUEST = ("nodes", "ranks", "threads", "gpus_per_rank", "gpu_kind", "min_ranks_per_node", "whole_nodes")
#: A name has at most this many bytes: 255 are possible, and the rest is for endings of
#: files that do not count.
MOST_NAME_BYTES = 200


def expand(
    tables: Sequence[TaskTable],
    variables: Mapping[str, Any],
    folder: Path,
    *,
    into: dict[str, Task],
    known: Mapping[str, Task] | None = None,
    where: str,
) -> None:
    """Add the tasks of all tables to `into`, with patterns in `after` resolved among them and `known`.

    Raises
    ------
    BadArgument
        A name is used twice, a name in braces is unknown, or a pattern matches nothing.
    """
    known = known or {}
    for table in tables:
        maker = _Maker(table, variables, folder, where)
        for parameters in _combinations(table, variables, f"{where}: task {table.name!r}"):
            task = maker.task(parameters)
            if task.name in into or task.name in known:
                raise BadArgument(f"{where}: two tasks are called {task.name!r}")
            into[task.name] = task
    names = _Names({**known, **into})
    for task in into.values():
        task.after = tuple(dict.fromkeys(n for p in task.after for n in names.matching(p, task, where)))


def _combinations(table: TaskTable, variables: Mapping[str, Any], where: str) -> Iterator[dict[str, Any]]:
    lists = {
        name: value_list(value, variables, f"{where}: over.{name}") for name, value in table.over.items()
    }
    constants = {name: value for name, value in variables.items() if not isinstance(value, (list, dict))}
    count = math.prod(map(len, lists.values())) * max(len(table.rows), 1)
    if count > MOST_VALUES:
        raise BadArgument(f"{where}: {count} tasks, at most {MOST_VALUES} are possible")
    for row in table.rows or [{}]:
        for values in itertools.product(*lists.values()):
            yield {**constants, **row, **dict(zip(lists, values, strict=True))}


class _Names:
    """A pattern in `after` is the name of a task, a group, or a pattern with *; this finds its tasks."""

    def __init__(self, tasks: Mapping[str, Task]) -> None:
        self.tasks = tasks
        self.groups: dict[str, list[str]] = {}
        for name, task in tasks.items():
            self.groups.setdefault(task.group, []).append(name)
        self.found: dict[str, list[str]] = {}
        self.place = {name: i for i, name in enumerate(tasks)}
        self.sorted = sorted(tasks)

    def matching(self, pattern: str, task: Task, where: str) -> list[str]:
        may_be_empty = pattern.endswith("?")
        pattern = pattern.removesuffix("?")
        if pattern in self.tasks:
            return [sys.intern(pattern)]
        if pattern not in self.found:
            if "*" in pattern:
                self.found[pattern] = self._fitting(pattern)
            else:
                self.found[pattern] = self.groups.get(pattern, [])
        names = [name for name in self.found[pattern] if name != task.name]
        if not names and not may_be_empty and "*" in pattern:
            raise BadArgument(f"{where}: task {task.name!r}: after: nothing matches {pattern!r}")
        return names if names or may_be_empty else [pattern]  # a missing name is reported with the nearest

    def _fitting(self, pattern: str) -> list[str]:
        """Return the fitting names in the order of the file; names with another beginning are not tried."""
        beginning = re.split(r"[*?\[]", pattern, maxsplit=1)[0]
        first = bisect.bisect_left(self.sorted, beginning)
        end = first
        if beginning:
            after = beginning[:-1] + chr(ord(beginning[-1]) + 1)
            end = bisect.bisect_left(self.sorted, after)
        candidates = self.sorted[first : end if beginning else None]
        found = [name for name in candidates if fnmatch.fnmatchcase(name, pattern)]
        return sorted(found, key=self.place.__getitem__)


class _Maker:
    """These are the tasks of one table."""

    def __init__(self, table: TaskTable, variables: Mapping[str, Any], folder: Path, where: str) -> None:
        self.table, self.folder = table, folder
        self.where = f"{where}: task {table.name!r}"
        self.constants = {k: v for k, v in variables.items() if not isinstance(v, (list, dict))}
        self.group = table.group or table.name.split("{")[0].rstrip("-_.:/ ") or table.name
        self.retries = Retries(**table.retries.model_dump())
        self.shared: dict[Any, Any] = {}  # equal requests, alternatives and retries are one object
        self.template = self._template()

    def _template(self) -> dict[str, Any]:
        if self.table.run_file is None:
            return {}
        return _read_toml(self.folder / self.table.run_file, self.where)

    def task(self, parameters: dict[str, Any]) -> Task:
        table = self.table

        def text(value: str) -> str:
            return fill(value, parameters, self.where)

        def launch_text(value: str) -> str:
            return fill(value, parameters, self.where, for_launch=True)

        outputs = tuple(self._output(entry, text) for entry in table.outputs)
        task = Task(
            name=text(table.name),
            group=self.group,
            command=self._command(launch_text),
            alternatives=self._alternatives(parameters, launch_text),
            directory=text(table.directory),
            environment={k: launch_text(v) for k, v in table.environment.items()},
            parameters={k: v for k, v in parameters.items() if k not in self.constants},
            priority=table.priority,
            after=tuple(text(name) for name in table.after),
            needs=tuple(text(name) for name in table.needs),
            predicate=_words(table.predicate, text),
            outputs=outputs,
            makes=text(table.makes) if table.makes else None,
            retries=self.retries,
            timeout=None if table.timeout is None else parse_seconds(table.timeout),
            silence=None if table.silence is None else parse_seconds(table.silence),
            spread=table.spread,
            project=text(table.project),
            tags=tuple(map(text, table.tags)),
            run_file=self._run_file(parameters, text),
        )
        self._check(task)
        return task

    def _check(self, task: Task) -> None:
        if not task.name or not task.name.isprintable():
            raise BadArgument(f"{self.where}: a task cannot be called {task.name!r}")
        commands = [task.command, *(a.command for a in task.alternatives if a.command)]
        if any(words and not words[0].strip() for words in commands):
            raise BadArgument(f"{self.where}: a command begins with the name of a program")
        environments = [task.environment, *(a.environment for a in task.alternatives)]
        used = [*commands, *(tuple(each.values()) for each in environments)]
        beyond = [i for words in used for i in uses_outputs(words, self.where) if i >= len(task.outputs)]
        if beyond:
            raise BadArgument(f"{self.where}: {{output:{beyond[0]}}}, but it has {len(task.outputs)} outputs")
        for variable in itertools.chain(*environments):
            if not variable or "=" in variable:
                raise BadArgument(f"{self.where}: environment: a variable cannot be called {variable!r}")
        paths = [*(output.path for output in task.outputs), *task.needs, task.directory]
        values = (value for each in environments for pair in each.items() for value in pair)
        for word in itertools.chain(*commands, task.predicate, paths, values, (task.makes or "",)):
            if "\0" in word:
                raise BadArgument(f"{self.where}: {word!r} has a zero byte, which no program can be given")
        for output in task.outputs:
            last = os.path.basename(output.path)
            if last in ("", ".", ".."):
                raise BadArgument(f"{self.where}: an output is a file, not {output.path!r}")
            if len(last.encode()) > MOST_NAME_BYTES:
                raise BadArgument(
                    f"{self.where}: the name of an output has at most {MOST_NAME_BYTES} bytes: {last!r}"
                )
        if "" in task.needs:
            raise BadArgument(f"{self.where}: needs: an empty path")

    def _command(self, text: Any) -> tuple[str, ...]:
        table = self.table
        if table.kind == "command":
            return _words(table.command, text)
        head = (sys.executable, "-m", "trellis", table.kind)
        if table.kind == "analyze":
            options = ("--options", "{run_file}") if table.run_file else ()
            return (*head, *map(text, table.arguments), *options)
        return (*head, "{run_file}", *map(text, table.arguments))

    def _run_file(self, parameters: dict[str, Any], text: Any) -> str:
        if self.table.run_file is None:
            return ""
        changes = {text(k): _filled(v, parameters, text) for k, v in self.table.set.items()}
        return run_file_text(self.table.kind, self.template, changes, self.where)

    def _output(self, entry: str | OutputTable, text: Any) -> Output:
        table = OutputTable(path=entry) if isinstance(entry, str) else entry
        is_atomic = self.table.kind != "command" if table.atomic is None else table.atomic
        return Output(
            path=text(table.path),
            min_bytes=table.min_bytes,
            bytes=table.bytes,
            sha256=table.sha256,
            end_marker=table.end_marker,
            is_atomic=is_atomic,
        )

    def _alternatives(self, parameters: dict[str, Any], text: Any) -> tuple[Alternative, ...]:
        tables: list[Any] = list(self.table.alternatives) or [AlternativeTable()]
        made = tuple(self._alternative(table, parameters, text) for table in tables)
        return self.shared.setdefault(repr(made), made)

    def _alternative(self, table: AlternativeTable, parameters: dict[str, Any], text: Any) -> Alternative:
        own = {name: getattr(table, name) for name in _REQUEST}
        values = {n: v if v is not None else getattr(self.table, n) for n, v in own.items()}
        memory = table.memory_gib if table.memory_gib is not None else self.table.memory_gib
        estimate = table.estimate if table.estimate is not None else self.table.estimate
        request = Request(
            **{name: value for name, value in values.items() if value is not None},
            memory_mib=round(1024 * (memory or 0)),
        )
        check_request(request, self.where)
        asked = self._asked_of_model(estimate, text)
        return Alternative(
            request=self.shared.setdefault(request, request),
            estimate=self._seconds(estimate, parameters, is_asked=asked is not None),
            environment={k: text(v) for k, v in table.environment.items()},
            command=_words(table.command, text) or None,
            is_estimated=estimate is not None and asked is None,
            by_model=asked,
        )

    def _asked_of_model(self, estimate: Estimate | None, text: Any) -> ModelEstimate | None:
        """Return what the scaling model is asked, or None where the file gives the estimate itself."""
        if isinstance(estimate, EstimateTable):
            if estimate.model is None:
                return None
            asked = ModelEstimate(text(estimate.model), estimate.lattice and text(estimate.lattice))
        elif estimate == BY_MODEL:
            asked = ModelEstimate()
        else:
            return None
        if self.table.run_file is None:
            raise BadArgument(
                f"{self.where}: estimate: the scaling model needs a run file of trellis generate, measure or "
                "glass (run_file); give a duration"
            )
        return asked

    def _seconds(self, estimate: Estimate | None, parameters: dict[str, Any], *, is_asked: bool) -> float:
        if estimate is None or is_asked:
            return 60.0
        if not isinstance(estimate, EstimateTable):
            return parse_seconds(estimate)
        if estimate.formula is not None:
            return evaluate(estimate.formula, parameters, f"{self.where}: estimate")
        assert estimate.table is not None
        key = str(parameters.get(estimate.by or ""))
        if key not in estimate.table:
            raise BadArgument(
                f"{self.where}: estimate: no entry for {estimate.by} = {key}; there are "
                f"{', '.join(estimate.table)}"
            )
        return parse_seconds(estimate.table[key])


def check_request(request: Request, where: str) -> None:
    """Check that a request has a meaning on some machine.

    Raises
    ------
    BadArgument
        A GPU fraction above 1 is not whole, or one is too small; or there are more nodes than ranks, or more
        ranks per node than ranks.
    """
    share = request.gpus_per_rank
    if share > 1 and share != int(share):
        raise BadArgument(f"{where}: gpus_per_rank is {share}; a whole number or a fraction below 1")
    if 0 < share < 1 / WHOLE_GPU:
        raise BadArgument(f"{where}: gpus_per_rank is {share}; the smallest fraction is {1 / WHOLE_GPU:g}")
    nodes, least = request.nodes or 1, request.min_ranks_per_node or 1
    if nodes > request.ranks:
        raise BadArgument(f"{where}: {nodes} nodes for {request.ranks} ranks")
    if nodes * least > request.ranks:
        raise BadArgument(
            f"{where}: min_ranks_per_node is {least}, but there are {request.ranks} ranks for {nodes} nodes"
        )


def _filled(value: Any, parameters: Mapping[str, Any], text: Any) -> Any:
    """Return the value with its strings filled in; one that is a single {name} keeps the parameter's type."""
    if isinstance(value, str):
        if value.startswith("{") and value.endswith("}") and value[1:-1] in parameters:
            return parameters[value[1:-1]]
        filled = text(value)
        return (
            int(filled)
            if value != filled and value.startswith("{") and filled.lstrip("-").isdigit()
            else filled
        )
    if isinstance(value, list):
        return [_filled(v, parameters, text) for v in value]
    if isinstance(value, dict):
        return {k: _filled(v, parameters, text) for k, v in value.items()}
    return value


def _words(command: list[str] | str | None, text: Any) -> tuple[str, ...]:
    """Return the words of a command; sh runs a line, a list stays as it is."""
    if command is None:
        return ()
    if isinstance(command, str):
        return (*SHELL, text(command))
    return tuple(map(text, command))


def _read_toml(path: Path, where: str) -> dict[str, Any]:
    """Return a TOML file without a schema."""
    try:
        return load_toml(path)
    except RunFileError as error:
        raise BadArgument(f"{where}: {error}") from error
