"""This module has the base of records, series of numbers, and numbers with their errors as text."""

from __future__ import annotations

import math

import gvar as gv
from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """This is a part of results.json; what is not finite is null there."""

    model_config = ConfigDict(ser_json_inf_nan="null")


class Series(Record):
    """These are values with errors at positions (times, lags or trajectories)."""

    x: list[float]
    value: list[float | None]
    error: list[float | None]


def format_error(value: float, error: float) -> str:
    """Return 0.4213(17), with two digits of error."""
    if not error > 0:
        return f"{value:.10g}"
    places = 1 - math.floor(math.log10(error)) if math.isfinite(error) else 1
    if places <= 0 and abs(value) < 1e6:  # this gives 1530(460) rather than 1.53(46)e+03
        return f"{round(value, places) + 0.0:.0f}({round(error, places):.0f})"  # 0.0 avoids -0
    return str(gv.gvar(value, error).fmt(None))
