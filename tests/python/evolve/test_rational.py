"""These tests cover rational approximations against the best ones, which another program computed."""

from __future__ import annotations

import json
import math
import os
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest

from trellis.errors import BadArgument, NumericError
from trellis.evolve.rational import Rational, announcing, rational_power

DATA = os.environ.get("TRELLIS_TEST_DATA")
CASES = [
    ("-1/2", "[1e-4,1]", 8),
    ("-1/4", "[1e-4,1]", 12),
    ("1/8", "[1e-6,5]", 16),
    ("-3/8", "[1e-8,4]", 14),
    ("1/16", "[1e-8,4]", 6),
    ("-1/4", "[1e-6,5]", 8),
]


def relative_error(r, low: float, high: float) -> float:
    x = np.exp(np.linspace(math.log(low), math.log(high), 20001))
    return float(np.max(np.abs(np.array([r(v) for v in x]) / x**r.exponent - 1)))


@pytest.mark.parametrize("power, interval, order", CASES)
def test_near_the_best(power: str, interval: str, order: int, tmp_path: Path) -> None:
    low, high = json.loads(interval)
    r = rational_power(float(Fraction(power)), low=low, high=high, order=order, cache=tmp_path / "c.json")
    found = relative_error(r, low, high)
    assert found == pytest.approx(r.error, rel=0.01)
    assert r.order == order
    assert all(b > 0 for b in r.shifts)
    if not DATA:
        pytest.skip("no data")
    gold = json.loads((Path(DATA) / "gold.json").read_text())
    entries = gold["entries"] if "entries" in gold else list(gold.values())
    name = f"rational.x^{power}.{interval}.n{order}"
    (best,) = [e["values"]["minimax_relative_error"] for e in entries if e["id"] == name]
    assert best * 0.999 <= found <= best * 1.04


def test_to_machine_precision(tmp_path: Path) -> None:
    r = rational_power(-0.25, low=1e-4, high=5.0, tolerance=1e-14, cache=tmp_path / "c.json")
    assert r.error <= 1e-14
    assert relative_error(r, 1e-4, 5.0) < 5e-14  # the sum of the poles is rounded in double
    lower = rational_power(-0.25, low=1e-4, high=5.0, order=r.order - 1, cache=tmp_path / "c.json")
    assert lower.error > 1e-14


def exact_error(r: Rational) -> float:
    """Return the largest relative error of the coefficients as they are stored, computed in 40 digits."""
    with mpmath.workdps(40):
        terms = [(mpmath.mpf(a), mpmath.mpf(b)) for a, b in zip(r.residues, r.shifts, strict=True)]
        worst = 0.0
        for t in np.linspace(math.log(r.low), math.log(r.high), 1500)[1:-1]:
            x = mpmath.exp(t)
            value = r.constant + sum(a / (x + b) for a, b in terms)
            worst = max(worst, float(abs(value / x ** mpmath.mpf(r.exponent) - 1)))
    return worst


@pytest.mark.parametrize("exponent, low", [(0.5, 1e-6), (0.25, 1e-6), (-0.5, 1e-4)])
def test_the_error_is_that_of_rounded_coefficients(exponent: float, low: float, tmp_path: Path) -> None:
    """Terms cancel by (high / low)^exponent at the lower end, and their roundings do not."""
    r = rational_power(exponent, low=low, high=5.0, tolerance=1e-13, cache=tmp_path / "c.json")
    found = exact_error(r)
    assert found <= 1.001 * r.error
    assert r.error <= 1.1 * found
    assert (r.error > 1e-13) == (exponent == 0.5)


def test_the_cache_gives_the_same_numbers(tmp_path: Path) -> None:
    cache = tmp_path / "cache" / "rational.json"
    first = rational_power(0.125, low=1e-3, high=7.0, order=5, cache=cache)
    assert cache.exists()
    assert rational_power(0.125, low=1e-3, high=7.0, order=5, cache=cache) == first
    scaled = rational_power(0.125, low=2e-3, high=14.0, order=5, cache=cache)
    assert scaled.error == first.error
    assert scaled(3.0) == pytest.approx(2**0.125 * first(1.5), rel=1e-14)
    cache.write_text("no JSON")
    assert rational_power(0.125, low=1e-3, high=7.0, order=5, cache=cache) == first


