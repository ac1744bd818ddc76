"""Figures become bytes: PNG files for pages and papers, SVG text for the report."""

from __future__ import annotations

import io
import re
from html import escape
from typing import IO, Any

import matplotlib as mpl
from matplotlib.figure import Figure


def png_bytes(figure: Figure) -> bytes:
    """Return the figure as PNG."""
    buffer = io.BytesIO()
    _save(figure, buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()


def _save(figure: Figure, buffer: IO[Any], **options: Any) -> None:
    """Save a figure, and keep its layout for its other forms: to find one takes as long as to draw."""
    figure.savefig(buffer, **options)
    figure.set_layout_engine("none")


#: Figures that are wider than these points have two panels, whose texts a narrow screen would make too small.
_WIDE = 500.0


def svg_text(figure: Figure, salt: str, words: str = "") -> str:
    """Return the figure as SVG that may stand inside an HTML page beside others.

    Parameters
    ----------
    salt
        Makes the identifiers of this figure differ from those of the others on the page, and the same in
        every run.
    words
        The alternative text, for those who hear the page.
    """
    buffer = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": salt}):
        _save(figure, buffer, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", text)  # an HTML parser knows SVG without them
    # Matplotlib makes names of clips from places whose last bits differ from one layout to the next.
    names: dict[str, str] = {}
    text = re.sub(
        r'(id="|href="#|url\(#)([a-z][0-9a-f]{10})\b',
        lambda found: found[1] + names.setdefault(found[2], f"part{len(names) + 1}"),
        text,
    )
    prefix = re.sub(r"\W", "-", salt)
    text = re.sub(r'id="([^"]+)"', rf'id="{prefix}-\1"', text)
    text = re.sub(r'href="#([^"]+)"', rf'href="#{prefix}-\1"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", text)
    width = re.search(r'width="([\d.]+)pt"', text)
    assert width is not None  # Matplotlib writes it
    text = re.sub(r'\swidth="[\d.]+pt"|\sheight="[\d.]+pt"', "", text, count=2)
    look = f'class="{"wide" if float(width[1]) > _WIDE else "narrow"}" role="img"'
    label = f' aria-label="{escape(words)}"' if words else ""
    return text.replace("<svg", f'<svg {look}{label} style="max-width:{float(width[1]) * 1.5:.0f}px"', 1)
