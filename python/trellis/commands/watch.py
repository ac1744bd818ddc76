"""This module runs trellis watch: it shows a run on the terminal or on a local page, from its files alone."""

from __future__ import annotations

import time
import webbrowser
from pathlib import Path

from rich.console import Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ..campaign.times import show_seconds
from ..ground.errors import BadArgument
from ..watch import Watcher
from ..watch.view_model import Curve, Listing, Picture, Watched
from .output import Output

_BARS = "▁▂▃▄▅▆▇█"
#: A curve on the terminal has so many characters, and its name has so many.
_WIDTH, _NAME = 30, 26
_STYLES = {"running": "green", "finished": "green", "killed": "bold red", "stopped": "yellow"}


def watch(path: Path, *, page: bool, port: int, opens: bool, every: float, once: bool, json: bool) -> int:
    """Show a run until it is over or Ctrl-C; once where there is no terminal.

    Returns
    -------
    int
        Exit status: 1 of one look (`once` or `json`) that found an alarm, else 0.
    """
    try:
        return _watch(path, page=page, port=port, opens=opens, every=every, once=once, json=json)
    except KeyboardInterrupt:  # the way to end what goes on, from its first second on
        if once or json:  # no look was taken, and 0 would say that nothing is wrong
            raise
        return 0


def _watch(path: Path, *, page: bool, port: int, opens: bool, every: float, once: bool, json: bool) -> int:
    output = Output(json)
    if json and page:
        raise BadArgument("--json belongs to the terminal: the page has its numbers at /data.json")
    watcher = Watcher(path)
    if page:
        return _serve(watcher, port, opens, output)
    if json or once or not output.console.is_terminal:
        found = watcher.look()
        output.result(found.to_json())
        output.console.print(terminal_view(found))
        return 1 if found.alarms else 0
    with Live(terminal_view(watcher.look()), console=output.console, auto_refresh=False) as live:
        while True:
            found = watcher.look()
            live.update(terminal_view(found), refresh=True)
            if found.is_over:
                return 0
            time.sleep(every)


def _serve(watcher: Watcher, port: int, opens: bool, output: Output) -> int:
    from ..watch.server import PageServer

    with PageServer(watcher, port) as server:
        output.line(f"{server.url} shows {server.look().title}; Ctrl-C ends it")
        if opens:
            webbrowser.open(server.url)
        server.serve_forever(poll_interval=0.2)
    return 0


def terminal_view(found: Watched) -> RenderableType:
    """Return what the terminal shows of a look."""
    parts: list[RenderableType] = [Text(found.title, "bold"), _state(found)]
    if found.total:
        filled = min(_WIDTH * (found.completed or 0) // found.total, _WIDTH)
        parts.append(Text("━" * filled, "green") + Text("━" * (_WIDTH - filled), "bright_black"))
    if found.alarms:
        texts = Group(*(_wrapped(text, "red") for text in found.alarms))
        parts.append(Panel(texts, title="needs a person", title_align="left", border_style="red"))
    parts += [_wrapped(f"notice: {text}", "yellow") for text in found.notices]
    parts.append(_facts(found))
    parts.append(_curves(found.pictures))
    parts += [_listing(listing) for listing in found.listings]
    return Group(*parts)


def _wrapped(text: str, style: str) -> Text:
    """Return a text that goes on in the next line: consoles of commands leave that to the terminal."""
    return Text(text, style, no_wrap=False, overflow="fold")


def _state(found: Watched) -> Text:
    text = Text(found.state, _STYLES.get(found.state, ""))
    if found.completed is not None:
        of = f" of {found.total}" if found.total else ""
        text.append(f"  {found.completed}{of} {found.unit}", "default")
    if found.seconds_left is not None:
        text.append(f"  {show_seconds(found.seconds_left)} left", "default")
    if found.age is not None:
        text.append(f"  last written {show_seconds(found.age)} ago", "bright_black")
    return text


def _facts(found: Watched) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for name, text in found.facts:
        table.add_row(Text(name, "bright_black"), Text(text))
    return table


def _curves(pictures: list[Picture]) -> Table:
    """Return a line of blocks for each curve, between the smallest and the largest of its newest values."""
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for width in (_NAME, _WIDTH, None):
        table.add_column(no_wrap=True, max_width=width)
    for picture in pictures:
        for curve in picture.curves:
            if len(curve.y) < 2:
                continue
            name = picture.title if len(picture.curves) == 1 else f"{curve.name}: {picture.title.lower()}"
            newest = curve.y[-_WIDTH:]
            ends = f"{min(newest):.4g} … {max(newest):.4g}"
            table.add_row(Text(name, "bright_black"), Text(blocks(curve), "cyan"), Text(ends))
    return table


def blocks(curve: Curve) -> str:
    """Return the newest values as blocks of eight heights."""
    values = curve.y[-_WIDTH:]
    low, wide = min(values), (max(values) - min(values)) or 1.0
    return "".join(_BARS[min(int(8 * (value - low) / wide), 7)] for value in values)


def _listing(listing: Listing) -> Table:
    table = Table(title=listing.title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    for name in listing.columns:
        table.add_column(name)
    for row in listing.rows:
        table.add_row(*(Text(text) for text in row))
    return table
