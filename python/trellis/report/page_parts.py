"""The pages share these parts: their style, figures with what belongs to them, contents, and links."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from html import escape, unescape
from pathlib import Path

from markupsafe import Markup
from matplotlib.figure import Figure

from .embed import svg_text
from .figure_data import csv_of, described

#: The list of contents takes this place.
CONTENTS = "<!-- contents -->"
_SECTION = re.compile(r'<section[^>]*\bid="([\w-]+)"[^>]*>\s*<h2>(.*?)</h2>', re.DOTALL)
_ARXIV = re.compile(r"\b(arXiv:(\d{4}\.\d{4,5})|((?:hep-lat|hep-ph|hep-th|cond-mat)/\d{7}))\b")
_STYLE = Path(__file__).with_name("page.css")


def page_style() -> Markup:
    """Return the style sheet of all pages: light and dark, wide and narrow, and on paper."""
    return Markup(_STYLE.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Plot:
    """This is a figure of a page: its SVG text, and its numbers as CSV."""

    svg: str
    csv: str

    @classmethod
    def of(cls, figure: Figure, name: str) -> Plot:
        """Return the figure with its alternative text and its numbers."""
        return cls(svg_text(figure, name, described(figure)), csv_of(figure))


def embedded(name: str, plot: Plot | None, *, has_picture: bool = True) -> Markup:
    """Return the figure with links to its numbers and, where there is one, to plots/NAME.png."""
    if plot is None:
        return Markup("")
    numbers = base64.b64encode(plot.csv.encode()).decode()
    links = [f'<a download="{escape(name)}.csv" href="data:text/csv;base64,{numbers}">data (CSV)</a>']
    if has_picture:
        links.append(f'<a href="plots/{escape(name)}.png">picture (PNG)</a>')
    return Markup(f'<div class="plot">{plot.svg}</div><p class="links">{" · ".join(links)}</p>')


def with_contents(page: str) -> str:
    """Return the page with a list of its sections at the place for it."""
    sections = [
        (name, unescape(re.sub(r"<[^>]+>", "", title)).strip()) for name, title in _SECTION.findall(page)
    ]
    entries = "".join(f'<li><a href="#{name}">{escape(title)}</a></li>' for name, title in sections)
    return page.replace(CONTENTS, f'<nav id="contents" aria-label="Contents"><ul>{entries}</ul></nav>', 1)


def with_arxiv_links(page: str) -> str:
    """Return the page with its citations of arXiv as links; those in run files and titles stay texts."""
    parts = re.split(r"(<(pre|title|style|a)\b.*?</\2>|<[^>]+>)", page, flags=re.DOTALL)
    del parts[2::3]  # these are the names of the tags
    linked = [part if part.startswith("<") else _ARXIV.sub(_link, part) for part in parts]
    return "".join(linked)


def _link(match: re.Match[str]) -> str:
    return f'<a href="https://arxiv.org/abs/{match[2] or match[3]}">{match[1]}</a>'
