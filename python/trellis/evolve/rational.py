"""This module has rational approximations of powers, near the best in the relative error, to any order.

    r(x) = constant + sum_k residues[k] / (x + shifts[k])  ~  x^exponent   on [low, high],  shifts > 0,

It is of type (n, n). The best one, with the smallest largest |r(x) x^-exponent - 1|, equals the power at 2n +
1 points. For x^(-1/2) Zolotarev knew these points (elliptic functions); for other powers they lie almost at
the same places, so the interpolant there is within about 3 % of the best error (tests compare with the best).
Arithmetic and elliptic functions are mpmath's. Only the ratio of the ends matters: results are kept by ratio
in a file.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from ..ground.crash_safe_files import write_json
from ..ground.errors import BadArgument, NumericError

#: The arithmetic has at least so many decimal digits, and so many more than the error, which is solved for.
_DIGITS, _MORE_DIGITS = 60, 40
#: A function of a lower order is there in less than a second.
_LONG_ORDER = 16
_announce: ContextVar[Callable[[str], None] | None] = ContextVar("announce", default=None)
_MAX_ORDER = 60
_CACHE_VERSION = 1


@dataclass(frozen=True)
class Rational:
    """This is the function constant + sum_k residues[k] / (x + shifts[k]).

    Attributes
    ----------
    exponent
        This is the power that is approximated.
    low, high
        The interval.
    error
        The largest relative error on it, of these coefficients: doubles, in exact arithmetic.
    """

    exponent: float
    low: float
    high: float
    constant: float
    residues: tuple[float, ...]
    shifts: tuple[float, ...]
    error: float

    @property
    def order(self) -> int:
        """Return the number of poles."""
        return len(self.shifts)

    def __call__(self, x: float) -> float:
        """Return the value at x."""
        return self.constant + sum(a / (x + b) for a, b in zip(self.residues, self.shifts, strict=True))


def rational_power(
    exponent: float,
    *,
    low: float,
    high: float,
    order: int | None = None,
    tolerance: float | None = None,
    cache: Path | None = None,
) -> Rational:
    """Return an approximation of x^exponent on [low, high] whose error is near the smallest.

    Parameters
    ----------
    exponent
        -1 <= exponent < 1, not 0; -1 is exact, 1/x.
    low, high
        0 < low < high.
    order
        Number of poles; or give tolerance.
    tolerance
        The smallest order whose error is below it before coefficients are rounded to doubles. For positive
        exponents the terms cancel at the lower end by about (high / low)^exponent, and no order reaches a
        tolerance below that many roundings: then ``error`` is above the tolerance.
    cache
        JSON file of earlier results; default: `rational.json` below $XDG_CACHE_HOME/trellis.

    Raises
    ------
    BadArgument
        An argument outside its range.
    NumericError
        No order up to 60 reaches the tolerance.
    """
    if not (0 < low < high < float("inf")):
        raise BadArgument(f"interval of a rational approximation: 0 < low < high, found [{low:g}, {high:g}]")
    if exponent == -1:
        return Rational(-1.0, low, high, 0.0, (1.0,), (0.0,), 0.0)
    if not (-1 < exponent < 1) or exponent == 0:
        raise BadArgument(
            f"exponent of a rational approximation: between -1 and 1, not 0, found {exponent:g}; with more "
            "pseudofermions the exponents are smaller"
        )
    if (order is None) == (tolerance is None):
        raise BadArgument("give the order of a rational approximation, or its tolerance")
    if order is not None:
        if not 1 <= order <= _MAX_ORDER:
            raise BadArgument(f"order of a rational approximation: 1 to {_MAX_ORDER}, found {order}")
        return _with_rounding(_scaled(_on_unit_interval(exponent, low / high, order, cache), low, high))
    assert tolerance is not None
    if not 0 < tolerance < 1:
        raise BadArgument(f"tolerance of a rational approximation: between 0 and 1, found {tolerance:g}")
    with _announcing_once():
        for trial in range(_first_order(low / high, tolerance), _MAX_ORDER + 1):
            found = _scaled(_on_unit_interval(exponent, low / high, trial, cache), low, high)
            if found.error <= tolerance:
                return _with_rounding(found)
    raise NumericError(
        f"no rational approximation of order {_MAX_ORDER} or below has an error of {tolerance:g} on "
        f"[{low:g}, {high:g}]"
    )


@contextmanager
def announcing(say: Callable[[str], None]) -> Iterator[None]:
    """Announce with `say`, inside the context, each function whose computation takes long."""
    token = _announce.set(say)
    try:
        yield
    finally:
        _announce.reset(token)


@contextmanager
def _announcing_once() -> Iterator[None]:
    """Announce only the first long computation while several orders are tried for one function."""
    say = _announce.get()
    said: list[str] = []

    def say_once(text: str) -> None:
        if say is not None and not said:
            said.append(text)
            say(f"{text}; some higher orders may follow")

    with announcing(say_once):
        yield


def order_estimate(ratio: float, tolerance: float) -> int:
    """Estimate the order that :func:`rational_power` finds for this tolerance, without computing it.

    Parameters
    ----------
    ratio
        low / high.
    """
    return min(_first_order(ratio, tolerance) + 3, _MAX_ORDER)


def _first_order(ratio: float, tolerance: float) -> int:
    """Return an order below the one that the tolerance needs."""
    return max(1, int(math.log(0.1 / tolerance) / _rate(ratio)) - 2)


def _rate(ratio: float) -> float:
    """Return the rate with which the error falls: as exp(-rate n) with the order n."""
    return math.pi**2 / math.log(4.0 / math.sqrt(ratio))


def _digits(ratio: float, order: int) -> int:
    """Return the decimal digits of the computation; weights and poles lose as many as the error has."""
    return max(_DIGITS, math.ceil(_rate(ratio) * order / math.log(10.0)) + _MORE_DIGITS)


def _scaled(unit: Rational, low: float, high: float) -> Rational:
    """Scale a function from [low / high, 1] to [low, high]: r(x) = high^exponent u(x / high)."""
    scale = high**unit.exponent
    return Rational(
        unit.exponent,
        low,
        high,
        scale * unit.constant,
        tuple(scale * high * a for a in unit.residues),
        tuple(high * b for b in unit.shifts),
        unit.error,
    )


def _with_rounding(function: Rational) -> Rational:
    """Return the function with the error of its rounded coefficients; the unrounded error is included."""
    import mpmath

    # Points are dense where the error oscillates fast, at the ends; at the lower one terms cancel.
    count = 8 * (2 * function.order + 1)
    first, last = math.log(function.low), math.log(function.high)
    inner = [first + (last - first) * math.sin(math.pi * i / (2 * count)) ** 2 for i in range(1, count)]
    worst = function.error
    with mpmath.workdps(_DIGITS // 2):
        power = mpmath.mpf(function.exponent)
        terms = [(mpmath.mpf(a), b) for a, b in zip(function.residues, function.shifts, strict=True)]
        for x in map(mpmath.mpf, (function.low, *map(math.exp, inner), function.high)):
            value = function.constant + sum(a / (x + b) for a, b in terms)
            worst = max(worst, float(abs(value / x**power - 1)))
    return replace(function, error=worst)


def _on_unit_interval(exponent: float, ratio: float, order: int, cache: Path | None) -> Rational:
    path = cache or _default_cache()
    key = f"{exponent!r} {ratio!r} {order}"
    known = _read_cache(path)
    if key not in known:
        say = _announce.get()
        if say is not None and order >= _LONG_ORDER:
            say(
                f"computing a rational function of order {order} for x^{exponent:g} on [{ratio:.3g}, 1], "
                f"which is kept in {path}"
            )
        found = _solve(exponent, ratio, order)
        known = {**_read_cache(path), key: asdict(found)}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_json(path, {"version": _CACHE_VERSION, "functions": known})
        except OSError:
            pass  # a cache that cannot be written only costs time
        return found
    entry = known[key]
    return Rational(**{**entry, "residues": tuple(entry["residues"]), "shifts": tuple(entry["shifts"])})


def _default_cache() -> Path:
    folder = os.environ.get("XDG_CACHE_HOME")
    if not folder:
        try:
            folder = str(Path.home() / ".cache")
        except RuntimeError:  # the user has no home, as in containers
            folder = tempfile.gettempdir()
    return Path(folder) / "trellis" / "rational.json"


def _read_cache(path: Path) -> dict:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    is_ours = isinstance(content, dict) and content.get("version") == _CACHE_VERSION
    functions = content.get("functions") if is_ours else None
    return functions if isinstance(functions, dict) else {}


def _solve(exponent: float, ratio: float, order: int) -> Rational:
    """Find the function on [ratio, 1], with many digits."""
    import mpmath

    with mpmath.workdps(_digits(ratio, order)):
        power, low = mpmath.mpf(exponent), mpmath.mpf(ratio)
        points = _zolotarev_points(mpmath, low, 2 * order + 1)
        function = _Interpolant(mpmath, points, power)
        error = max(abs(e) for e in _extrema(mpmath, function, points, low))
        constant, residues, shifts = function.partial_fractions(low)
        if len(shifts) != order or any(b <= 0 for b in shifts):
            raise NumericError(
                f"rational approximation of x^{exponent:g} on [{ratio:g}, 1] of order {order}: expected "
                f"{order} poles on the negative axis, found {len(shifts)}"
            )
        return Rational(
            float(exponent),
            float(ratio),
            1.0,
            float(constant),
            tuple(float(a) for a in residues),
            tuple(float(b) for b in shifts),
            float(error),
        )


def _zolotarev_points(mpmath, low, count: int) -> list:
    """Return the points where Zolotarev's function for the inverse square root has no error.

    They are near the best interpolation points for any power.
    """
    k_squared = 1 - low  # dn runs from 1 down to sqrt(low)
    K = mpmath.ellipk(k_squared)
    return sorted(
        mpmath.ellipfun("dn", (2 * j + 1) * K / (2 * count), m=k_squared) ** 2 for j in range(count)
    )


class _Interpolant:
    """This is a rational function of type (n, n) through x^power at 2n + 1 points, in barycentric form."""

    def __init__(self, mpmath, points: list, power) -> None:
        self.mpmath, self.power = mpmath, power
        self.support = points[0::2]
        self.values = [x**power for x in self.support]
        others = points[1::2]
        order = len(others)
        # The weights solve Loewner matrix times weights = 0, with one row for each point that is no support.
        rows = mpmath.matrix(order, order)
        right = mpmath.matrix(order, 1)
        for i, x in enumerate(others):
            value = x**power
            entries = [(value - v) / (x - z) for z, v in zip(self.support, self.values, strict=True)]
            for j in range(order):
                rows[i, j] = entries[j] / entries[order]
            right[i] = -1
        solution = mpmath.lu_solve(rows, right)
        self.weights = [solution[j] for j in range(order)] + [mpmath.mpf(1)]

    def denominator(self, x):
        """Return sum_j w_j / (x - z_j)."""
        return sum(w / (x - z) for w, z in zip(self.weights, self.support, strict=True))

    def relative_error(self, x):
        """Return r(x) / x^power - 1; x is no support point."""
        numerator = denominator = self.mpmath.mpf(0)
        for w, z, v in zip(self.weights, self.support, self.values, strict=True):
            term = w / (x - z)
            numerator += term * v
            denominator += term
        return numerator / denominator / x**self.power - 1

    def partial_fractions(self, low):
        """Return constant, residues and shifts: the poles lie on the negative axis, found between sign
        changes."""
        mpmath = self.mpmath
        constant = sum(w * v for w, v in zip(self.weights, self.values, strict=True)) / sum(self.weights)
        order = len(self.weights) - 1
        first, last = mpmath.log(low) - 2 * mpmath.log(10) * 2, 2 * mpmath.log(10) * 2
        count = 60 * (order + 1)
        # towards the powers -1 and 1 the outermost pole goes to 0 and to infinity, as 1 - |power|
        beyond = 2 + int(-mpmath.log(1 - abs(self.power)) * count / (last - first))
        grid = [mpmath.exp(first + (last - first) * i / count) for i in range(-beyond, count + beyond + 1)]
        signs = [self.denominator(-b) for b in grid]
        residues, shifts = [], []
        for a, b, fa, fb in zip(grid, grid[1:], signs, signs[1:], strict=False):
            if (fa > 0) == (fb > 0):
                continue
            root = mpmath.findroot(
                lambda b: self.denominator(-b),
                (a, b),
                solver="anderson",
                tol=mpmath.mpf(10) ** -(mpmath.mp.dps + 20),
                verify=False,
            )
            slope = -sum(w / (-root - z) ** 2 for w, z in zip(self.weights, self.support, strict=True))
            numerator = sum(
                w * v / (-root - z) for w, z, v in zip(self.weights, self.support, self.values, strict=True)
            )
            residues.append(numerator / slope)
            shifts.append(root)
        return constant, residues, shifts


def _extrema(mpmath, function: _Interpolant, points: list, low) -> list:
    """Return the error of largest size in each of the intervals between the points and the ends."""
    edges = [mpmath.log(low), *[mpmath.log(x) for x in points], mpmath.mpf(0)]
    found = []
    for k, (a, b) in enumerate(itertools.pairwise(edges)):
        if k == 0:
            found.append(function.relative_error(mpmath.exp(a)))
            continue
        if k == len(edges) - 2:
            found.append(function.relative_error(mpmath.exp(b)))
            continue
        ts = [a + (b - a) * f for f in (mpmath.mpf("0.35"), mpmath.mpf("0.5"), mpmath.mpf("0.65"))]
        e = [function.relative_error(mpmath.exp(t)) for t in ts]
        # This is the vertex of the parabola through three values.
        curvature = e[0] - 2 * e[1] + e[2]
        vertex = ts[1]
        if curvature != 0:
            step = (e[0] - e[2]) / (2 * curvature)
            vertex = ts[1] + max(min(step, mpmath.mpf(2)), mpmath.mpf(-2)) * (ts[1] - ts[0])
        e.append(function.relative_error(mpmath.exp(vertex)))
        found.append(max(e, key=abs))
    return found
