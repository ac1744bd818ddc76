"""These tests cover the live view of a campaign, on a terminal and elsewhere."""

from __future__ import annotations

import io
from pathlib import Path

from campaign_tools import machine, write
from rich.console import Console

from trellis.campaign.files import load_campaign
from trellis.campaign.manager import Manager
from trellis.commands.campaign_view import CampaignView, last_line
from trellis.commands.output import Output

TASKS = """
[[task]]
name = "first-{i}"
over = { i = "1..3" }
command = "echo some words; sleep 0.5; echo > {output}"
outputs = ["f.{i}"]
[[task]]
name = "second"
after = ["first"]
command = "true"
"""


def shown(folder: Path, **options: object) -> str:
    output = Output()
    text = io.StringIO()
    output.console = Console(file=text, width=100, **options)
    manager = Manager(load_campaign(write(folder, TASKS)), machine(), say=output.line)
    with CampaignView(manager, output):
        assert manager.run().counts == {"done": 4}
    return text.getvalue()


def test_lines_where_there_is_no_terminal(tmp_path: Path) -> None:
    lines = shown(tmp_path, force_terminal=False).splitlines()
    assert lines[0].startswith("first: 3 tasks done, ")
    assert lines[1].startswith("second: 1 task done, ")
    assert len(lines) == 2


def test_a_live_view_on_a_terminal(tmp_path: Path) -> None:
    text = shown(tmp_path, force_terminal=True, color_system=None)
    for words in ("running", "last line", "first-1", "some words", "0/3", "3/3"):
        assert words in text, words


def test_the_last_line_of_a_progress_bar() -> None:
    assert last_line(b"a\nsweeps \x1b[91m##\x1b[0m 5/80\rsweeps \x1b[32m6/80\x1b[0m \n\n") == "sweeps 6/80"
    assert last_line(b"") == ""
