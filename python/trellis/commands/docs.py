"""trellis docs opens the site of the documents, or says how it is built."""

from __future__ import annotations

import json as json_text
import os
import signal
import subprocess
import sys
import webbrowser
from pathlib import Path

from ..ground.errors import NotAvailable
from ..ground.launched_ranks import launched_rank

#: This is the clone that this package is taken from; an installed package has none.
_ROOT = Path(__file__).resolve().parents[3]
#: The build prints to standard error, which is this file descriptor.
_STDERR = 2


def docs(*, build: bool, path_only: bool, json: bool) -> int:
    """Open the site of the documents in a browser, and print where it is. Rank 0 does it.

    Parameters
    ----------
    build
        Build it first, with tools/build_site.
    path_only
        Print the path, and open nothing.
    json
        Print one JSON object, and open nothing.

    Returns
    -------
    int
        Exit status: 0, or that of the build.

    Raises
    ------
    NotAvailable
        There is no site, or no clone that could build one.
    """
    if launched_rank() > 0:
        return 0
    tool = _ROOT / "tools" / "build_site"
    if not tool.is_file():
        raise NotAvailable(
            "the site of the documents belongs to a clone of the repository, and this package is installed "
            "without one; in a clone tools/build_site builds it"
        )
    if build and (status := _built(tool)):
        return status
    page = _ROOT / "build" / "site" / "html" / "index.html"
    if not page.is_file():
        raise NotAvailable(f"{page} is not there: trellis docs --build builds it, in about a minute")
    if json:
        print(json_text.dumps({"site": str(page)}))
        return 0
    print(page)
    if not path_only and _has_screen() and not webbrowser.open(page.as_uri()):
        print("notice: no browser was found; open this file in one", file=sys.stderr)
    return 0


def _built(tool: Path) -> int:
    """Build the site, and return the status of the build, which Ctrl-C ends without words of its own."""
    with subprocess.Popen([tool], stdout=_STDERR, start_new_session=True) as building:
        try:
            return building.wait()
        except KeyboardInterrupt:
            os.killpg(building.pid, signal.SIGKILL)
            raise


def _has_screen() -> bool:
    """Return True where a browser can have a window: a text browser would take the terminal."""
    return sys.platform in ("darwin", "win32") or bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )
