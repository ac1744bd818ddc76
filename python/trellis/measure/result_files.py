"""This module writes the HDF5 file of one measured configuration: correlators.NNNNNN.h5
(doc/howto/run_files.md)."""

from __future__ import annotations

import json as json_text
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..gauge.fields import GaugeField
from ..gauge.flow import FlowHistory
from ..ground import dataset_checksums
from ..ground.compiled_core import load
from ..ground.crash_safe_files import behind_links
from ..ground.errors import BadArgument, FileError
from ..ground.parallel import on_root
from ..ground.provenance import write_root_attributes
from ..ground.solve_report import SolveReport
from ..ground.version import run_file_language
from ..hadrons.channels import NAMED_BARYONS, MesonChannel
from ..run_files import MeasureRun
from ..run_files.contractions import STRANGE
from ..run_files.earlier import TRANSLATED, translate_record
from ..run_files.measured_quarks import MeasuredQuark
from ..run_files.measured_sources import SourceTable
from ..run_files.phases import PHASE_WORDS
from ..run_files.staggered_measurement import MeasuredStaggeredKind
from ..runs.changed_keys import different_keys, differing_keys
from .inputs import FileStamp, write_input
from .multigrid import ConfigurationMultigrid
from .sources import staggered_sites
from .speed import speed_columns
from .staggered_quarks import CONDENSATE, StaggeredMeson

#: All files of a measurement have to share these tables of the run file.
_PHYSICS = (
    "fermion",
    "solver",
    "deflation",
    "source",
    "sink",
    "smearing",
    "correlators",
    "feynman_hellmann",
    "three_point",
    "condensate",
    "flow",
)

_DAMAGED = (
    "the file is damaged, or not one of trellis measure: move it away, and --resume measures its "
    "configuration again"
)


@dataclass
class Measured:
    """These are the results of one configuration: a table (name -> [momentum, time]) for each source, and the
    rest."""

    tables: list[dict[str, NDArray]]
    positions: list[tuple[int, ...]]
    reports: list[SolveReport]
    history: FlowHistory | None
    are_read: list[bool] = field(default_factory=list)  #: each report says whether its propagator was read
    multigrid: ConfigurationMultigrid | None = None  #: it is there where this run has solved with it
    solver_choice: str = ""  #: it says why, where the solver was chosen by counted work

    @property
    def solved(self) -> list[SolveReport]:
        """Return the reports of this run's own solves, without those of propagators that were read."""
        return [r for r, is_read in zip(self.reports, self.are_read, strict=True) if not is_read]


def result_file(folder: Path, number: int) -> Path:
    """Return the path of the file of a configuration's correlators."""
    return folder / f"correlators.{number:06d}.h5"


def physics(run: MeasureRun) -> str:
    """Return the tables that all files of a measurement have to share, as JSON text."""
    tables: dict[str, Any] = {"run_file_language": run_file_language}
    for name in _PHYSICS:
        table = getattr(run, name)
        tables[name] = None if table is None else table.model_dump(mode="json")
    return json_text.dumps(tables, sort_keys=True)


def _without_none(value: Any) -> Any:
    """Leave out keys that are None, since newer versions have more of them."""
    if isinstance(value, dict):
        return {key: _without_none(entry) for key, entry in value.items() if entry is not None}
    return value


def require_same_run(
    path: Path, run: MeasureRun, notice: Callable[[str], None] = lambda _: None
) -> tuple[int, ...]:
    """Refuse to go on beside results of other parameters or with damage; the lattice. Collective.

    `notice` gets a line about a result whose words are of an earlier language.
    """
    on_root(lambda: _require_readable(path))
    try:
        root = load().Hdf5File.open(str(path)).root()
        text, lattice = root.text("physics"), tuple(root.integers("lattice"))
        _read_all(root, path)
    except FileError as error:
        raise FileError(f"{error}; {_DAMAGED}") from error
    require_same_physics(path, text, run, notice)
    return lattice


def _require_readable(path: Path) -> None:
    """Read one byte, so that the system's refusals (no permission, a failing disk) do not count as damage."""
    with open(path, "rb") as file:
        file.read(1)


def _read_all(root: Any, path: Path) -> None:
    """Read every dataset, so that its checksum is compared."""
    dataset_checksums.read(root, "configurations", f"{path}: ", integers=True)
    for part in ("correlators", "condensates", "observables", "solves", "flow"):
        if root.has(part):
            group = root.group(part)
            for name in group.names():
                dataset_checksums.read(group, name, f"{path}: /{part}")


