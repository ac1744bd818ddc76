"""The option `progress=True` shows iterations, residuals and sweeps on standard error, as the place
allows."""

from __future__ import annotations

import importlib
import io
import re
import sys
from types import ModuleType
from typing import Any

import pytest
from run_file_texts import heat_bath

import trellis as tr
from trellis.errors import BadArgument
from trellis.ground import progress_display
from trellis.ground.progress_display import displaying, place_of_display


class Terminal(io.StringIO):
    """This standard error is a terminal."""

    def isatty(self) -> bool:
        return True


class ZMQInteractiveShell:
    """This class has the name of the shell of notebooks."""


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Make this process the kernel of a notebook, without tqdm."""
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", ZMQInteractiveShell, raising=False)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    return monkeypatch


def test_lines_where_there_is_neither_terminal_nor_notebook(capsys: pytest.CaptureFixture[str]) -> None:
    """The last state is said once; between two lines lie ten seconds."""
    assert place_of_display() == "lines"
    with displaying("flow", 4.0) as show:
        for k in range(5):
            show(k, f"t = {k}")
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(r"flow: 100 %, t = 4, \d+\.\d s\n", err)
    with displaying("flow", 4.0, wanted=False) as show:
        show(1, "t = 1")
    assert capsys.readouterr() == ("", "")


def test_lines_in_between(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress_display, "_BETWEEN_LINES", 0.0)
    with displaying("flow", 2.0) as show:
        show(1, "half")
        show(2, "all")
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in lines] == ["flow: 50 %", "flow: 100 %"]


def test_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    assert place_of_display() == "terminal"
    with displaying("sweeps", 10) as show:
        show(10, "10 of 10")
    text = sys.stderr.getvalue()  # type: ignore[attr-defined]
    assert "sweeps" in text
    assert "10 of 10" in text


def test_a_notebook_without_tqdm(notebook: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """One line is written over: a shorter text leaves nothing of a longer one."""
    notebook.setattr(progress_display, "_BETWEEN_DRAWINGS", 0.0)
    assert place_of_display() == "notebook"
    with displaying("solve", 2.0) as show:
        show(1, "a long text")
        show(2, "short")
    lines = capsys.readouterr().err.split("\r")
    assert "a long text" in lines[0]
    assert len(lines[-1].rstrip("\n")) >= len(lines[0])


def test_a_notebook_with_tqdm(notebook: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    class Bar:
        """This class notes what tqdm's bar is told."""

        def __init__(self, total: float, desc: str, **_: object) -> None:
            self.total, self.n = total, 0.0
            seen.append((desc, total))

        def set_postfix_str(self, text: str, refresh: bool) -> None:
            seen.append(text)

        def refresh(self) -> None:
            seen.append(self.n)

        def close(self) -> None:
            seen.append("closed")

    module = ModuleType("tqdm.auto")
    notebook.setattr(module, "tqdm", Bar, raising=False)
    notebook.setitem(sys.modules, "tqdm.auto", module)
    with displaying("solve", 2.0) as show:
        show(5, "text")
    assert seen == [("solve", 2.0), "text", 2.0, "closed"]


def test_a_solve_shows_iterations_and_residual(capsys: pytest.CaptureFixture[str]) -> None:
    """The last line has the solve's own numbers; the solution has the bits of one that nobody watched."""
    M = tr.WilsonClover(tr.weak_field((4, 4, 4, 8), seed=3), mass=0.1, csw=1.0)
    source = tr.point_source(M.geometry, (0, 0, 0, 0))
    solve = tr.cg(tolerance=1e-8)(M)
    plain = solve.propagator(source, history=True)
    assert capsys.readouterr() == ("", "")
    watched = solve.propagator(source, progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert plain.report is not None
    assert watched.report is not None
    history = plain.report.history
    assert re.search(rf"solve: 100 %, {len(history)} iterations, residual {history[-1]:.1e}, ", err), err
    assert watched.report.history == ()
    assert (watched.to_numpy() == plain.to_numpy()).all()
    with pytest.raises(BadArgument, match="progress must be a bool"):
        solve.propagator(source, progress="yes")  # type: ignore[arg-type]


def test_sweeps_flow_and_runs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    U = tr.quenched((4, 4, 4, 4), beta=6.0, seed=1, sweeps=3, progress=True)
    assert "sweeps: 100 %, 3 of 3, " in capsys.readouterr().err
    tr.flow_history(U, time=0.2, spacing=0.1, progress=True)
    assert "flow: 100 %, t/a^2 = 0.2 of 0.2, " in capsys.readouterr().err
    (tmp_path / "run.toml").write_text(heat_bath())
    steps: list[Any] = []
    importlib.import_module("trellis.generate").run("run.toml", progress=True, on_progress=steps.append)
    assert "sweeps: 100 %, 4 of 4, plaquette 0." in capsys.readouterr().err
    assert [step.number for step in steps if step.what == "sweep"] == [None, 1, 2, 3, 4]
