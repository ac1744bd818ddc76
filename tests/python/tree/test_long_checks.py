"""tools/long_checks finds what is wrong, and a case of it runs."""

from __future__ import annotations

import importlib.util
import random
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
_spec = importlib.util.spec_from_file_location(
    "long_checks_multigrid", ROOT / "tools" / "long_checks_multigrid.py"
)
assert _spec is not None
assert _spec.loader is not None
check = importlib.util.module_from_spec(_spec)
sys.modules["long_checks_multigrid"] = check
_spec.loader.exec_module(check)


def case():
    return check.Case((4, 8, 4, 8), seed=3, spread=0.3, kappa=0.12, csw=1.0, antiperiodic=True)


def test_cases_are_legal_and_drawn_from_the_seed() -> None:
    first = [check.draw(random.Random(5), 24000) for _ in range(2)]
    assert first[0] == first[1]
    assert check.legal_blocks(18) == [3, 9]
    assert check.legal_blocks(16, 4) == [2, 4]
    assert check.block_by_rule((22, 8, 18, 12)) == (11, 4, 3, 3)
    for grid in check.grids((12, 8, 8, 24), (3, 4, 4, 4), 4):
        assert grid[0] == 1 or (12 // grid[0]) % 3 == 0
        assert (24 // grid[3]) % 4 == 0


def test_a_lattice_is_solved_with_equal_bits(tmp_path: Path) -> None:
    row, wrong = check.check_case(case(), random.Random(1), tmp_path)
    assert wrong == []
    assert row.startswith("| 4x8x4x8 | 2.4.2.4 |")
    refusal, wrong = check.check_refusal(case(), random.Random(1))
    assert wrong == [], refusal


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({2: {"sha256": "b" * 64}}, "other bits than on one rank"),
        ({4: {"error": "it broke"}}, "it broke"),
        ({1: {"error": "singular"}}, "4x8x4x8: singular"),
        ({1: {"residual": 2e-10}}, "the true residual is 2.00e-10"),
        ({1: {"residual": float("nan")}}, "the true residual is nan"),
        ({1: {"block": [4, 4, 4, 4]}}, "expected (2, 4, 2, 4)"),
    ],
)
def test_faults_are_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, changes: dict[int, dict[str, object]], said: str
) -> None:
    good = {"block": [2, 4, 2, 4], "iterations": 9, "seconds": [1, 1], "sha256": "a" * 64, "residual": 1e-11}
    monkeypatch.setattr(check, "run", lambda _, ranks, __: {**good, **changes.get(ranks, {})})
    _, wrong = check.check_case(case(), random.Random(1), tmp_path)
    assert len(wrong) == 1
    assert said in wrong[0]


def test_an_unknown_check_is_named() -> None:
    found = subprocess.run(
        [ROOT / "tools" / "long_checks", "nothing"], capture_output=True, text=True, check=False
    )
    assert found.returncode == 2
    checks = "front, gpu, model, multigrid, network"
    assert f"one of {checks} behind tools/long_checks, found nothing" in found.stderr
