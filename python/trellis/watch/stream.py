"""This module looks at a stream of `trellis generate`: stream.h5, its states, and the lock of the folder."""

from __future__ import annotations

import datetime
import json
import math
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..ground.errors import RunFileError
from ..run_files.loading import parse_toml
from . import alarms
from .locks import Lock, look_at_lock
from .settled import age_of, settled
from .stream_data import StreamData
from .stream_pictures import charge_of, intervals_of, monomials_of, parts_of, pictures_of
from .view_model import State, Watched

STREAM = "stream.h5"
_STATE = re.compile(r"^(configuration|checkpoint)\.(\d{6,})\.json$")
_FAILED = re.compile(r"^failed_solve\.(\d{6,})\.json$")
#: The intervals of this many states, the newest ones, are compared.
_MOST_STATES = 20


def look_at_stream(folder: Path, data: StreamData, *, run_file: str = "", damage: str = "") -> Watched:
    """Return what there is to see of a run.

    Parameters
    ----------
    run_file
        The text of the run file, where the watcher has it; else the stream's own counts.
    damage
        It says why the stream could not be read; `data` is then what was read before.
    """
    text = run_file or data.run_file
    keys = _keys(text)
    is_hmc = "dH" in data.values or "molecular_dynamics" in keys
    lock = look_at_lock(folder, "generate")
    found = Watched("generate", _title(folder, data, keys), unit="trajectories" if is_hmc else "sweeps")
    found.completed = int(data.numbers[-1]) if len(data.numbers) else 0
    found.total = _total(keys)
    if found.total is not None and found.completed > found.total:  # --trajectories asked for more
        found.total = None
    found.age = age_of(folder / STREAM)
    found.state = state_of(lock, found.completed, found.total, is_begun=len(data.numbers) > 0)
    records = _states(folder)
    pace = _pace(data, records, lock)
    found.seconds_left = time_left(found, pace, found.age)
    _add_facts(found, data, pace, lock)
    found.pictures = pictures_of(data)
    found.listings = [*monomials_of(data), *parts_of(data), *intervals_of(records)]
    _add_alarms(found, data, records, folder, keys, pace, damage)
    return found


def state_of(lock: Lock, completed: int, total: int | None, *, is_begun: bool) -> State:
    """Return the state of a run from its lock and from how far it is."""
    if lock.is_held:
        return "running"
    if total is not None and completed >= total > 0:
        return "finished"
    if lock.is_left:
        return "killed"
    return "stopped" if is_begun else "not begun"


def time_left(found: Watched, pace: float | None, age: float | None) -> float | None:
    """Return the seconds that are left of a run under way; those since its last write count."""
    if found.state != "running" or pace is None or found.total is None or found.completed is None:
        return None
    return max(pace * (found.total - found.completed) - (age or 0.0), 0.0)


def _keys(text: str) -> dict[str, Any]:
    try:
        return parse_toml(text, "run file")
    except RunFileError:
        return {}


def _total(keys: dict[str, Any]) -> int | None:
    for table in ("trajectories", "sweeps"):
        total = keys.get(table, {}).get("total") if isinstance(keys.get(table), dict) else None
        if isinstance(total, int):
            return total
    return None


def _title(folder: Path, data: StreamData, keys: dict[str, Any]) -> str:
    extents = keys.get("lattice", {}).get("extents") if isinstance(keys.get("lattice"), dict) else None
    parts = ["x".join(map(str, extents))] if isinstance(extents, list) else []
    parts += [] if data.beta is None else [f"beta = {data.beta:g}"]
    return f"generate: {', '.join(parts)} in {folder}" if parts else f"generate in {folder}"


def _states(folder: Path) -> list[tuple[int, dict[str, Any], Path]]:
    """Return number, content and path of the newest states, ascending; damaged ones are left out."""
    matches = ((_STATE.match(path.name), path) for path in folder.iterdir()) if folder.is_dir() else ()
    paths = sorted((int(m[2]), path) for m, path in matches if m)[-_MOST_STATES:]
    found = []
    for number, path in paths:
        content = settled(lambda path=path: _json(path), None)  # type: ignore[misc]
        if isinstance(content, dict):
            found.append((number, content, path))
    return found


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError:  # the run has just removed it
        return None


def _pace(data: StreamData, records: Sequence[tuple[int, dict[str, Any], Path]], lock: Lock) -> float | None:
    """Return the seconds of a trajectory or sweep: of the newest, or between the newest states."""
    seconds = data.values.get("seconds")
    if seconds is not None and len(seconds):
        newest = seconds[-alarms.LOOK_BACK :]
        whole = float(np.mean(newest[np.isfinite(newest)])) if np.isfinite(newest).any() else 0.0
        return whole or None
    since = _moment(lock.since)
    times = [(n, _moment(record.get("provenance", {}).get("created", ""))) for n, record, _ in records]
    known = [(n, at) for n, at in times if at is not None and (since is None or at >= since)]
    if len(known) < 2 or known[-1][0] <= known[0][0]:
        return None
    return max((known[-1][1] - known[0][1]) / (known[-1][0] - known[0][0]), 0.0) or None


def _moment(text: object) -> float | None:
    try:
        return datetime.datetime.fromisoformat(str(text)).timestamp()
    except ValueError:
        return None


