"""The command trellis docs finds the site of its clone, or says what to do."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from trellis.commands import docs
from trellis.ground.errors import NotAvailable


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "tools").mkdir()
    tool = tmp_path / "tools" / "build_site"
    tool.write_text(
        f"#!/bin/sh\nmkdir -p {tmp_path}/build/site/html\ntouch {tmp_path}/build/site/html/index.html\n"
    )
    tool.chmod(0o755)
    monkeypatch.setattr(docs, "_ROOT", tmp_path)
    monkeypatch.setenv("DISPLAY", ":0")
    return tmp_path


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    pages: list[str] = []

    def remember(page: str) -> bool:
        pages.append(page)
        return True

    monkeypatch.setattr(docs.webbrowser, "open", remember)
    return pages


def test_a_site_that_is_not_built(clone: Path, opened: list[str]) -> None:
    with pytest.raises(NotAvailable, match=r"index\.html is not there: trellis docs --build builds it"):
        docs.docs(build=False, path_only=False, json=False)
    assert opened == []


def test_it_is_built_and_opened(clone: Path, opened: list[str], capsys: pytest.CaptureFixture) -> None:
    page = clone / "build" / "site" / "html" / "index.html"
    assert docs.docs(build=True, path_only=False, json=False) == 0
    assert capsys.readouterr().out == f"{page}\n"
    assert opened == [page.as_uri()]


def test_nothing_is_opened(
    clone: Path, opened: list[str], capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs.docs(build=True, path_only=True, json=False)
    assert capsys.readouterr().out == f"{clone / 'build' / 'site' / 'html' / 'index.html'}\n"
    docs.docs(build=False, path_only=False, json=True)
    assert json.loads(capsys.readouterr().out) == {
        "site": str(clone / "build" / "site" / "html" / "index.html")
    }
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    docs.docs(build=False, path_only=False, json=False)
    assert opened == []


def test_a_build_that_fails(clone: Path, opened: list[str]) -> None:
    (clone / "tools" / "build_site").write_text("#!/bin/sh\nexit 3\n")
    assert docs.docs(build=True, path_only=False, json=False) == 3
    assert opened == []


def test_ctrl_c_ends_a_build_without_words_of_it(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The build is a session of its own, which the terminal's signal does not reach."""
    mark = clone / "begun"
    (clone / "tools" / "build_site").write_text(f"#!/bin/sh\ntouch {mark}\nsleep 60\ntouch {mark}.end\n")
    started: list[subprocess.Popen] = []

    class Interrupted(subprocess.Popen):
        def wait(self, timeout: float | None = None) -> int:
            if not started:
                started.append(self)
                while not mark.exists():
                    time.sleep(0.01)
                raise KeyboardInterrupt
            return super().wait(timeout)

    monkeypatch.setattr(docs.subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        docs.docs(build=True, path_only=False, json=False)
    assert started[0].returncode == -signal.SIGKILL


def test_a_package_without_a_clone(clone: Path) -> None:
    (clone / "tools" / "build_site").unlink()
    with pytest.raises(NotAvailable, match="in a clone tools/build_site builds it"):
        docs.docs(build=False, path_only=False, json=False)
