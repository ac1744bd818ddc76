"""This module has drawings of the campaign report: SVG texts that refer to nothing outside themselves."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from html import escape

from .history import CAUSES, AttemptRecord, History, last_attempts
from .model import Task

WIDTH = 1000
_LEFT = 110
_PALETTE = ("#0072b2", "#009e73", "#e69f00", "#56b4e9", "#cc79a7", "#8c6bb1", "#7f7f7f", "#a6761d")
_FAILED = "#d62728"
_STATE_COLOURS = {"done": "#009e73", "running": "#56b4e9", "waiting": "#c9ced6", "released": "#e69f00"}
CAUSE_COLOURS = dict(
    zip(
        ("work", *CAUSES),
        ("#0072b2", "#c9ced6", "#e69f00", "#cc79a7", _FAILED, "#6b4c9a", "#eceff3"),
        strict=True,
    )
)
#: Every attempt is drawn up to this many rectangles; above, the busy fraction of each node in time is drawn.
MOST_RECTANGLES = 20000
MOST_ROWS = 600
MOST_TASKS_DRAWN = 400


def group_colours(history: History) -> dict[str, str]:
    """Return one colour per group of tasks, in the order of their first start."""
    groups = dict.fromkeys(a.group for a in history.attempts)
    return {group: _PALETTE[i % len(_PALETTE)] for i, group in enumerate(groups)}


def gantt(history: History) -> str:
    """Return rows for each node's cores and each of its GPUs; a box per attempt, red where it failed."""
    rectangles = sum(len(a.places) * 2 for a in history.attempts)
    rows = sum(1 + node.gpus for node in history.nodes.values())
    if rectangles > MOST_RECTANGLES or rows > MOST_ROWS:
        return _binned(history)
    colours = group_colours(history)
    cores = sum(node.cpus for node in history.nodes.values())
    lane, gap = max(4, min(14, 200 // max(cores, 1))), 10
    top: dict[str, int] = {}
    parts: list[str] = []
    y = 8
    for node in history.nodes.values():
        top[node.name] = y
        height = lane * node.cpus
        parts.append(_label(node.name, y + 10, bold=True) + _band(y, height))
        y += height + 3
        for gpu in range(node.gpus):
            parts.append(_label(f"GPU {gpu}", y + 10) + _band(y, 13))
            y += 15
        y += gap
    for a in history.attempts:
        colour = colours[a.group] if a.outcome in ("done", "running") else _FAILED
        title = escape(
            f"{a.task} (attempt {a.number}): {a.outcome}, {a.end - a.start:.3g} s {a.reason}".strip()
        )
        for node_name, cpus, gpus, share in a.places:
            used = history.nodes.get(node_name)
            if used is None:
                continue
            y0 = top[node_name]
            for first, count in _runs(cpus):
                parts.append(_box(history, a, y0 + lane * first, lane * count - 1, colour, title))
            for gpu in gpus:
                where = y0 + lane * used.cpus + 3 + 15 * gpu
                parts.append(_box(history, a, where, max(13 * share, 2), colour, title))
    return _svg(y + 26, [*parts, _time_axis(history, y)], "gantt")


def _binned(history: History) -> str:
    """Draw the busy fraction of each node's GPUs (cores where it has none), in 200 bins;
    at most MOST_ROWS nodes.
    """
    bins = 200
    names = list(history.nodes)[:MOST_ROWS]
    busy = {name: [0.0] * bins for name in names}
    width = max(history.end, 1e-9) / bins
    for a in history.attempts:
        for name, cpus, gpus, share in a.places:
            if name not in busy:
                continue
            node = history.nodes[name]
            part = len(gpus) * share / node.gpus if node.gpus else len(cpus) / node.cpus
            for b in range(int(a.start / width), min(int(a.end / width), bins - 1) + 1):
                overlap = min(a.end, (b + 1) * width) - max(a.start, b * width)
                busy[name][b] += part * max(overlap, 0.0) / width
    height = 6 if len(names) > 60 else 12
    step = (WIDTH - _LEFT) / bins
    parts = []
    for row, name in enumerate(names):
        y = 8 + row * height
        if row % max(len(names) // 40, 1) == 0:
            parts.append(_label(name, y + height))
        for b, value in enumerate(busy[name]):
            if value > 0.005:
                x = _LEFT + b * step
                parts.append(
                    f'<rect x="{x:.1f}" y="{y}" width="{step:.2f}" height="{height - 1}" fill="#0072b2" '
                    f'fill-opacity="{min(value, 1):.2f}"/>'
                )
    y = 8 + len(names) * height
    return _svg(y + 26, [*parts, _time_axis(history, y)], "gantt")


def idle_bar(causes: Mapping[str, float]) -> str:
    """Return one bar, which shows what the time of GPUs (or cores) went to."""
    total = sum(causes.values())
    if total <= 0:
        return ""
    parts, x = [], 0.0
    for name, value in causes.items():
        width = WIDTH * value / total
        title = f"{name}: {100 * value / total:.1f} %"
        parts.append(
            f'<rect x="{x:.1f}" y="0" width="{width:.1f}" height="34" fill="{CAUSE_COLOURS[name]}">'
            f"<title>{escape(title)}</title></rect>"
        )
        x += width
    return _svg(34, parts, "idle")


def throughput(history: History) -> str:
    """Draw tasks done against time: a line per group, and one for all tasks that are a group of their own."""
    single = "tasks of no group"
    colours = {**group_colours(history), single: "#5b6470"}
    sizes = Counter(a.group for a in history.attempts if a.outcome == "done")
    ends: dict[str, list[float]] = defaultdict(list)
    for a in history.attempts:
        if a.outcome == "done":
            ends[a.group if sizes[a.group] > 1 else single].append(a.end)
    height, top = 220, 10
    most = max((len(each) for each in ends.values()), default=1)
    parts = [_grid(height, top, most)]
    for group, times in ends.items():
        times.sort()
        every = max(len(times) // 500, 1)
        marks = [(t, i) for i, t in enumerate(times) if i % every == 0 or i + 1 == len(times)]
        steps = [(0.0, 0), *(p for t, i in marks for p in ((t, i), (t, i + 1))), (history.end, len(times))]
        line = " ".join(f"{_x(history, t):.1f},{top + height - height * n / most:.1f}" for t, n in steps)
        parts.append(
            f'<polyline points="{line}" fill="none" stroke="{colours[group]}" stroke-width="2">'
            f"<title>{escape(group)}</title></polyline>"
        )
    return _svg(height + top + 26, [*parts, _time_axis(history, height + top)], "throughput")


def estimates(history: History) -> str:
    """Draw measured against estimated durations, logarithmic, with the line on which both agree."""
    done = [a for a in history.attempts if a.outcome == "done" and a.end > a.start]
    points = [(a, a.estimate, a.end - a.start) for a in done if a.estimate]
    if not points:
        return ""
    colours = group_colours(history)
    values = [seconds for _, estimated, measured in points for seconds in (estimated, measured)]
    low, high = math.log10(min(values)) - 0.1, math.log10(max(values)) + 0.1
    size, left, top = 360, 60, 10

    def at(value: float) -> float:
        return (math.log10(value) - low) / (high - low)

    parts = [f'<rect x="{left}" y="{top}" width="{size}" height="{size}" fill="#f5f6f8"/>']
    parts.append(f'<line x1="{left}" y1="{top + size}" x2="{left + size}" y2="{top}" stroke="#5b6470"/>')
    for tick in (d * 10.0**p for p in range(math.floor(low), math.ceil(high)) for d in (1, 2, 5)):
        where = at(tick)
        if not 0 <= where <= 1:
            continue
        text = f"{tick:g} s"
        parts.append(
            f'<text x="{left + size * where:.1f}" y="{top + size + 16}" text-anchor="middle">{text}</text>'
        )
        parts.append(
            f'<text x="{left - 6}" y="{top + size * (1 - where) + 4:.1f}" text-anchor="end">{text}</text>'
        )
    for a, estimated, measured in points[:: max(len(points) // 3000, 1)]:
        x, y = left + size * at(estimated), top + size * (1 - at(measured))
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6" fill="{colours[a.group]}" fill-opacity=".65">'
            f"<title>{escape(a.task)}</title></circle>"
        )
    parts.append(f'<text x="{left + size / 2}" y="{top + size + 34}" text-anchor="middle">estimated</text>')
    parts.append(
        f'<text transform="translate(12 {top + size / 2}) rotate(-90)" text-anchor="middle">measured</text>'
    )
    return _svg(top + size + 42, parts, "estimates", width=left + size + 20)


def task_graph(history: History, tasks: Mapping[str, Task]) -> str:
    """Return tasks (or, of many, groups) in columns by the length of the chain before them."""
    last = last_attempts(history)
    if len(tasks) <= MOST_TASKS_DRAWN:
        after = {name: [o for o in task.after if o in tasks] for name, task in tasks.items()}
        labels = {name: (name, _state_colour(last.get(name), name in history.done)) for name in tasks}
    else:
        done = history.done | {name for name, a in last.items() if a.outcome == "done"}
        after, labels = _groups(tasks, done)
    depth = _depths(after)
    columns: dict[int, list[str]] = defaultdict(list)
    for name in after:
        columns[depth[name]].append(name)
    tallest = max((len(column) for column in columns.values()), default=1)
    height = min(max(tallest * 22, 80), 1400)
    step = (WIDTH - 20) / max(len(columns), 1)
    place: dict[str, tuple[float, float]] = {}
    for number, column in columns.items():
        column.sort(
            key=lambda name: sum(place[o][1] for o in after[name]) / len(after[name]) if after[name] else 0.0
        )
        for i, name in enumerate(column):
            place[name] = 10 + step * number, 10 + height * (i + 0.5) / len(column)
    parts = []
    for name, others in after.items():
        x, y = place[name]
        for other in others:
            x0, y0 = place[other]
            parts.append(
                f'<path d="M{x0 + 12:.0f} {y0:.1f} C{(x0 + x) / 2:.0f} {y0:.1f} {(x0 + x) / 2:.0f} {y:.1f} '
                f'{x:.0f} {y:.1f}" fill="none" stroke="#b5bcc6" stroke-width=".8"/>'
            )
    show_names = tallest * 11 <= height * 1.2
    for name, (x, y) in place.items():
        label, colour = labels[name]
        parts.append(
            f'<rect x="{x:.0f}" y="{y - 4:.1f}" width="12" height="8" rx="2" fill="{colour}">'
            f"<title>{escape(label)}</title></rect>"
        )
        if show_names:
            parts.append(
                f'<text x="{x + 15:.0f}" y="{y + 4:.1f}" paint-order="stroke" stroke="#fff" stroke-width="3">'
                f"{escape(label[: int(step / 6.2)])}</text>"
            )
    return _svg(height + 20, parts, "graph")


def _groups(
    tasks: Mapping[str, Task], ended: Collection[str]
) -> tuple[dict[str, list[str]], dict[str, tuple[str, str]]]:
    members: dict[str, list[str]] = defaultdict(list)
    after: dict[str, dict[str, None]] = defaultdict(dict)
    for name, task in tasks.items():
        members[task.group].append(name)
        after.setdefault(task.group, {})
        for other in task.after:
            if other in tasks and tasks[other].group != task.group:
                after[task.group][tasks[other].group] = None
    labels = {}
    for group, names in members.items():
        done = sum(name in ended for name in names)
        colour = _STATE_COLOURS["done" if done == len(names) else "running" if done else "waiting"]
        labels[group] = (f"{group}: {done} of {len(names)}", colour)
    return {group: list(others) for group, others in after.items()}, labels


def _depths(after: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Return the longest chain before each; a circle of groups that depend on each other is cut."""
    depth: dict[str, int] = {}
    for start in after:
        stack = [(start, False)]
        entered = set()
        while stack:
            name, is_left = stack.pop()
            if is_left:
                depth[name] = 1 + max((depth.get(other, -1) for other in after[name]), default=-1)
            elif name not in depth and name not in entered:
                entered.add(name)
                stack.append((name, True))
                stack += [(other, False) for other in after[name] if other not in depth]
    return depth


def _state_colour(attempt: AttemptRecord | None, is_done: bool) -> str:
    if is_done:
        return _STATE_COLOURS["done"]
    return _STATE_COLOURS["waiting"] if attempt is None else _STATE_COLOURS.get(attempt.outcome, _FAILED)


def _runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Return first and length of each run of consecutive numbers."""
    runs: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if runs and number == sum(runs[-1]):
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((number, 1))
    return runs


def _x(history: History, time: float) -> float:
    return _LEFT + (WIDTH - _LEFT) * time / max(history.end, 1e-9)


def _box(history: History, a: AttemptRecord, y: float, height: float, colour: str, title: str) -> str:
    x = _x(history, a.start)
    width = max(_x(history, a.end) - x, 0.6)
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}" '
        f'stroke="#fff" stroke-width=".4"><title>{title}</title></rect>'
    )


def _band(y: float, height: float) -> str:
    return f'<rect x="{_LEFT}" y="{y}" width="{WIDTH - _LEFT}" height="{height}" fill="#eceff3"/>'


def _label(text: str, y: float, *, bold: bool = False) -> str:
    weight = ' font-weight="600"' if bold else ""
    return f'<text x="{_LEFT - 8}" y="{y}" text-anchor="end"{weight}>{escape(text)}</text>'


def _grid(height: float, top: float, most: int) -> str:
    parts = []
    for part in (0.0, 0.5, 1.0):
        y = top + height * (1 - part)
        parts.append(f'<line x1="{_LEFT}" y1="{y}" x2="{WIDTH}" y2="{y}" stroke="#dfe3e8"/>')
        parts.append(_label(f"{most * part:g}", y + 4))
    return "".join(parts)


def _time_axis(history: History, y: float) -> str:
    unit, size = next(
        ((u, s) for u, s in (("days", 86400.0), ("h", 3600.0), ("min", 60.0)) if history.end > 3 * s),
        ("s", 1.0),
    )
    span = max(history.end / size, 1e-9)
    step = 10 ** math.floor(math.log10(span))
    step = next(s * step for s in (0.1, 0.2, 0.5, 1.0) if span / (s * step) <= 10)
    parts = [f'<line x1="{_LEFT}" y1="{y}" x2="{WIDTH}" y2="{y}" stroke="#1d2129"/>']
    for i in range(int(span / step) + 1):
        x = _x(history, i * step * size)
        anchor = "end" if x > WIDTH - 20 else "middle"
        parts.append(f'<line x1="{x:.1f}" y1="{y}" x2="{x:.1f}" y2="{y + 5}" stroke="#1d2129"/>')
        parts.append(f'<text x="{x:.1f}" y="{y + 18}" text-anchor="{anchor}">{i * step:.4g} {unit}</text>')
    return "".join(parts)


def _svg(height: float, parts: Sequence[str], name: str, *, width: float = WIDTH) -> str:
    return (
        f'<svg id="{name}" role="img" viewBox="0 0 {width:g} {height:g}" style="max-width:{width:g}px" '
        f'font-size="11" font-family="inherit" fill="#1d2129">{"".join(parts)}</svg>'
    )
