"""This module writes the pictures of commands to files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ..ground.errors import BadArgument

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ENDINGS = (".png", ".pdf", ".svg")


def require_picture_name(path: Path) -> None:
    """Refuse a name whose ending names no format of pictures.

    Raises
    ------
    BadArgument
        The ending is not .png, .pdf or .svg.
    """
    if path.suffix.lower() not in _ENDINGS:
        raise BadArgument(f"{path}: expected a name that ends in {', '.join(_ENDINGS)}")


def save_plot(path: Path, draw: Callable[[], Figure]) -> None:
    """Write what a function draws, in the look of the reports, by the ending of the name.

    Raises
    ------
    BadArgument
        The ending is not .png, .pdf or .svg.
    """
    from ..report.style import look

    require_picture_name(path)
    with look():
        draw().savefig(path)
