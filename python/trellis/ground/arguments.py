"""These functions check the arguments of users before the compiled core sees them.

Each returns the checked value, or raises BadArgument, which names the argument, what is legal and what was
found.
"""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import BadArgument
from .stout_limits import MOST_RHO

_PHASE_TOLERANCE = 1e-6
T = TypeVar("T")


def real(
    name: str,
    value: Any,
    *,
    least: float | None = None,
    above: float | None = None,
    below: float | None = None,
    most: float | None = None,
) -> float:
    """Return a finite real number that keeps the limits given: it is at least `least`, at most `most`, larger
    than `above` and smaller than `below`."""
    try:
        if isinstance(value, str | bytes):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise BadArgument(f"{name} must be a real number, found {value!r}") from None
    if not math.isfinite(number):
        raise BadArgument(f"{name} must be a finite number, found {value!r}")
    if least is not None and number < least:
        raise BadArgument(f"{name} must be at least {least:g}, found {value!r}")
    if above is not None and not number > above:
        legal = "positive" if above == 0 else f"larger than {above:g}"
        raise BadArgument(f"{name} must be {legal}, found {value!r}")
    if below is not None and not number < below:
        raise BadArgument(f"{name} must be smaller than {below:g}, found {value!r}")
    if most is not None and number > most:
        raise BadArgument(f"{name} must be at most {most:g}, found {value!r}")
    return number


def integer(name: str, value: Any, *, least: int = -(2**31), most: int = 2**31 - 1) -> int:
    """Return a whole number from `least` to `most`; its type has to be an integer type."""
    try:
        number = operator.index(value)
    except TypeError:
        raise BadArgument(f"{name} must be an integer, found {value!r}") from None
    if number < least or number > most:
        raise BadArgument(f"{name} must be an integer from {least} to {most}, found {value!r}")
    return number


def seed(name: str, value: Any) -> int:
    """Return an unsigned integer of 64 bits."""
    return integer(name, value, least=0, most=2**64 - 1)


def integers(name: str, values: Any, count: int, *, least: int = -(2**31)) -> list[int]:
    """Return a list of exactly `count` integers, none of which is below `least`."""
    found = _listed(name, values, count, "integers")
    return [integer(f"{name}[{k}]", value, least=least) for k, value in enumerate(found)]


def momentum(values: Any, name: str = "momentum") -> list[int]:
    """Return the three integers n of a momentum p = 2 pi n / L."""
    return integers(name, values, 3)


def momenta(values: Any) -> list[list[int]]:
    """Return a list of momenta, which has at least one."""
    found = _listed("momenta", values, None, "vectors of three integers")
    if not found:
        raise BadArgument("momenta: at least one vector of three integers is needed, found none")
    return [momentum(n, f"momenta[{k}]") for k, n in enumerate(found)]


def listed(name: str, values: Any, what: str) -> Sequence[Any]:
    """Return the values if they are a list; its entries, which `what` describes, are not checked."""
    return _listed(name, values, None, what)


def phases(values: Any) -> list[complex]:
    """Return fermion boundary phases in x, y, z, t: complex numbers of modulus 1, or 0 (Dirichlet).

    Zeros in x, y and z together are phases over pi, as run files have them.
    """
    found = []
    for mu, value in enumerate(_listed("boundary", values, 4, "phases (x, y, z, t)")):
        try:
            if isinstance(value, str | bytes):
                raise TypeError
            phase = complex(value)
        except (TypeError, ValueError):
            raise BadArgument(f"boundary[{mu}] must be a complex number, found {value!r}") from None
        if phase != 0 and not abs(abs(phase) - 1) <= _PHASE_TOLERANCE:
            raise BadArgument(f"boundary[{mu}] must be a phase, or 0 for Dirichlet, found {value!r}")
        found.append(phase)
    if found[:3] == [0, 0, 0]:
        raise BadArgument(
            "boundary must have factors of modulus 1, (1, 1, 1, -1) for quarks that are antiperiodic in t "
            f"alone, found phases over pi, {tuple(values)}"
        )
    return found