def _after(data: StreamData) -> NDArray:
    """Return which trajectories are tested: all, where nothing but thermalisation is there."""
    kept = data.numbers > data.thermalisation
    return kept if kept.any() else np.ones(len(data.numbers), dtype=bool)


def _add_facts(found: Watched, data: StreamData, pace: float | None, lock: Lock) -> None:
    kept = _after(data)

    def mean(name: str) -> str:
        values = data.values[name][kept]
        values = values[np.isfinite(values)]
        return f"{values.mean():.6g}" if len(values) else "–"

    if data.numbers.size:
        if "plaquette" in data.values:
            last = data.values["plaquette"][-1]
            found.facts.append(("plaquette", f"{last:.6f}, mean {mean('plaquette')}"))
        if "dH" in data.values:
            found.facts.append(("dH", f"{data.values['dH'][-1]:+.4f}, mean {mean('dH')}"))
        if "accepted" in data.values and data.numbers[-1] > data.thermalisation:
            last = data.values["accepted"][kept][-alarms.LOOK_BACK :]
            shares = 100 * last.mean(), 100 * data.values["accepted"][kept].mean()
            text = f"{shares[0]:.0f} % of the last {len(last)}, {shares[1]:.0f} % of all"
            found.facts.append(("acceptance", text))
        if "exp_minus_dH" in data.values:
            found.facts.append(("<exp(-dH)>", mean("exp_minus_dH")))
        if "polyakov_loop" in data.values:
            last = data.values["polyakov_loop"][-1]
            found.facts.append(("|Polyakov loop|", f"{last:.5f}, mean {mean('polyakov_loop')}"))
        charge = charge_of(data)
        if charge is not None and len(charge[0]):
            found.facts.append(("topological charge", f"{charge[1][-1]:+.3f} at {int(charge[0][-1])}"))
        if data.numbers[-1] <= data.thermalisation:
            found.notices.append(f"thermalisation up to {data.thermalisation}: means are those of all so far")
    if pace is not None:
        found.facts.append((f"seconds each ({found.unit})", f"{pace:.3g}"))
    found.facts += [("writer", holder) for holder in lock.holders]


def _add_alarms(
    found: Watched,
    data: StreamData,
    records: Sequence[tuple[int, dict[str, Any], Path]],
    folder: Path,
    keys: dict[str, Any],
    pace: float | None,
    damage: str,
) -> None:
    say = found.alarms
    if damage:
        say.append(f"damaged: {damage}")
    if found.state == "killed":
        say.append(
            f"killed: the run ended after {found.completed} {found.unit} without a word; the same command "
            "goes on"
        )
    kept = data.numbers > data.thermalisation
    if "accepted" in data.values:
        say += alarms.acceptance(data.values["accepted"][kept].tolist())
    if "dH" in data.values:
        say += alarms.energy_violation(data.numbers[kept].tolist(), data.values["dH"][kept].tolist())
    say += _left_intervals(records)
    say += _failed_solves(folder, found)
    sizes = [path.with_suffix(".ildg") for _, _, path in records[-1:]]
    each = max((p.stat().st_size for p in sizes if p.is_file()), default=0)
    if found.state != "finished":
        say += alarms.disk(folder, each, _files_left(found, keys))
    if found.state == "running":
        say += alarms.silence(found.age, pace)
    guarded = data.values.get("hisq_guarded_links")
    if guarded is not None and np.nansum(guarded[-alarms.LOOK_BACK :]) > 0:
        count = int((guarded[-alarms.LOOK_BACK :] > 0).sum())
        found.notices.append(f"HISQ's force guard acted in {count} of the last trajectories")


def _left_intervals(records: Sequence[tuple[int, dict[str, Any], Path]]) -> list[str]:
    """Return a sentence for each flavour whose interval was widened between two of the newest states."""
    found: dict[str, str] = {}
    for (before, old, _), (number, new, _) in pairwise(records):
        was, now = old.get("intervals") or {}, new.get("intervals") or {}
        for name in was.keys() & now.keys():
            if was[name] != now[name]:
                low, high = now[name]["low"], now[name]["high"]
                found[name] = (
                    f"spectrum: that of {name} left its interval between trajectories {before} and {number}; "
                    f"it was widened to [{low:.4g}, {high:.4g}]"
                )
    return list(found.values())


def _failed_solves(folder: Path, found: Watched) -> list[str]:
    """Return a sentence for a solve that failed and was not mended since."""
    if not folder.is_dir():
        return []
    said = []
    for path in sorted(folder.iterdir()):
        match = _FAILED.match(path.name)
        if match and int(match[1]) > (found.completed or 0):
            content = settled(lambda path=path: _json(path), None)  # type: ignore[misc]
            error = content.get("error", "") if isinstance(content, dict) else ""
            said.append(f"residual: a solve failed in trajectory {int(match[1])} ({path.name}): {error}")
    return said


def _files_left(found: Watched, keys: dict[str, Any]) -> int | None:
    """Return how many configurations a run still writes, with its next state."""
    table = keys.get("trajectories") or keys.get("sweeps")
    every = table.get("keep_every") if isinstance(table, dict) else None
    if found.total is None or found.completed is None or not isinstance(every, int) or every <= 0:
        return None
    return math.ceil((found.total - found.completed) / every) + 1
