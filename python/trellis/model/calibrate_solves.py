"""Parts of a run that surround hops have speeds, too: linear algebra, parts of multigrid, updates of glasses.

Each speed is the flops of a part as the model counts them, over the seconds that a benchmark measured, so
that a forecast of the same run gives the same seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .calibrate import Calibration, Place, Rate, place_of, rate_of
from .phases import Extents
from .workloads import glass, multigrid
from .workloads.solves import LINEAR_ALGEBRA, REAL_BYTES, SCALE_BYTES, System, passes

#: Storages other than double take time in proportion to their bytes.
_OTHERS = ("float", "half")


def add_solver(calibration: Calibration, found: Mapping[str, Any]) -> None:
    """Add the linear algebra of an iteration of conjugate gradients: `bench solver` less its hops.

    The benchmark iterates in double on one right-hand side.
    """
    ranks = found["results"][0]["ranks"] if found["results"] else 1
    for summary in found["summaries"]:
        seconds = 1e-3 * (summary["cg_iteration_ms"] - summary["hops_of_it_ms"])
        if seconds <= 0:
            continue
        place = place_of({"lattice": summary["lattice"], "ranks": ranks})
        system = System("wilson_schur", False, 24)
        of = passes(system, place.local, 3, 4, 1) + passes(system, place.local, 5, 4, 0)
        gflops = 1e-9 * of.flops / seconds
        double = 24 * REAL_BYTES["double"]
        calibration.rates.append(Rate(LINEAR_ALGEBRA, "double", place.local, gflops, grid=place.grid))
        for precision in _OTHERS:
            size = 24 * REAL_BYTES[precision] + SCALE_BYTES[precision]
            calibration.rates.append(
                Rate(LINEAR_ALGEBRA, precision, place.local, gflops * double / size, grid=place.grid)
            )


def add_multigrid(
    calibration: Calibration, found: Mapping[str, Any], *, block: Extents, vectors: int, cycles: int
) -> None:
    """Add the parts of multigrid solves of two levels with the Schwarz method, from `bench multigrid`.

    Parameters
    ----------
    block, vectors
        Sites of an aggregate, and test vectors.
    cycles
        Cycles of the smoother.
    """
    rows = found["results"]
    for whole in (row for row in rows if row["kernel"] == "multigrid_solve"):
        place = place_of(whole)
        columns = max(round(whole["columns_per_cycle"]), 1)
        for part in multigrid.PARTS:
            row = next(
                (r for r in rows if r["kernel"] == f"multigrid_solve_{part}" and r["rhs"] == whole["rhs"]),
                None,
            )
            if row is None or not row["seconds_per_cycle"] > 0:
                continue
            local, flops = _flops_of(part, place, row, columns, block, vectors, cycles)
            calibration.rates.append(
                Rate(
                    f"multigrid_{part}",
                    "float",
                    local,
                    1e-9 * flops / row["seconds_per_cycle"],
                    rhs=columns,
                    grid=place.grid,
                )
            )


def _flops_of(
    part: str,
    place: Place,
    row: Mapping[str, Any],
    columns: int,
    block: Extents,
    vectors: int,
    cycles: int,
) -> tuple[Extents, float]:
    """Return the extents of a part of a cycle on a rank, and its flops as the model counts them."""
    single = (1, 1, 1, 1)
    local = place.local
    if part == "coarse":  # each step has a sum
        coarse: Extents = tuple(  # type: ignore[assignment]
            max(n // b, 1) for n, b in zip(local, block, strict=True)
        )
        once = multigrid.coarse_operator(coarse, single, vectors, columns)
        return coarse, once.flops * row["sums_per_cycle"]
    if part == "transfer":
        return local, multigrid.transfer(local, vectors, columns).flops
    if part == "outside":
        return local, multigrid.outer_step(local, single, operator="clover", rhs=columns).flops
    if part == "residual":
        return local, multigrid.residual(local, single, operator="clover", rhs=columns).flops
    return local, multigrid.Smoother(cycles).cost(local, single, operator="clover", rhs=columns).flops


def add_glass(calibration: Calibration, found: Mapping[str, Any]) -> None:
    """Add the updates of spin glasses, from `bench glass`."""
    for row in found["results"]:
        place = place_of(row, is_glass=True)
        name = row["kernel"] + ("_pass" if row["sweeps_per_pass"] > 1 else "")
        couplings = "float" if row["couplings"] == "gaussian" else "packed"
        gflops = row["flops"] / place.ranks / row["seconds"] * 1e-9
        flops = glass.FLOPS * row["rhs"] * row["sweeps_per_pass"]
        for extent in row["lattice"]:
            flops *= extent
        gflops *= flops / row["flops"]
        calibration.rates.append(rate_of(f"glass_{name}_{couplings}", row, place, gflops))
