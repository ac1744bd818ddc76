"""These tests compare costs.json with what the core declares, and the costs of solves with those of real
ones."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from typing import Any

import numpy as np
import pytest
from command_line import environment

import trellis as tr
from trellis.commands.bench import programs
from trellis.errors import BadArgument
from trellis.model.costs import counts, kernel_names
from trellis.model.workloads.solves import System, hops_of_iteration, passes

#: The file was not made from most of these lattices.
LATTICES = (
    (8, 8, 8, 8),
    (8, 8, 8, 12),
    (8, 8, 12, 8),
    (8, 12, 8, 8),
    (12, 8, 8, 8),
    (8, 8, 8, 16),
    (8, 8, 16, 8),
    (8, 16, 8, 8),
    (12, 8, 8, 12),
    (8, 8, 8, 24),
)
needs_program = pytest.mark.skipif("costs" not in programs(), reason="this build has no bench_costs")


def declared(grid: tuple[int, ...], *options: str) -> list[dict[str, Any]]:
    lattices = ",".join(".".join(map(str, extents)) for extents in LATTICES)
    words = [str(programs()["costs"]), "--json", "--grid", ".".join(map(str, grid)), "--lattice", lattices]
    if math.prod(grid) > 1:
        if shutil.which("mpirun") is None:
            pytest.skip("there is no mpirun")
        words = ["mpirun", "-n", str(math.prod(grid)), *words]
    ended = subprocess.run(
        [*words, *options], check=True, capture_output=True, text=True, env=environment(TRELLIS_TUNE="off")
    )
    rows: list[dict[str, Any]] = json.loads(ended.stdout)["costs"]
    return rows


@needs_program
@pytest.mark.parametrize("grid", [(1, 1, 1, 1), (1, 1, 1, 2), (2, 1, 1, 1)])
def test_the_file_is_what_the_core_declares(grid: tuple[int, ...]) -> None:
    rows = declared(grid, "--precision", "double,float,half", "--link-reals", "12", "--rhs", "2", "--ls", "8")
    assert {row["kernel"] for row in rows} == set(kernel_names())
    ranks = math.prod(grid)
    for row in rows:
        local = tuple(n // g for n, g in zip(row["lattice"], grid, strict=True))
        found = counts(
            row["kernel"],
            local,  # type: ignore[arg-type]
            grid,
            precision=row["precision"],
            link_reals=row["link_reals"],
            rhs=row["rhs"],
            Ls=row["Ls"],
        )
        assert found.flops * ranks == pytest.approx(row["flops"], rel=1e-9), row
        assert found.bytes * ranks == pytest.approx(row["bytes"], rel=1e-9), row
        assert found.sums == row["sums"]
        assert found.launches == row["launches"], row
        sent = sorted((m.mu, m.step, m.size) for m in found.messages)
        expected = sorted(
            (m["mu"], m["step"], m["bytes"]) for m in row["messages"] for _ in range(m["count"])
        )
        assert [m[:2] for m in sent] == [m[:2] for m in expected], row
        assert [m[2] for m in sent] == pytest.approx([m[2] for m in expected]), row


def test_an_iteration_costs_what_a_solve_reports() -> None:
    """Two solves that differ by some iterations differ by these iterations' costs."""
    U = tr.hot((4, 4, 4, 8), seed=1)
    M = tr.WilsonClover(U, mass=1.0, csw=0.0, link_reals=18)
    b = np.zeros((8, 4, 4, 4, 4, 3), dtype=complex)
    b[0, 0, 0, 0, 0, 0] = 1
    reports = [tr.even_odd(tr.cg(tolerance=t))(M).solve(b)[1] for t in (1e-3, 1e-9)]
    iterations = reports[1].iterations - reports[0].iterations
    assert iterations > 3
    flops = [report.gflops * report.seconds * 1e9 for report in reports]
    system = System("wilson_schur", False, 24)
    grid = (1, 1, 1, 1)
    hops = hops_of_iteration(system, (4, 4, 4, 8), grid)
    algebra = passes(system, (4, 4, 4, 8), 3, 4, 1) + passes(system, (4, 4, 4, 8), 5, 4, 0)
    assert (flops[1] - flops[0]) / iterations == pytest.approx(hops.flops + algebra.flops, rel=0.02)


def test_mistakes() -> None:
    with pytest.raises(BadArgument, match=r"expected a kernel of costs\.json, found 'wilson_shur'"):
        counts("wilson_shur", (4, 4, 4, 4), (1, 1, 1, 1))
    with pytest.raises(BadArgument, match="expected a storage among double 12, double 18"):
        counts("wilson_schur", (4, 4, 4, 4), (1, 1, 1, 1), link_reals=8)
