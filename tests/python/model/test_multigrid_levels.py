"""These tests cover forecasts of multigrid with any number of levels: counts by hand, and what is never
invented."""

from __future__ import annotations

import pytest

from trellis.errors import BadArgument
from trellis.model.workloads.iterations import parse_iterations
from trellis.model.workloads.multigrid import Level, coarse_operator, cycle, level_between, transfer
from trellis.model.workloads.multigrid_levels import coarse_levels
from trellis.run_files.multigrid import MultigridTable

EXTENTS = (16, 16, 16, 32)


def table(**keys: object) -> MultigridTable:
    return MultigridTable.model_validate(keys)


def test_applications_of_a_level_between() -> None:
    """A K-cycle of 3 iterations is counted by hand: 3 of GCR, 3 of residuals, 12 of 4 smoothing steps."""
    of_k = level_between((2, 2, 2, 2), 28, 3, 4, is_k_cycle=True)
    assert (of_k.iterations, of_k.cycles, of_k.sums) == (18, 3, 15)
    of_v = level_between((2, 2, 2, 2), 28, 1, 4, is_k_cycle=False)
    assert (of_v.iterations, of_v.cycles, of_v.sums) == (5, 1, 4)


def test_levels_of_a_run_file() -> None:
    two = coarse_levels(table(levels=2, vectors=20), EXTENTS, parse_iterations("coarse=16"))
    assert two == [Level((4, 4, 4, 4), 20, 16)]
    four = coarse_levels(
        table(block=[[2, 2, 2, 2], [2, 2, 2, 2], [2, 2, 2, 2]], vectors=[8, 12, 16]),
        EXTENTS,
        parse_iterations("level2=3,level3=4,coarse=16"),
    )
    assert [level.cycles for level in four] == [3, 4, 1]
    assert [level.vectors for level in four] == [8, 12, 16]
    v_cycle = coarse_levels(table(levels=3, cycle="v", vectors=20), EXTENTS, parse_iterations("coarse=16"))
    assert v_cycle[0].iterations == 5


def test_what_is_not_given_is_named() -> None:
    with pytest.raises(BadArgument, match="--iterations coarse=N"):
        coarse_levels(table(levels=2), EXTENTS, parse_iterations("300"))
    with pytest.raises(BadArgument, match=r"iterations of level 2 in a cycle.*--iterations level2=N"):
        coarse_levels(table(levels=3), EXTENTS, parse_iterations("coarse=16"))


def test_visits_multiply_through_three_levels() -> None:
    """Ten cycles with three iterations each on level 2 are thirty visits to level 3."""
    levels = [Level((4, 4, 4, 4), 20, 18, 3, 15), Level((2, 2, 2, 2), 28, 16)]
    grid = (1, 1, 1, 2)
    found = {p.name: p for p in cycle("mg", (16, 16, 16, 16), grid, levels, iterations=10)}
    assert found["mg: level 2"].repeats == 10 * 18
    assert found["mg: level 3"].repeats == 10 * 3 * 16
    assert found["mg: transfer to level 3"].repeats == 10 * 3
    assert found["mg: level 3"].flops == coarse_operator((2, 2, 2, 2), grid, 28).flops
    assert found["mg: level 3"].extents == (2, 2, 2, 2)
    assert found["mg: transfer to level 3"].flops == transfer((4, 4, 4, 4), 28, 1, 80).flops
    sums = {name: p.sums * p.repeats for name, p in found.items()}
    assert sums["mg: level 2"] == pytest.approx(10 * 15)
    assert sums["mg: level 3"] == pytest.approx(10 * 3 * 16)


def test_a_cycle_has_the_counts_of_the_core() -> None:
    """Numbers are those of `mpirun -n 2 trellis bench multigrid --lattice 8.8.8.16 --block 4.4.4.4`, a cycle.

    The coarse solve took four steps. Messages of the outer iterations, which the core also has in its last
    residual, are left out.
    """
    levels = [Level((4, 4, 4, 4), 20, 4)]
    found = {p.kernel: p for p in cycle("mg", (8, 8, 8, 8), (1, 1, 1, 2), levels)}
    sent = {name: (p.message_count * p.repeats, p.sent_bytes * p.repeats) for name, p in found.items()}
    assert sent["multigrid_residual"] == (2, 49152)
    assert sent["multigrid_smoother"] == (5, 245760)
    assert sent["multigrid_coarse"] == (8, 20480)
    assert sent["multigrid_transfer"] == (0, 0)
    flops = {name: p.flops * p.repeats for name, p in found.items()}
    core = {
        "outside": 14.55e6,
        "residual": 7.864e6,
        "smoother": 105.8e6,
        "transfer": 15.73e6,
        "coarse": 7.57e6,
    }
    for part, expected in core.items():
        assert flops[f"multigrid_{part}"] == pytest.approx(expected, rel=0.08), part
    moved = {name: p.bytes * p.repeats for name, p in found.items()}
    assert moved["multigrid_residual"] == pytest.approx(5.898e6, rel=0.03)
    assert moved["multigrid_smoother"] == pytest.approx(15.34e6, rel=0.01)
