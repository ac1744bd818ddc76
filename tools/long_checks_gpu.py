"""CI leaves this out for GPUs: both architectures, and the tests under more orders of streams and writes."""

from __future__ import annotations

import argparse
import os
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SIMULATED = "build/cuda-simulated"


def main(words: list[str]) -> int:
    """Compile for both architectures and run the simulated tests; print a row for each step.

    Returns
    -------
    int
        1 if a step fails.
    """
    parser = argparse.ArgumentParser(prog="tools/long_checks gpu", description=__doc__)
    parser.add_argument("--seeds", type=int, default=20, help="orders of streams that are tried (default 20)")
    parser.add_argument(
        "--table-seeds",
        type=int,
        default=200,
        help="orders for hops by each way, cut, number of columns and storage (default 200)",
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="compilers at a time")
    arguments = parser.parse_args(words)
    jobs = str(arguments.jobs)
    steps: list[tuple[str, list[str], dict[str, str]]] = [
        ("set up CUDA for sm_80 and sm_90", ["./bootstrap", "setup", "--cuda"], {}),
        (
            "compile for both",
            ["cmake", "--build", "build/cuda", "--parallel", jobs, "--target", "trellis_cuda"],
            {},
        ),
        ("configure the simulated GPU", ["cmake", "--preset", "cuda-simulated"], {}),
        (
            "build its tests",
            [
                "cmake",
                "--build",
                SIMULATED,
                "--parallel",
                jobs,
                "--target",
                "test_cuda",
                "test_simulated_gpu",
            ],
            {},
        ),
    ]
    for seed in range(1, arguments.seeds + 1):
        ranks = (1, 2, 4)[seed % 3]
        program = f"{SIMULATED}/tests/parallel/test_cuda"
        command = ["mpirun", "--oversubscribe", "-n", str(ranks), program]
        steps.append(
            (f"test_cuda, {ranks} ranks, seed {seed}", command, {"TRELLIS_SIMULATE_SEED": str(seed)})
        )
    table = [f"{SIMULATED}/tests/parallel/test_simulated_gpu", "--gtest_filter=*ways_cuts*"]
    steps.append(
        (
            f"hops by all ways, cuts, columns and storages, 2 ranks, {arguments.table_seeds} seeds",
            ["mpirun", "--oversubscribe", "-n", "2", *table],
            {"TRELLIS_SIMULATED_SEEDS": str(arguments.table_seeds)},
        )
    )
    failed = 0
    print("| step | result | seconds |\n|---|---|---|")
    for name, command, more in steps:
        start = time.monotonic()
        result = subprocess.run(
            command, cwd=ROOT, env=os.environ | more, capture_output=True, text=True, check=False
        )
        passed = result.returncode == 0
        failed += not passed
        print(f"| {name} | {'ok' if passed else 'failed'} | {time.monotonic() - start:.0f} |", flush=True)
        if not passed:
            print((result.stdout + result.stderr)[-3000:])
    return 1 if failed else 0
