"""This module looks at a spin glass: the observables by bins of time, the exchanges, and the lock."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..analysis.glass.reader import GlassData, read_glass
from ..analysis.readers.hdf5_files import open_hdf5
from ..analysis.readers.root_attributes import text_of
from ..ground.errors import RunFileError
from ..run_files.loading import parse_toml
from . import alarms
from .locks import look_at_lock
from .settled import age_of
from .stream import state_of, time_left
from .view_model import Curve, Listing, Picture, Watched

RESULTS = "glass.h5"
#: An exchange of temperatures that is accepted more seldom holds up all walks through them.
_LOW_EXCHANGE = 0.05


@dataclass(frozen=True)
class GlassLook:
    """This is the content of glass.h5: `data` is None before the first measurement."""

    step: int = 0
    run_file: str = ""
    data: GlassData | None = None


def read_results(path: Path) -> GlassLook:
    """Read glass.h5, which gets its name when it is whole.

    Raises
    ------
    MeasurementFileError, OSError, KeyError
        The file is damaged, or is none of `trellis glass`.
    """
    with open_hdf5(path) as file:
        step, text = int(np.ravel(file.attrs["step"])[0]), text_of(file.attrs.get("run_file")) or ""
        if not np.any(file["bins/counts"][:]):
            return GlassLook(step, text)
    return GlassLook(step, text, read_glass(path))


def look_at_glass(
    folder: Path, seen: GlassLook, *, run_file: str = "", pace: float | None = None, damage: str = ""
) -> Watched:
    """Return what there is to see.

    Parameters
    ----------
    seen
        The content of glass.h5.
    run_file
        The text of the run file, where the watcher has it.
    pace
        Seconds of a step, as the watcher saw them.
    damage
        It says why the results could not be read; `seen` is then what was read before.
    """
    keys, data = _keys(run_file or seen.run_file), seen.data
    lock = look_at_lock(folder, "glass")
    found = Watched("glass", f"glass in {folder}", unit="steps")
    found.completed = seen.step
    steps = keys.get("steps")
    total = steps.get("total") if isinstance(steps, dict) else None
    found.total = total if isinstance(total, int) and total >= found.completed else None
    found.age = age_of(folder / RESULTS)
    found.state = state_of(lock, found.completed, found.total, is_begun=seen.step > 0)
    found.seconds_left = time_left(found, pace, found.age)
    if data is not None:
        extents = "x".join(map(str, data.lattice[:3]))
        found.title = f"glass: {extents}, {data.couplings} couplings, {data.lattice[3]} samples in {folder}"
        _add_data(found, data)
    found.facts += [("writer", holder) for holder in lock.holders]
    if damage:
        found.alarms.append(f"damaged: {damage}")
    if found.state == "killed":
        found.alarms.append(f"killed: the run ended after {found.completed} steps or more; --resume goes on")
    if found.state != "finished":
        sizes = [path.stat().st_size for path in folder.glob("checkpoint.*.h5")] if folder.is_dir() else []
        found.alarms += alarms.disk(folder, max(sizes, default=0), None)
    if found.state == "running":
        found.alarms += alarms.silence(found.age, pace)
    return found


def _keys(text: str) -> dict[str, Any]:
    try:
        return parse_toml(text, "run file")
    except RunFileError:
        return {}


def _add_data(found: Watched, data: GlassData) -> None:
    energy = data.bins["energy"].mean(axis=1)  # its shape is [bin, temperature]
    coldest, hottest = data.temperatures[0], data.temperatures[-1]
    found.facts.append(("energy a site", f"{energy[-1, 0]:.6g} at T = {coldest:g}"))
    found.facts.append(("round trips", str(data.round_trips)))
    shown = {0: f"T = {coldest:g}", len(data.temperatures) - 1: f"T = {hottest:g}"}
    curves = [Curve.of(name, data.first_steps, energy[:, k]) for k, name in shown.items()]
    found.pictures.append(
        Picture("Energy a site by bins of time", curves, horizontal="first step of the bin", marks=True)
    )
    if not data.proposed.size:
        return
    with np.errstate(all="ignore"):
        shares = data.accepted / data.proposed
    curve = Curve.of("accepted", data.temperatures[:-1].tolist(), shares.tolist())
    found.pictures.append(
        Picture("Accepted exchanges with the next temperature", [curve], horizontal="T / J", marks=True)
    )
    percent = [f"{100 * share:.1f} %" if np.isfinite(share) else "–" for share in shares]
    rows = [
        [f"{t:g}", f"{e:.6g}", exchange]
        for t, e, exchange in zip(data.temperatures, energy[-1], [*percent, "–"], strict=True)
    ]
    found.listings.append(Listing("Temperatures", ["T / J", "energy a site", "exchanges"], rows))
    low = [k for k, share in enumerate(shares) if np.isfinite(share) and share < _LOW_EXCHANGE]
    if low and int(data.proposed.sum()) > 100 * len(shares):
        t, u = data.temperatures[low[0]], data.temperatures[low[0] + 1]
        found.alarms.append(
            f"acceptance: {100 * shares[low[0]]:.1f} % of the exchanges of T = {t:g} with {u:g}: "
            "put temperatures between the two"
        )
