"""This module looks at a stream of `trellis generate`: stream.h5, its states, and the lock of the folder."""

from __future__ import annotations

import contextlib
import datetime
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ..analysis.readers.hdf5_files import open_hdf5
from ..analysis.readers.root_attributes import numbers_of, text_of
from ..analysis.records.errors import MeasurementFileError
from ..ground.errors import RunFileError
from ..run_files.loading import parse_toml
from . import alarms
from .locks import Lock, look_at_lock
from .settled import age_of, settled
from .view_model import Curve, Listing, Picture, State, Watched

STREAM = "stream.h5"
_STATE = re.compile(r"^(configuration|checkpoint)\.(\d{6,})\.json$")
_FAILED = re.compile(r"^failed_solve\.(\d{6,})\.json$")
#: The intervals of this many states, the newest ones, are compared.
_MOST_STATES = 20
#: A running mean of the acceptance has this many trajectories.
_OF_ACCEPTANCE = 20


@dataclass
class StreamData:
    """This is the content of stream.h5 that a look shows; numbers are those of trajectories or sweeps."""

    numbers: NDArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    values: dict[str, NDArray] = field(default_factory=dict)
    occasional: dict[str, tuple[NDArray, NDArray]] = field(default_factory=dict)
    thermalisation: int = 0
    beta: float | None = None
    run_file: str = ""


def read_stream(path: Path) -> StreamData:
    """Read the file as it is; it gets its name when it is whole, so that no half of it is ever seen.

    Raises
    ------
    MeasurementFileError, OSError, KeyError
        The file is damaged, or is no stream.
    """
    with open_hdf5(path) as file:
        data = StreamData(numbers=numbers_of(path, file["trajectory"]).astype(np.int64))
        data.thermalisation = _integer(file.attrs.get("thermalisation", 0))
        beta = file.attrs.get("beta")
        data.beta = None if beta is None else float(np.ravel(beta)[0])
        data.run_file = text_of(file.attrs.get("run_file")) or ""
        for name, dataset in file["observables"].items():
            values = numbers_of(path, dataset)
            if values.shape != data.numbers.shape:
                raise MeasurementFileError(
                    path, dataset.name, expected=f"{len(data.numbers)} numbers", found=list(values.shape)
                )
            data.values[name] = np.abs(values) if values.dtype.kind == "c" else values.astype(float)
        for name, group in file.get("occasional", {}).items():
            if isinstance(group, h5py.Group) and {"trajectory", "value"} <= set(group):
                data.occasional[name] = (
                    numbers_of(path, group["trajectory"]).astype(np.int64),
                    numbers_of(path, group["value"]),
                )
    return data


def _integer(value: Any) -> int:
    return int(np.ravel(value)[0])


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
    found.pictures = _pictures(data)
    found.listings = [*_monomials(data), *_parts(data), *_intervals(records)]
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
        charge = _charge(data)
        if charge is not None and len(charge[0]):
            found.facts.append(("topological charge", f"{charge[1][-1]:+.3f} at {int(charge[0][-1])}"))
        if data.numbers[-1] <= data.thermalisation:
            found.notices.append(f"thermalisation up to {data.thermalisation}: means are those of all so far")
    if pace is not None:
        found.facts.append((f"seconds each ({found.unit})", f"{pace:.3g}"))
    found.facts += [("writer", holder) for holder in lock.holders]


def _charge(data: StreamData) -> tuple[NDArray, NDArray] | None:
    """Return numbers and charges at the largest flow time, if the stream has them."""
    for name in ("flow_charge_improved", "flow_charge_clover"):
        if name in data.occasional:
            numbers, values = data.occasional[name]
            return (numbers, values[:, -1]) if values.ndim == 2 else (numbers, values)
    return None