@pytest.mark.parametrize("exponent", [-0.99975, -0.9999975])
def test_powers_close_to_one(exponent: float, tmp_path: Path) -> None:
    """The outermost pole leaves the interval by far; once it was not found."""
    r = rational_power(exponent, low=0.01, high=4.0, tolerance=1e-9, cache=tmp_path / "c.json")
    assert r.error < 1e-9
    assert relative_error(r, 0.01, 4.0) < 1.01 * r.error + 1e-15


@pytest.mark.parametrize("content", ["[]", "null", '{"version": 1}', '{"version": 1, "functions": []}'])
def test_a_cache_of_something_else_is_made_anew(content: str, tmp_path: Path) -> None:
    cache = tmp_path / "c.json"
    cache.write_text(content)
    r = rational_power(0.25, low=0.1, high=1.0, order=2, cache=cache)
    assert json.loads(cache.read_text())["functions"]
    assert rational_power(0.25, low=0.1, high=1.0, order=2, cache=cache) == r


def test_a_user_without_a_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In containers there is neither HOME nor an entry in the list of users."""

    def home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", home)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    rational_power(0.25, low=0.1, high=1.0, order=2)
    assert (tmp_path / "trellis" / "rational.json").exists()


def test_the_inverse_is_exact() -> None:
    r = rational_power(-1.0, low=0.1, high=2.0, order=7)
    assert (r.constant, r.residues, r.shifts, r.error) == (0.0, (1.0,), (0.0,), 0.0)


@pytest.mark.parametrize(
    "exponent, arguments, text",
    [
        (0.5, {"low": -1.0, "high": 1.0, "order": 4}, "0 < low < high"),
        (1.5, {"low": 0.1, "high": 1.0, "order": 4}, "exponent"),
        (0.5, {"low": 0.1, "high": 1.0}, "order"),
        (0.5, {"low": 0.1, "high": 1.0, "order": 99}, "99"),
        (0.5, {"low": 0.1, "high": 1.0, "tolerance": 2.0}, "tolerance"),
    ],
)
def test_bad_arguments(exponent: float, arguments: dict, text: str) -> None:
    with pytest.raises(BadArgument, match=text):
        rational_power(exponent, **arguments)


def test_a_tolerance_out_of_reach(tmp_path: Path) -> None:
    with pytest.raises(NumericError, match="order 60"):
        rational_power(0.5, low=1e-300, high=1.0, tolerance=1e-15, cache=tmp_path / "c.json")


@pytest.mark.parametrize(("exponent", "low", "high"), [(-0.5, 0.09, 4.3), (0.25, 0.5, 1.0)])
def test_large_orders_on_short_intervals(exponent: float, low: float, high: float, tmp_path: Path) -> None:
    """Errors of 10^-77 and below take more digits than the 60 of small orders."""
    said: list[str] = []
    with announcing(said.append):
        found = rational_power(exponent, low=low, high=high, order=60, cache=tmp_path / "rational.json")
        again = rational_power(exponent, low=low, high=high, order=60, cache=tmp_path / "rational.json")
    assert found == again
    assert found.order == 60
    assert min(found.shifts) > 0
    assert found.error < 1e-13
    (line,) = said  # the second one was kept
    assert line.startswith(f"computing a rational function of order 60 for x^{exponent:g} on [")


def test_a_search_for_the_order_is_announced_once(tmp_path: Path) -> None:
    said: list[str] = []
    with announcing(said.append):
        found = rational_power(0.25, low=1e-8, high=4.0, tolerance=1e-10, cache=tmp_path / "rational.json")
    (line,) = said
    assert line.startswith("computing a rational function of order ")
    assert line.endswith("; some higher orders may follow")
    assert int(line.split()[6]) < found.order  # others were tried


def test_short_computations_are_not_announced(tmp_path: Path) -> None:
    said: list[str] = []
    with announcing(said.append):
        rational_power(-0.5, low=0.01, high=1.0, order=6, cache=tmp_path / "rational.json")
    assert said == []
