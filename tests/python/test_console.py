"""What commands print while they run."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from trellis.commands import hmc_report
from trellis.commands.console import Output


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def terminal(clock: Clock, width: int = 80) -> tuple[Output, io.StringIO]:
    """Output to a terminal whose time is the clock's."""
    output, screen = Output(), io.StringIO()
    output.console = Console(file=screen, force_terminal=True, width=width, get_time=clock)
    return output, screen


@pytest.mark.parametrize("seconds", [1.0, 100.0])
def test_the_bar_knows_the_time_left(seconds: float) -> None:
    """Also of trajectories longer than rich remembers, half a minute; those of earlier runs do not count."""
    clock = Clock()
    output, screen = terminal(clock)
    with output.progress("trajectories", 40, 10) as show:
        for done in (11, 12, 13):
            clock.seconds += seconds
            show(done)
        clock.seconds += seconds / 2
    last = re.findall(r"([\d.]+) s each, left ([\d:]+)", screen.getvalue())[-1]
    minutes, rest = divmod(round(26.5 * seconds), 60)
    assert last == (f"{seconds:g}", f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}")


def test_the_bar_before_the_first() -> None:
    output, screen = terminal(Clock())
    with output.progress("sweeps", 5):
        pass
    assert "left -:--:--" in screen.getvalue()


def test_the_bar_is_one_line_of_a_usual_terminal() -> None:
    clock = Clock()
    output, screen = terminal(clock)
    with output.progress("trajectories", 10000, 9000) as show:
        clock.seconds += 123456.0
        show(9500)
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.getvalue())
    assert "9500/10000 1 day, 10:17:36 247 s each, left 34:17:36\n" in plain


@pytest.mark.parametrize("flops, is_above", [(1.5e9, False), (3e9, True)])
def test_a_share_above_the_roof_is_explained(
    monkeypatch: pytest.MonkeyPatch, flops: float, is_above: bool
) -> None:
    """2 GB/s of memory and 10 GF/s of peak; a part with a byte for each flop."""
    monkeypatch.setattr(hmc_report, "read_bandwidth", lambda _: 2e9)
    monkeypatch.setattr(hmc_report, "fma_peak", lambda _: 1e10)
    parts = {"solver": {"seconds": 1.0, "flops": flops, "bytes": flops}}
    lines = hmc_report.describe_parts(parts, 2.0, 4)
    rate, share = f"{flops / 1e9:.1f}", "150%" if is_above else "75%"
    assert lines[1].split() == ["solver", "0.2500", "50.0%", rate, rate, share]
    assert lines[2].split() == ["other", "0.2500", "50.0%"]
    assert any("above 100 %: fields that stay in a cache" in line for line in lines) == is_above
