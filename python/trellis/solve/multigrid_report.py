"""This module has the report of a multigrid: its levels, its set-up and its cycles, as a table and as a
picture."""

from __future__ import annotations

import html
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

#: These words say what each part of a cycle is, in the order in which a cycle has them.
_PARTS = {
    "transfer": "P and P^dagger",
    "coarse": "coarse solve",
    "residual": "residual",
    "smoother": "smoother",
}

_STYLE = (
    "body { font-family: sans-serif; margin: 2em 1em; max-width: 70em } figure { margin: 1em 0 } "
    "table { border-collapse: collapse } "
    "td, th { padding: .2em .8em; text-align: left; border-bottom: 1px solid #ccc } "
    "svg { max-width: 100%; height: auto } .scroll, pre { overflow-x: auto }"
)


class ReportedMultigrid(Protocol):
    """This is a multigrid as its report sees it; :class:`trellis.Multigrid` is such."""

    _core: Any
    block: tuple[int, int, int, int]
    coarse_lattice: tuple[int, int, int, int]
    vectors: int
    sweeps: int
    smoother: str
    residuals: list[float]
    trials: list[Any]
    seconds: float
    bytes: int
    notes: list[str]

    @property
    def table(self) -> Any:
        """Return the levels, the finest first."""
        ...


@dataclass(frozen=True)
class CyclePart:
    """This is a part of the cycles of all solves so far: seconds on this rank, flops and bytes of all
    ranks."""

    name: str
    seconds: float
    flops: float
    bytes: float


def cycle_parts(multigrid: ReportedMultigrid, level: int = 0) -> list[CyclePart]:
    """Return the parts of the cycles of a level, of all solves so far; the finest level is 0."""
    found = multigrid._core.parts_of_solves[level]
    return [CyclePart(words, *found[name]) for name, words in _PARTS.items()]


def report_in_words(multigrid: ReportedMultigrid) -> str:
    """Return tables of the levels and of the cycles, with lines about the set-up."""
    core = multigrid._core
    lines = _level_table(multigrid)
    chosen = " (as many as pay)" if multigrid.trials else ""
    lines.append(
        f"smoother {multigrid.smoother}, {core.params.smoothing} a cycle; {multigrid.sweeps} sweeps{chosen}; "
        f"{multigrid.bytes / 1e6:.1f} MB on this rank"
    )
    residuals = ", ".join(f"{r:.3g}" for r in multigrid.residuals)
    lines.append(f"mean |M v| / |v| of the test vectors before and after each sweep: {residuals}")
    parts = ", ".join(f"{name} {s:.3g} s" for name, s in core.seconds_of_parts.items())
    lines.append(f"set-up {multigrid.seconds:.3g} s: {parts}")
    lines += multigrid.notes
    for level, profile in enumerate(core.profiles):
        cycles, columns = int(profile["cycles"]), profile["columns"]
        if cycles:
            where = "" if len(core.profiles) == 1 else f"level {level + 1}: "
            lines.append(f"solves: {where}{cycles} cycles of {columns / cycles:.2g} right-hand sides:")
            lines += _part_table(cycle_parts(multigrid, level))
    return "\n".join(lines)


