"""Commands print their progress while they run."""

from __future__ import annotations

import io
import os
import re
from pathlib import Path

import pytest
import typer
from command_line import run as trellis
from rich.console import Console

import trellis as tr
from trellis.commands.analysis_summary import run as analyse
from trellis.commands.console import run
from trellis.commands.output import Output
from trellis.commands.terminal import forget_odd_sizes
from trellis.errors import RunFileError
from trellis.generate import trajectory_report as hmc_report
from trellis.generate.trajectory_report import Part
from trellis.ground.byte_counts import show_bytes
from trellis.runs.reporting import Step

STEPS = (
    Step("note", "12 sweeps"),
    Step("sweep", completed=10, total=12),
    Step("sweep", number=11, completed=11, total=12),
    Step("sweep", "sweep 12", number=12, completed=12, total=12),
    Step("configuration", "kept", number=12, completed=1, total=1),
)


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def terminal(clock: Clock, width: int = 80) -> tuple[Output, io.StringIO]:
    """Return output to a terminal whose time is the clock's."""
    output, screen = Output(), io.StringIO()
    output.console = Console(file=screen, force_terminal=True, width=width, get_time=clock)
    return output, screen


def test_steps_are_lines_and_one_kind_moves_the_bar() -> None:
    """The bar begins where the run goes on, and is gone in the end."""
    output, screen = terminal(Clock())
    with output.showing_steps({"sweep": "sweeps"}) as show:
        for step in STEPS:
            show(step)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.getvalue())
    assert re.findall(r"sweeps +\S+ (\d+)/12", text)[0] == "10"
    assert re.findall(r"sweeps +\S+ (\d+)/12", text)[-1] == "12"
    assert "1/1" not in text
    lines = [step.text for step in STEPS if step.text]
    assert [line for line in re.split(r"[\r\n]+", text) if line in lines] == lines
    assert screen.getvalue().endswith("\x1b[2K")  # the bar's line is cleared


def test_steps_without_a_terminal_are_lines_alone(capsys: pytest.CaptureFixture) -> None:
    with Output().showing_steps({"sweep": "sweeps"}) as show:
        for step in STEPS:
            show(step)
    assert capsys.readouterr() == ("12 sweeps\nsweep 12\nkept\n", "")


@pytest.mark.parametrize("seconds", [1.0, 100.0])
def test_the_bar_knows_the_time_left(seconds: float) -> None:
    """The bar also knows the time of trajectories longer than rich remembers, half a minute; those of earlier
    runs do not count."""
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


@pytest.mark.parametrize(
    "launched, target, expected",
    [
        (False, "/run.log", True),
        (True, "/run.log", False),
        (True, "/dev/pts/3", True),
        (True, "/dev/tty1", True),
        (True, None, False),
    ],
)
def test_the_terminal_of_a_launcher(
    monkeypatch: pytest.MonkeyPatch, launched: bool, target: str | None, expected: bool
) -> None:
    """The launcher mpirun gives its ranks a terminal also where its own output is a file; None says that this
    cannot be seen."""

    def readlink(path: str) -> str:
        assert path == f"/proc/{os.getppid()}/fd/1"
        if target is None:
            raise PermissionError(path)
        return target

    monkeypatch.setattr(os, "readlink", readlink)
    for name in ("OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMIX_RANK"):
        monkeypatch.delenv(name, raising=False)
    if launched:
        monkeypatch.setenv("PMIX_RANK", "0")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert Output().console.is_terminal == expected


def test_lines_of_a_hundred_are_no_pictures(capsys: pytest.CaptureFixture[str]) -> None:
    """rich has a picture for the hundred between two colons."""

    def fails() -> int:
        raise RunFileError("run.toml:100: random.sed: unknown key")

    with pytest.raises(typer.Exit):
        run(fails, json=False)
    assert capsys.readouterr().err == "error: run.toml:100: random.sed: unknown key\n"


def test_names_in_messages_of_the_analysis_are_no_pictures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert analyse([tmp_path / "a:100:[b]"], tmp_path / "out") == 1
    assert "a:100:[b]" in "".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("as_bytes", [False, True])
def test_what_the_system_refuses_is_said_without_its_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], as_bytes: bool
) -> None:
    name = os.fsencode(tmp_path / "none") if as_bytes else tmp_path / "none"

    def fail() -> None:
        os.stat(name)

    with pytest.raises(typer.Exit):
        run(fail, json=False)
    assert capsys.readouterr().err == f"error: {tmp_path}/none: No such file or directory\n"


@pytest.mark.parametrize(
    "text, is_kept",
    [
        *((odd, False) for odd in ("0", "7", "-5", "wide", "\u00b2", "", "9" * 30)),
        ("20", True),
        ("132", True),
    ],
)
def test_sizes_that_no_terminal_has_are_forgotten(
    monkeypatch: pytest.MonkeyPatch, text: str, is_kept: bool
) -> None:
    for name in ("COLUMNS", "LINES", "TERMINAL_WIDTH"):
        monkeypatch.setenv(name, text)
    forget_odd_sizes()
    assert [name in os.environ for name in ("COLUMNS", "TERMINAL_WIDTH")] == 2 * [is_kept]
    assert ("LINES" in os.environ) == (is_kept or text == "7")


@pytest.mark.parametrize("size", ["0", "wide", "-1"])
def test_commands_speak_where_the_terminal_has_no_size(tmp_path: Path, size: str) -> None:
    """Lines, tables, errors and help are printed."""
    sizes = dict.fromkeys(("COLUMNS", "LINES", "TERMINAL_WIDTH"), size)
    tr.weak_field((2, 2, 2, 2), seed=1).write(tmp_path / "field")
    assert "plaquette" in trellis("info", "field", cwd=tmp_path, **sizes).stdout
    said = trellis("info", "none", cwd=tmp_path, status=1, **sizes).stderr
    assert said == "error: cannot open none: No such file or directory\n"
    assert "No such option" in trellis("info", "--no", cwd=tmp_path, status=2, **sizes).stderr


def test_bytes_are_shown_in_their_unit() -> None:
    assert [show_bytes(n * 2**20) for n in (0.5, 163.84, 1536)] == ["0.5 MiB", "163.8 MiB", "1.50 GiB"]


@pytest.mark.parametrize("flops, is_above", [(1.5e9, False), (3e9, True)])
def test_a_share_above_the_roof_is_explained(
    monkeypatch: pytest.MonkeyPatch, flops: float, is_above: bool
) -> None:
    """The machine has 2 GB/s of memory and 10 GF/s of peak; a part has a byte for each flop, in two
    trajectories."""
    monkeypatch.setattr(hmc_report, "roof_gflops", lambda f, b, fields, precision: min(10.0, 2.0 * f / b))
    half = Part.of({"seconds": 0.5, "flops": flops / 2, "bytes": flops / 2}, 1 << 20, "double")
    idle = Part.of({"seconds": 0.0, "flops": 0.0, "bytes": 0.0}, 1 << 20, "double")
    lines = hmc_report.describe_parts({"solver": half + half, "idle": idle}, 2.0, 4)
    rate, share = f"{flops / 1e9:.1f}", "150%" if is_above else "75%"
    assert lines[1].split() == ["solver", "0.2500", "50.0%", rate, rate, share]
    assert lines[2].split() == ["other", "0.2500", "50.0%"]
    assert any("above 100 %: float inside a solve, or fields that stay" in line for line in lines) == is_above
