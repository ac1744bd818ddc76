"""This module has lattices that are cut in one direction, with borders first.

They are those of the OpenACC staggered code and of staggered quarks on QUonG.
"""

from __future__ import annotations

from ..closed_form import border_first
from .rows import Row

OPENACC, QUONG = "openacc", "quong"
#: A border of D has this many planes, on both sides together.
_BORDER = 2
#: The messages of the gauge part have this ratio to those of D, and its work has this ratio to that of D.
_GAUGE_BYTES, _GAUGE_WORK = 16.0, 300.0


def sliced_time(planes: float, exchange: float) -> float:
    """Return the time of D on so many planes, in units of one plane's time; borders come first."""
    return border_first(planes, _BORDER / planes, exchange)


def exchange_planes(extent: int, gpus: int, speed_up: float) -> float:
    """Return the time of an exchange, in planes, that leaves this speed-up where the exchange is longest."""
    return extent / speed_up - _BORDER


def openacc_rows() -> list[Row]:
    """Return the rows of 16 half K80 boards in one node (Bonati et al. 2018)."""
    source = "Bonati et al. 2018"
    exchange = exchange_planes(64, 16, 10.0)
    thickness = exchange + _BORDER
    last_perfect = max(n for n in (1, 2, 4, 8, 16) if n == 1 or 64 / n - _BORDER >= exchange)
    gauge = _GAUGE_BYTES * exchange / (_GAUGE_WORK * 4)
    return [
        Row(
            OPENACC,
            "speed-up of D on 16 GPUs, 32^3 x 64",
            10.0,
            64 / sliced_time(4, exchange),
            "fitted",
            f"{source}; an exchange takes as long as {exchange:.1f} planes",
        ),
        Row(
            OPENACC,
            "speed-up of D on 12 GPUs, 32^3 x 48",
            8.0,
            48 / sliced_time(4, exchange),
            "checked",
            source,
        ),
        Row(OPENACC, "thinnest slices with perfect scaling, planes", 6.0, thickness, "checked", source),
        Row(
            OPENACC,
            "GPUs to which D scales perfectly, 32^3 x 64",
            8.0,
            float(last_perfect),
            "checked",
            source,
        ),
        Row(
            OPENACC,
            "gauge part, slices of 4 planes",
            "perfect to the end",
            f"its exchange takes {100 * gauge:.0f} % of its work",
            "checked",
            f"{source}; 16 times the messages of D, 300 times its work",
            agrees=gauge < 0.1,
        ),
    ]


#: Staggered quarks on 4 x L^3 have these speed-ups over one GPU: extent -> GPUs -> speed-up.
QUONG_TABLE = {32: {2: 1.60, 4: 2.45}, 48: {2: 1.89, 4: 2.98}, 64: {2: 1.95, 4: 3.34}}
_FITTED_AT = 64


def quong_constants() -> tuple[float, float]:
    """Return the constant and the surface term of the exchange, in units of the work of one site.

    Two GPUs of a node add c0 to the time; two nodes add c1 L^2, a face, beside it. Both are fitted at L = 64.
    """
    work = 4 * _FITTED_AT**3
    table = QUONG_TABLE[_FITTED_AT]
    constant = work * (1 / table[2] - 1 / 2)
    surface = (work * (1 / table[4] - 1 / 4) - constant) / _FITTED_AT**2
    return constant, surface


def quong_speed_up(extent: int, gpus: int) -> float:
    """Return the speed-up over one GPU."""
    constant, surface = quong_constants()
    work = 4 * extent**3
    exchange = constant + (surface * extent**2 if gpus > 2 else 0.0)
    return work / (work / gpus + exchange)


def quong_rows() -> list[Row]:
    """Return the rows of staggered quarks on QUonG (INFN 2013)."""
    return [
        Row(
            QUONG,
            f"speed-up on {gpus} GPUs, 4 x {extent}^3",
            published,
            quong_speed_up(extent, gpus),
            "fitted" if extent == _FITTED_AT else "checked",
            "INFN 2013; a constant on two GPUs and a surface term on four, both fitted at L = 64",
        )
        for extent, table in QUONG_TABLE.items()
        for gpus, published in table.items()
    ]