def report_page(multigrid: ReportedMultigrid, title: str) -> str:
    """Return a page in HTML that refers to nothing outside: tables of levels and cycles, and the picture.

    Parameters
    ----------
    title
        The page has it.
    """
    core = multigrid._core
    parts = [f"<h1>{html.escape(title)}</h1>", "<h2>Levels</h2>", _html_table(_level_rows(multigrid))]
    for level, profile in enumerate(core.profiles):
        cycles = int(profile["cycles"])
        if cycles:
            of_each = profile["columns"] / cycles
            parts.append(f"<h2>Level {level + 1}: {cycles} cycles of {of_each:.2g} right-hand sides</h2>")
            parts.append(_html_table(_part_rows(cycle_parts(multigrid, level))))
    parts += ["<h2>Picture</h2>", f"<figure>{_svg(draw_report(multigrid))}</figure>", "<h2>In words</h2>"]
    parts.append(f"<pre>{html.escape(report_in_words(multigrid))}</pre>")
    body = "\n".join(parts)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def _html_table(rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose first row is its head."""
    head, *others = rows
    lines = [
        '<div class="scroll"><table>',
        "<tr>" + "".join(f"<th>{html.escape(text)}</th>" for text in head) + "</tr>",
    ]
    lines += ["<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in row) + "</tr>" for row in others]
    return "\n".join([*lines, "</table></div>"])


def _svg(figure: Any) -> str:
    """Return a figure as an element of HTML, without the declarations that stand before it in a file."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def _level_table(multigrid: ReportedMultigrid) -> list[str]:
    return _aligned(_level_rows(multigrid))


def _level_rows(multigrid: ReportedMultigrid) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("level", "lattice", "block", "vectors", "|D v|/|v| mean", "worst", "MB")]
    for number, level in enumerate(multigrid.table, 1):
        own = ("", "", "", "")  # the coarsest level has no vectors
        if level.block is not None:
            own = (
                _extents(level.block),
                str(level.vectors),
                f"{level.residuals[-1]:.3g}",
                f"{level.worst_residual:.3g}",
            )
        rows.append((str(number), _extents(level.lattice), *own, f"{level.bytes / 1e6:.1f}"))
    return rows


def _part_table(parts: list[CyclePart]) -> list[str]:
    return _aligned(_part_rows(parts))


def _part_rows(parts: list[CyclePart]) -> list[Sequence[str]]:
    """Return the shares of seconds, flops and bytes, and the rates."""
    whole = [max(sum(getattr(p, name) for p in parts), 1e-300) for name in ("seconds", "flops", "bytes")]
    rows: list[Sequence[str]] = [("part", "seconds", "share", "of flops", "of bytes", "GF/s", "GB/s")]
    for part in parts:
        seconds = max(part.seconds, 1e-12)
        shares = [part.seconds / whole[0], part.flops / whole[1], part.bytes / whole[2]]
        rows.append(
            (
                part.name,
                f"{part.seconds:.3g}",
                *(f"{100 * share:.0f} %" for share in shares),
                f"{part.flops / seconds * 1e-9:.1f}",
                f"{part.bytes / seconds * 1e-9:.1f}",
            )
        )
    return rows


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  " + "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _extents(extents: Sequence[int]) -> str:
    return "x".join(map(str, extents))


def draw_report(multigrid: ReportedMultigrid) -> Any:
    """Return the picture of a report: residuals of the sweeps, seconds of the set-up and of the cycles."""
    from matplotlib.figure import Figure

    has_cycles = multigrid._core.profiles[0]["cycles"] > 0
    figure = Figure(figsize=(9.6 if has_cycles else 6.4, 3.2), layout="constrained")
    panels = figure.subplots(1, 3 if has_cycles else 2)
    sweeps = panels[0]
    sweeps.semilogy(range(len(multigrid.residuals)), multigrid.residuals, "o-", color="#0072B2")
    sweeps.set(xlabel="sweeps", ylabel="mean $|Mv|/|v|$ of the test vectors", title="set-up")
    sweeps.set_xticks(range(len(multigrid.residuals)))
    sweeps.grid(alpha=0.3)
    _bars(panels[1], dict(multigrid._core.seconds_of_parts), f"set-up: {multigrid.seconds:.3g} s")
    if has_cycles:
        parts = cycle_parts(multigrid)
        seconds = sum(part.seconds for part in parts)
        cycles = int(multigrid._core.profiles[0]["cycles"])
        _bars(panels[2], {p.name: p.seconds for p in parts}, f"{cycles} cycles: {seconds:.3g} s")
    figure.suptitle(
        f"{_extents([b * c for b, c in zip(multigrid.block, multigrid.coarse_lattice, strict=True)])}, "
        f"{multigrid.vectors} vectors on blocks of {_extents(multigrid.block)}, "
        f"coarse lattice {_extents(multigrid.coarse_lattice)}",
        fontsize=10,
    )
    return figure


def _bars(axes: Any, seconds: dict[str, float], title: str) -> None:
    """Draw one bar for each part that took time, the first one on top."""
    shown = {name: value for name, value in seconds.items() if value > 0}
    axes.barh(list(shown), list(shown.values()), color="#56B4E9")
    axes.invert_yaxis()
    axes.set(xlabel="seconds", title=title)
    axes.grid(axis="x", alpha=0.3)
