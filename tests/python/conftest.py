"""How pytest-xdist shares the tests among its processes: `pytest -n 2`."""

from __future__ import annotations

import pytest


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Tests of a file stay together, for they share fixtures, and all of Slurm's, which share a cluster."""
    from xdist.scheduler.loadscope import LoadScopeScheduling

    class Files(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "slurm" if "/slurm/" in nodeid else nodeid.split("::", 1)[0]

    return Files(config, log)