def complex_array(name: str, values: ArrayLike) -> NDArray[np.complex128]:
    """Return contiguous complex numbers; an array that is real, single-precision or strided is copied."""
    if np.ma.is_masked(values):  # NumPy would take the numbers behind the mask
        raise BadArgument(f"{name} must be an array of complex numbers, found one with masked numbers")
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biufc":
            raise TypeError
        return np.ascontiguousarray(array, dtype=np.complex128)
    except (TypeError, ValueError):
        found = f"an array of {values.dtype}" if isinstance(values, np.ndarray) else type(values).__name__
        raise BadArgument(f"{name} must be an array of complex numbers, found {found}") from None


def instance(name: str, value: Any, *kinds: type[T]) -> T:
    """Return the value itself if it is an instance of one of these classes."""
    if not isinstance(value, kinds):
        legal = " or ".join(kind.__name__ for kind in kinds)
        article = "an" if legal[0] in "AEIOU" else "a"
        raise BadArgument(f"{name} must be {article} {legal}, found {type(value).__name__}")
    return value


def choice(name: str, value: Any, *legal: str) -> str:
    """Return the value if it is one of these words."""
    if not isinstance(value, str) or value not in legal:
        words = [f'"{word}"' for word in legal]
        raise BadArgument(f"{name} must be {', '.join(words[:-1])} or {words[-1]}, found {value!r}")
    return value


def file_path(value: Any) -> str:
    """Return the name of a file as a text."""
    try:
        path = os.fsdecode(os.fspath(value))
    except TypeError:
        raise BadArgument(f"path must be the name of a file, found {value!r}") from None
    if not path or "\0" in path:  # the compiled core's names end at the first zero byte
        raise BadArgument(f"path must be the name of a file, found {value!r}")
    try:
        path.encode()
    except UnicodeEncodeError:
        raise BadArgument(f"path must be the name of a file in UTF-8, found {value!r}") from None
    return path


def _listed(name: str, values: Any, count: int | None, what: str) -> Sequence[Any]:
    legal = what if count is None else f"{count} {what}"
    if isinstance(values, str | bytes):
        raise BadArgument(f"{name} must be {legal}, found {values!r}")
    try:
        found = list(values)
    except TypeError:
        raise BadArgument(f"{name} must be {legal}, found {values!r}") from None
    if count is not None and len(found) != count:
        raise BadArgument(f"{name} must be {legal}, found {len(found)}: {values!r}")
    return found


def _stout_weight(name: str, value: Any) -> float:
    weight = real(name, value)
    if abs(weight) > MOST_RHO:
        raise BadArgument(
            f"{name} must be between {-MOST_RHO:g} and {MOST_RHO:g}, found {value!r}: beyond, smearing only "
            "roughens the links"
        )
    return weight


def stout_weights(name: str, rho: Any) -> list[list[float]]:
    """Return rho[mu][nu] of stout smearing, from one weight or from 4 x 4 with zeros on the diagonal."""
    rows = getattr(rho, "tolist", lambda: rho)()
    if not isinstance(rows, list | tuple):
        weight = _stout_weight(name, rows)
        return [[0.0 if mu == nu else weight for nu in range(4)] for mu in range(4)]
    if len(rows) != 4 or any(not isinstance(row, list | tuple) or len(row) != 4 for row in rows):
        raise BadArgument(f"{name}: expected a number or 4 rows of 4 numbers, found {rho!r}")
    weights = [[_stout_weight(f"{name}[{mu}][{nu}]", rows[mu][nu]) for nu in range(4)] for mu in range(4)]
    for mu in range(4):
        if weights[mu][mu] != 0:
            raise BadArgument(
                f"{name}[{mu}][{mu}]: there is no such plane: expected 0, found {weights[mu][mu]:g}"
            )
    return weights
