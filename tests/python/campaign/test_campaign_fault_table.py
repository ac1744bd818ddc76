"""The table of faults in doc/campaign/faults.md names, for each of the 22, tests that are there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1]
TABLE = FOLDER.parents[1] / "doc/campaign/faults.md"


def existing() -> set[str]:
    """Return the names of all test functions of campaigns, with and without Slurm."""
    files = [*(FOLDER / "campaign").glob("test_*.py"), *(FOLDER / "slurm").glob("test_*.py")]
    trees = [ast.parse(path.read_text()) for path in files]
    return {node.name for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_fault_has_tests_that_exist() -> None:
    rows = [line.split("|") for line in TABLE.read_text().splitlines() if re.match(r"\| \d+ \|", line)]
    named = {int(row[1]): re.findall(r"`(test_\w+)`", row[4]) for row in rows}
    assert sorted(named) == list(range(1, 23))
    assert all(named.values())
    missing = {name for names in named.values() for name in names} - existing()
    assert not missing