def require_same_physics(
    path: Path, text: str, run: MeasureRun, notice: Callable[[str], None] = lambda _: None
) -> None:
    """Refuse to go on beside results of other tables; `text` is what a file has of :func:`physics`."""
    try:
        stored = json_text.loads(text)
    except json_text.JSONDecodeError:
        stored = None
    if not isinstance(stored, dict):
        raise FileError(
            f"{path}: expected the tables of a run file in the attribute physics, found {text!r}; {_DAMAGED}"
        )
    language = stored.get("run_file_language", 1)
    stored = translate_record(stored, language)
    if language < run_file_language:
        notice(f"{path}: {TRANSLATED}")
    expected = json_text.loads(physics(run))
    del expected["run_file_language"]
    changed = differing_keys(
        _without_none({table: stored.get(table) for table in expected}), _without_none(expected)
    )
    if changed:
        raise BadArgument(f"{path}: {different_keys(changed)}; a changed run needs another folder")


def write_result(
    target: Path,
    run: MeasureRun,
    text: str,
    *,
    number: int,
    path: str,
    stamp: FileStamp,
    U: GaugeField,
    channels: list[MesonChannel | StaggeredMeson],
    momenta: list,
    measured: Measured,
) -> None:
    """Write the file of one configuration under another name, and rename it. Collective."""
    file = load().Hdf5File.create(behind_links(target))
    root = file.root()
    write_root_attributes(root, "measurement", text, U.geometry.extents)
    root.set_text("physics", physics(run))
    write_input(root, path, stamp, U)
    beta = on_root(lambda: _beta_of(path))
    if beta is not None:
        root.set_real("beta", beta)
    dataset_checksums.write(root, "configurations", np.array([number], dtype=np.int64))
    if measured.tables:
        if names := [name for name in measured.tables[0] if not name.startswith(CONDENSATE)]:
            _write_correlators(root.make_group("correlators"), run, names, channels, momenta, measured)
        _write_condensates(root, measured)
        _write_solves(root.make_group("solves"), run, measured)
    if measured.history is not None:
        _write_flow(root.make_group("flow"), measured.history)
    file.commit()


def _write_correlators(
    group: Any,
    run: MeasureRun,
    names: list[str],
    channels: list[MesonChannel | StaggeredMeson],
    momenta: list,
    measured: Measured,
) -> None:
    by_name = {channel.name: channel for channel in channels}
    for name in names:
        values = np.stack([table[name] for table in measured.tables])[np.newaxis]
        dataset_checksums.write(group, name, values)
        channel = by_name.get(name)
        attributes = (
            staggered_attributes(run, channel)
            if isinstance(channel, StaggeredMeson)
            else _attributes(run, name, channel)
        )
        for key, value in attributes.items():
            (group.set_real if isinstance(value, float) else group.set_text)(key, value, name)
        own = momenta_of(run, name, momenta)
        group.set_integers("momenta", [n for momentum in own for n in momentum], name)
        if name.startswith("three_point_") and name not in by_name:
            group.set_integers("sink_momentum", run.three_point.sink_momentum, name)
        group.set_integers("sources", [x for position in measured.positions for x in position], name)


def _write_condensates(root: Any, measured: Measured) -> None:
    """Write the numbers of all noise vectors, and their mean as a series that analyses read."""
    condensates = {n: values for n, values in measured.tables[0].items() if n.startswith(CONDENSATE)}
    if not condensates:
        return
    vectors, means = root.make_group("condensates"), root.make_group("observables")
    for name, values in condensates.items():
        dataset_checksums.write(vectors, name, values[np.newaxis])
        dataset_checksums.write(means, name, np.array([values.mean()]))


def momenta_of(run: MeasureRun, name: str, momenta: list) -> list:
    """Return the momenta of a dataset's second axis; `momenta` are those of [correlators]."""
    kind, _ = _kind_and_particle(name, None) if name.startswith("three_point_") else ("", "")
    return (run.three_point.momenta or momenta) if kind == "three_point" else momenta


def _kind_and_particle(name: str, channel: MesonChannel | None) -> tuple[str, str]:
    if name in ("midpoint", "midpoint_pion", "conserved_axial"):
        return "midpoint", name
    for start, kind in (("fh_", "feynman_hellmann"), ("three_point_", "three_point")):
        if name.startswith(start) and channel is None:
            return kind, "nucleon"
    return ("meson", channel.particle) if channel else ("baryon", NAMED_BARYONS[name].particle)


