"""A figure gives its numbers as a table, and its axes and curves in words."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.figure import Figure

#: Matplotlib gives such names to what has none.
_NAMELESS = re.compile(r"^_")
_MATH = re.compile(r"\\mathrm\{([^{}]*)\}|\\(?:langle|rangle|,|!|;| )|\$|[{}]")
_WORDS = {
    r"\tau": "tau",
    r"\rho": "rho",
    r"\pi": "pi",
    r"\chi": "chi",
    r"\Delta": "Delta",
    r"\Lambda": "Lambda",
    r"\Sigma": "Sigma",
    r"\Xi": "Xi",
    r"\Omega": "Omega",
    r"\approx": "about",
    r"\ln": "ln",
    r"\min": "min",
    r"\frac": "",
}


def csv_of(figure: Figure) -> str:
    """Return the points, curves and bars of a figure as CSV.

    The columns are panel (from 1), curve, x, y, x_error and y_error; errors are empty where there are none.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["panel", "curve", "x", "y", "x_error", "y_error"])
    for number, axes in enumerate(figure.axes, 1):
        for name, *numbers in _rows(axes):
            # The table has 15 digits: the ends of error bars have rounding errors.
            writer.writerow([number, name, *(n if n == "" else f"{n:.15g}" for n in numbers)])
    return text.getvalue()


def described(figure: Figure) -> str:
    """Return the alternative text of a figure: the title, axes and curves of each panel."""
    panels = []
    for axes in figure.axes:
        title = next((t for t in (axes.get_title("left"), axes.get_title()) if t), "")
        against = f"{_plain(axes.get_ylabel()) or 'values'} against {_plain(axes.get_xlabel()) or 'values'}"
        names = [_plain(name) for name in axes.get_legend_handles_labels()[1]]
        curves = f" (curves: {', '.join(names)})" if names else ""
        panels.append(f"{_plain(title)}: {against}{curves}" if title else f"{against}{curves}")
    return "; ".join(panels)


def _plain(text: str) -> str:
    """Return a text without the marks of formulas."""
    for mark, word in _WORDS.items():
        text = text.replace(mark, word)
    words = re.sub(r"\s+", " ", _MATH.sub(lambda match: match[1] or " ", text)).strip()
    return re.sub(r"([_^]) ", r"\1", words)


def _rows(axes: Axes) -> Iterator[list[Any]]:
    """Yield curve, x, y and their errors, of what is drawn with data: not of lines across the whole panel."""
    drawn = {id(line) for line in axes.lines}
    for container in axes.containers:
        if isinstance(container, ErrorbarContainer):
            points, caps, _ = container.lines
            drawn -= {id(line) for line in (points, *caps)}
            name = _name(container.get_label()) or _plain(axes.get_ylabel())
            yield from _error_bars(container, name)
        elif isinstance(container, BarContainer):
            for bar in container.patches:
                x = bar.get_x() + bar.get_width() / 2
                name = _name(container.get_label()) or _plain(axes.get_ylabel())
                yield [name, float(x), float(bar.get_height()), "", ""]
    for line in axes.lines:
        if id(line) in drawn and line.get_transform() == axes.transData:
            name = _name(line.get_label()) or _plain(axes.get_ylabel())
            for x, y in np.asarray(line.get_xydata(), dtype=float):
                yield [name, float(x), float(y), "", ""]


def _error_bars(container: ErrorbarContainer, name: str) -> Iterator[list[Any]]:
    """Yield the points of error bars; the error is half of what the bar spans."""
    points, _, bars = container.lines
    spans: dict[str, list[float]] = {}
    for k, has in enumerate(("has_xerr", "has_yerr")):
        if getattr(container, has):
            # Matplotlib keeps the bars of x before those of y.
            segments = bars[0 if k == 0 or not container.has_xerr else 1].get_segments()
            spans[has] = [float(s[1][k] - s[0][k]) / 2 if len(s) == 2 else np.nan for s in segments]
    for i, (x, y) in enumerate(np.asarray(points.get_xydata(), dtype=float)):
        row: list[Any] = [name, float(x), float(y)]
        yield row + [spans[has][i] if has in spans else "" for has in ("has_xerr", "has_yerr")]


def _name(label: object) -> str:
    text = str(label)
    return "" if _NAMELESS.match(text) else _plain(text)
