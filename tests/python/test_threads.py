"""How threads wait at barriers: what trellis.core chooses before the OpenMP library is loaded."""

import os
import subprocess
import sys

import pytest

PRINT = (
    "import os; from trellis.core import load; load(); "
    "print(os.environ.get('OMP_WAIT_POLICY'), os.environ.get('GOMP_SPINCOUNT'))"
)


def chosen(**environment: str) -> list[str]:
    """OMP_WAIT_POLICY and GOMP_SPINCOUNT after the module was loaded."""
    clean = {k: v for k, v in os.environ.items() if k not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")}
    done = subprocess.run(
        [sys.executable, "-c", PRINT],
        env={**clean, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def test_more_threads_than_cores_sleep_at_once() -> None:
    assert chosen(OMP_NUM_THREADS="100000") == ["passive", "None"]


@pytest.mark.parametrize("policy", ["active", "passive"])
def test_a_policy_that_was_set_decides(policy: str) -> None:
    assert chosen(OMP_NUM_THREADS="1", OMP_WAIT_POLICY=policy) == [policy, "None"]


def test_turns_that_were_set_stay() -> None:
    assert chosen(OMP_NUM_THREADS="1", GOMP_SPINCOUNT="7") == ["passive", "7"]
