"""A run under way has a page: HTML and SVG from one look, which a browser fetches again and again."""

from __future__ import annotations

import math
from functools import cache
from html import escape
from pathlib import Path

import jinja2
from markupsafe import Markup

from ..campaign.times import show_seconds
from .view_model import Curve, Picture, Watched

#: A picture has these sizes in the units of its viewBox, with room for the numbers of its axes.
_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP, _RIGHT = 520.0, 230.0, 66.0, 34.0, 10.0, 14.0
#: The page looks at the run again after this many seconds.
REFRESH_SECONDS = 3
#: This many curves have a colour of their own.
_MOST_COLOURS = 6


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["duration"] = lambda seconds: "–" if seconds is None else show_seconds(seconds)
    environment.globals["svg"] = lambda picture: Markup(svg_of(picture))
    environment.globals["colours"] = _MOST_COLOURS
    return environment


def render_body(watched: Watched) -> str:
    """Return the part of the page that changes."""
    share = 0.0
    if watched.total and watched.completed is not None:
        share = 100 * watched.completed / watched.total
    return _environment().get_template("body.html.j2").render(w=watched, share=share)


def render_page(watched: Watched) -> str:
    """Return the whole page, which fetches ``body`` every few seconds."""
    template = _environment().get_template("page.html.j2")
    body = Markup(render_body(watched))
    return template.render(title=watched.title, body=body, seconds=REFRESH_SECONDS)


def svg_of(picture: Picture) -> str:
    """Return the picture as SVG; its colours are those of the page, light or dark."""
    curves = [_logarithms(curve) if picture.is_logarithmic else curve for curve in picture.curves]
    curves = [curve for curve in curves if curve.x]
    if not curves:
        return ""
    level = picture.level
    if picture.is_logarithmic and level is not None:
        level = math.log10(level) if level > 0 else None
    xs, ys = [x for c in curves for x in c.x], [y for c in curves for y in c.y]
    x_low, x_high = _range(min(xs), max(xs), 0.02)
    y_low, y_high = _range(min(ys), max(ys), 0.08)
    shows_level = level is not None and y_low <= level <= y_high

    def at(x: float, y: float) -> tuple[float, float]:
        across = _LEFT + (x - x_low) / (x_high - x_low) * (_WIDTH - _LEFT - _RIGHT)
        return across, _HEIGHT - _BOTTOM - (y - y_low) / (y_high - y_low) * (_HEIGHT - _BOTTOM - _TOP)

    parts = [
        f'<svg viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" role="img" aria-label="{escape(_in_words(picture))}">',
        f'<rect class="frame" x="{_LEFT}" y="{_TOP}" width="{_WIDTH - _LEFT - _RIGHT}" '
        f'height="{_HEIGHT - _BOTTOM - _TOP}"/>',
    ]
    for value in _decades(y_low, y_high) if picture.is_logarithmic else _ticks(y_low, y_high):
        _, y = at(x_low, value)
        text = f"{10**value:.2g}" if picture.is_logarithmic else f"{value:.6g}"
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{text}</text>')
    for value in _ticks(x_low, x_high):
        x, _ = at(value, y_low)
        y = _HEIGHT - _BOTTOM + 15
        parts.append(f'<text x="{x:.1f}" y="{y}" text-anchor="middle">{value:.6g}</text>')
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(
        f'<text x="{middle}" y="{_HEIGHT - 4}" text-anchor="middle">{escape(picture.horizontal)}</text>'
    )
    if shows_level and level is not None:
        _, y = at(x_low, level)
        parts.append(f'<line class="level" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
    for k, curve in enumerate(curves):
        points = [at(x, y) for x, y in zip(curve.x, curve.y, strict=True)]
        colour = f"c{k % _MOST_COLOURS}"
        if picture.marks or len(points) == 1:
            parts += [f'<circle class="{colour}" cx="{x:.1f}" cy="{y:.1f}" r="2.6"/>' for x, y in points]
        else:
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
            parts.append(f'<polyline class="{colour}" points="{path}"/>')
    return "".join([*parts, "</svg>"])


def _in_words(picture: Picture) -> str:
    """Return the alternative text: the name of each curve with its newest value."""
    ends = [f"{curve.name} {curve.y[-1]:.4g}" for curve in picture.curves if curve.y]
    return f"{picture.title} against {picture.horizontal}; newest: {', '.join(ends)}"


def _logarithms(curve: Curve) -> Curve:
    points = [(x, math.log10(y)) for x, y in zip(curve.x, curve.y, strict=True) if y > 0]
    return Curve(curve.name, [x for x, _ in points], [y for _, y in points])


def _range(low: float, high: float, margin: float) -> tuple[float, float]:
    """Return a range with some room; that of a single value is as large as the value."""
    wide = high - low or abs(high) * 0.1 or 1.0
    return low - margin * wide, high + margin * wide


def _ticks(low: float, high: float) -> list[float]:
    """Return about four round numbers within a range."""
    rough = (high - low) / 4
    power = 10.0 ** math.floor(math.log10(rough))
    step = min((m * power for m in (1, 2, 5, 10)), key=lambda s: abs(s - rough))
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


def _decades(low: float, high: float) -> list[float]:
    """Return the logarithms of 1, 2 and 5 times powers of ten within a range, of powers where it is wide."""
    powers = range(math.floor(low), math.ceil(high) + 1)
    for factors in ((1, 2, 5), (1,)):
        found = [k + math.log10(m) for k in powers for m in factors if low <= k + math.log10(m) <= high]
        if 2 <= len(found) <= 7:
            return found
    return _ticks(low, high)
