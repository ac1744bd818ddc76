"""Files of tests go to the processes of pytest-xdist as distribution.py says."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from distribution import Distribution

FILES = {
    "tests/python/slurm/test_a.py": 1,
    "tests/python/slurm/test_b.py": 1,
    "tests/python/campaign/test_campaign_kills.py": 2,
    "tests/python/quarks/test_many.py": 9,
    "tests/python/generate/test_cli_hmc.py": 3,
    "tests/python/solve/test_few.py": 3,
}


class Node:
    """This worker runs what it is sent when `work` is called."""

    def __init__(self, number: int) -> None:
        self.gateway = SimpleNamespace(id=f"gw{number}")
        self.sent: list[int] = []
        self.done = 0
        self.shutting_down = False

    def send_runtest_some(self, indices: list[int]) -> None:
        assert not self.shutting_down
        self.sent += indices

    def shutdown(self) -> None:
        self.shutting_down = True


def ran(monkeypatch: pytest.MonkeyPatch, workers: int, cores: int, files: dict[str, int]) -> list[list[str]]:
    """Return the files of each worker, in order, where all tests take equally long."""
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(cores), raising=False)
    collection = [f"{name}::test_{i}" for name, count in files.items() for i in range(count)]
    option = SimpleNamespace(loadscopereorder=True, tx=[f"{workers}*popen"], maxprocesses=None)
    config = SimpleNamespace(option=option, getvalue=lambda name: getattr(option, name))
    scheduler = Distribution(config)  # type: ignore[arg-type]
    nodes = [Node(number) for number in range(workers)]
    for node in nodes:
        scheduler.add_node(node)  # type: ignore[arg-type]
    for node in nodes:
        scheduler.add_node_collection(node, collection)  # type: ignore[arg-type]
    scheduler.schedule()
    while not all(node.done == len(node.sent) for node in nodes):
        for node in nodes:
            if node.done < len(node.sent):
                node.done += 1
                scheduler.mark_test_complete(node, node.sent[node.done - 1])  # type: ignore[arg-type]
    assert sorted(index for node in nodes for index in node.sent) == list(range(len(collection)))
    return [list(dict.fromkeys(collection[i].split("::")[0] for i in node.sent)) for node in nodes]


def test_the_first_of_more_processes_than_cores_takes_what_waits(monkeypatch):
    first, *others = ran(monkeypatch, 3, 2, FILES)
    assert first == [name for name in FILES if "/slurm/" in name or "/campaign/" in name]
    assert sorted(name for names in others for name in names) == sorted(set(FILES) - set(first))


def test_files_with_long_tests_come_first(monkeypatch):
    (order,) = ran(monkeypatch, 1, 2, FILES)
    assert order[:2] == ["tests/python/slurm/test_a.py", "tests/python/slurm/test_b.py"]
    assert order.index("tests/python/generate/test_cli_hmc.py") < order.index(
        "tests/python/quarks/test_many.py"
    )


@pytest.mark.parametrize("workers, cores", [(1, 1), (2, 1), (2, 2), (4, 2), (3, 2)])
@pytest.mark.parametrize("kept", ["/slurm/", "/solve/", "/"])
def test_all_tests_run_once_with_their_file(monkeypatch, workers, cores, kept):
    files = {name: count for name, count in FILES.items() if kept in name}
    places = ran(monkeypatch, workers, cores, files)
    assert sorted(name for names in places for name in names) == sorted(files)
    assert len({place for place, names in enumerate(places) for name in names if "/slurm/" in name}) <= 1
