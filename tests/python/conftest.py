"""Share tests and cores among the processes of pytest-xdist (`pytest -n 3`), and place MPI's files."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest


def _give_this_process_its_share_of_the_cores() -> None:
    """NumPy and the compiled part read these numbers when they are imported, which is later.

    Threads that wait for each other, on cores where other processes of pytest work, make small problems
    slower: fits of 30 numbers five times with two threads of OpenBLAS, solves on 4x2x2x6 twice.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, cores // workers)))
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


_give_this_process_its_share_of_the_cores()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    from distribution import Distribution

    return Distribution(config, log)


#: A run that exists for tests that are skipped elsewhere sets this: there a skip is a failure.
NO_SKIPS = os.environ.get("TRELLIS_NO_SKIPS") == "1"


def _failed_where_skipped(report: pytest.TestReport | pytest.CollectReport) -> None:
    if NO_SKIPS and report.outcome == "skipped" and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"TRELLIS_NO_SKIPS=1, and this is skipped: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _failed_where_skipped(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _failed_where_skipped(report)
    return report


@pytest.fixture
def without_one_more_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fits of charges leave out the one with another state, which takes half the time; no charge depends on
    it."""
    monkeypatch.setattr("trellis.analysis.charges.charges._one_more_state", lambda *_: {})


@pytest.fixture(scope="session", autouse=True)
def open_mpi_folder() -> Iterator[Path]:
    """Make a folder of this process of pytest, in which all Open MPI jobs that its tests start keep their
    files.

    By default all jobs of a user share /tmp/ompi.<host>.<uid>, and the one that ends last removes it, also
    while another is about to make a folder inside. A job removes files of the shared folder and leaves
    folders alone (opal_os_dirpath_destroy), so that a folder in it keeps it. The path is short, as sockets
    lie there and a socket's path has 108 characters at most.
    """
    base = Path(tempfile.mkdtemp(prefix="mpi", dir="/tmp" if Path("/tmp").is_dir() else None))
    for host in {socket.gethostname(), socket.gethostname().split(".")[0]}:
        shared = base / f"ompi.{host}.{os.getuid()}"
        (shared / "stays").mkdir(parents=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMPI_MCA_orte_tmpdir_base", str(base))
        yield base
    shutil.rmtree(base, ignore_errors=True)