def _pictures(data: StreamData) -> list[Picture]:
    numbers, values = data.numbers, data.values
    found = []

    def add(title: str, names: dict[str, str], **look: Any) -> None:
        curves = [Curve.of(shown, numbers, values[name]) for name, shown in names.items() if name in values]
        if any(curve.x for curve in curves):
            found.append(Picture(title, curves, **look))

    def of(prefix: str) -> dict[str, str]:
        return {name: name.removeprefix(prefix) for name in values if name.startswith(prefix)}

    add("Plaquette", {"plaquette": "plaquette"})
    add("dH", {"dH": "dH"}, level=0.0, marks=True)
    add("exp(-dH)", {"exp_minus_dH": "exp(-dH)"}, level=1.0, marks=True)
    if "accepted" in values and (numbers > data.thermalisation).any():
        tested = numbers > data.thermalisation
        accepted = values["accepted"][tested]
        means = [
            float(np.mean(accepted[max(0, k - _OF_ACCEPTANCE + 1) : k + 1])) for k in range(len(accepted))
        ]
        curve = Curve.of("accepted", numbers[tested], means)
        found.append(Picture(f"Acceptance, mean of {_OF_ACCEPTANCE}", [curve]))
    add("Mean force", of("force."), is_logarithmic=True)
    add("Largest force", of("force_largest."), is_logarithmic=True)
    iterations = {name: shown for name, shown in of("iterations.").items() if np.any(values[name] > 0)}
    add("Solver iterations", iterations)
    add("|Polyakov loop|", {"polyakov_loop": "|P|"})
    charge = _charge(data)
    if charge is not None and len(charge[0]):
        curve = Curve.of("Q", charge[0], charge[1])
        found.append(Picture("Topological charge", [curve], marks=True, level=0.0))
    add("Seconds of a trajectory", {"seconds": "seconds"})
    return found


def _monomials(data: StreamData) -> list[Listing]:
    names = [name.removeprefix("force.") for name in data.values if name.startswith("force.")]
    if not names:
        return []
    rows = []
    for name in names:
        row = [name]
        for prefix in ("force.", "force_largest.", "iterations."):
            values = data.values.get(prefix + name)
            row.append("–" if values is None or not len(values) else f"{values[-1]:.4g}")
        rows.append(row)
    return [Listing("Monomials in the last trajectory", ["monomial", "force", "largest", "iterations"], rows)]


def _parts(data: StreamData) -> list[Listing]:
    """Return the time by part over the newest trajectories."""
    whole = data.values.get("seconds")
    parts = {n.removeprefix("seconds."): v for n, v in data.values.items() if n.startswith("seconds.")}
    if whole is None or not parts or not len(whole):
        return []
    last = slice(-alarms.LOOK_BACK, None)
    total = float(np.nansum(whole[last]))
    count = len(whole[last])
    rows = []
    with contextlib.suppress(ZeroDivisionError):
        seconds = {name: float(np.nansum(values[last])) for name, values in parts.items()}
        seconds["other"] = max(total - sum(seconds.values()), 0.0)
        for name, spent in sorted(seconds.items(), key=lambda item: -item[1]):
            if spent > 0:
                rows.append([name.replace("_", " "), f"{spent / count:.3g}", f"{100 * spent / total:.1f} %"])
    return [Listing(f"Time by part, mean of the last {count}", ["part", "seconds", "share"], rows)]


def _intervals(records: Sequence[tuple[int, dict[str, Any], Path]]) -> list[Listing]:
    """Return the intervals of the rational functions, as the newest state has them."""
    known = [(number, record["intervals"]) for number, record, _ in records if record.get("intervals")]
    if not known:
        return []
    number, newest = known[-1]
    rows = [
        [
            name,
            f"{interval['low']:.4g}",
            f"{interval['high']:.4g}",
            f"{interval['high'] / interval['low']:.3g}",
        ]
        for name, interval in newest.items()
        if interval["low"] > 0
    ]
    title = f"Spectral intervals of the rational functions, state {number}"
    return [Listing(title, ["flavour", "low", "high", "high / low"], rows)] if rows else []


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
    if not found.is_over:
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