def _attributes(run: MeasureRun, name: str, channel: MesonChannel | None) -> dict[str, str | float]:
    fermion, source = run.spin_quark, run.source
    assert fermion is not None
    mass = fermion.bare_mass
    kind, particle = _kind_and_particle(name, channel)
    smearing, at_source = smearing_in_words(source)
    common: dict[str, str | float] = {
        "type": kind,
        "particle": particle,
        "sink": channel.sink if channel else name,
        "source": channel.source if channel else name,
        "source_smearing": at_source,
        "sink_smearing": smearing if run.sink.is_gaussian and kind != "midpoint" else "point",
        "boundary_t": time_boundary(fermion),
        "fermion": fermion.type,
        "mass": float(mass),
    }
    if not particle:  # it is one of mesons = ["all"], analysed only when it is named
        del common["particle"]
    common |= fermion.dataset_attributes
    if fermion.has_twist:
        common["boundary_space"] = " ".join(f"{phase:.17g}" for phase in fermion.boundary[:3])
    if kind == "baryon":
        common["parity"] = float(NAMED_BARYONS[name].parity)
    is_strange_meson = channel is not None and (channel.has_strange or channel.has_strange_quark)
    if (name in STRANGE or is_strange_meson) and fermion.has_strange:
        common["strange_mass"] = fermion.strange.bare_mass
    return common


def smearing_in_words(source: SourceTable) -> tuple[str, str]:
    """Return the words for Gaussian smearing with the table's keys, and for the source itself."""
    smearing = f"gaussian width={source.width:g} steps={source.steps}"
    if source.links is not None:
        smearing += f" links={source.links.words}"
    described = {"gaussian": smearing, "noise": f"noise {source.noise or 'z4'}"}
    if source.momentum is not None:
        described["wall"] = f"wall momentum={' '.join(map(str, source.momentum))}"
    return smearing, described.get(source.type, source.type)


def staggered_attributes(run: MeasureRun, meson: StaggeredMeson) -> dict[str, str | float]:
    """Return the attributes of a dataset of local mesons."""
    quark, source = run.staggered_quark, run.source
    assert quark is not None
    smearing, at_source = smearing_in_words(source)
    if source.is_slice:
        at_source += f" {staggered_sites(source)}"
    has_partner = meson.channel.sign or meson.masses[0] != meson.masses[1]
    common: dict[str, str | float] = {
        "type": "meson",
        "particle": meson.channel.particle,
        "sink": meson.channel.spin,
        "source": meson.channel.spin,
        "taste": meson.channel.spin,
        "source_smearing": at_source,
        "sink_smearing": smearing if run.sink.is_gaussian else "point",
        "boundary_t": time_boundary(quark),
        "fermion": quark.type,
        "mass": meson.masses[0],
        "antiquark_mass": meson.masses[1],
    }
    if has_partner:  # its states have the sign (-1)^t, which analyses fit
        common["partner"] = meson.channel.partner
    common |= quark.dataset_attributes
    if quark.has_twist:
        common["boundary_space"] = " ".join(f"{phase:.17g}" for phase in quark.boundary[:3])
    return common


def time_boundary(fermion: MeasuredQuark | MeasuredStaggeredKind) -> str:
    """Return the attribute boundary_t: a word where there is one, else the phase over pi."""
    time = fermion.boundary[3]
    words = {phase: word for word, phase in PHASE_WORDS.items()}
    return time if isinstance(time, str) else words.get(time, repr(time))


def _write_flow(group: Any, history: FlowHistory) -> None:
    """Write the columns over flow times; time alone has no first axis of configurations."""
    dataset_checksums.write(group, "time", history.time)
    for name in ("energy_clover", "energy_plaquette", "charge_clover", "charge_improved"):
        dataset_checksums.write(group, name, getattr(history, name)[np.newaxis])


def _write_solves(group: Any, run: MeasureRun, measured: Measured) -> None:
    """Write the reports of solves. Numbers that depend on clocks are attributes, so that datasets always have
    the same bits."""
    reports = measured.reports
    columns = {
        "iterations": [float(r.iterations) for r in reports],
        "relative_residual": [r.largest_residual for r in reports],
    }
    for name, values in columns.items():
        dataset_checksums.write(group, name, np.array([values]))
    group.set_reals("seconds", [r.seconds for r in reports])
    group.set_reals("gflops", [r.gflops for r in reports])
    for name, column in speed_columns(reports).items():
        group.set_reals(name, column)
    group.set_text("solver", reports[0].method)
    if measured.solver_choice:
        group.set_text("solver_choice", measured.solver_choice)
    if measured.multigrid is not None:
        group.set_text("multigrid", str(measured.multigrid.lightest))
        group.set_real("multigrid_seconds", measured.multigrid.seconds)
    stages = [f"source {i}: {stage}" for i, report in enumerate(reports) for stage in report.stages]
    if stages:
        group.set_text("stages", "\n".join(stages))
    if run.staggered_quark is not None:
        group.set_integer("solves", len(measured.solved))
        group.set_reals("masses", list(run.staggered_quark.masses))
    if any(measured.are_read):
        group.set_integers("stored", list(map(int, measured.are_read)))


def _beta_of(path: str) -> float | None:
    """Read beta from the record that `trellis generate` writes beside a configuration, if there is one."""
    record = Path(path).with_suffix(".json")
    try:
        return float(json_text.loads(record.read_text(encoding="utf-8"))["physics"]["action"]["beta"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
