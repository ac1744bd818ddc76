"""These base classes define how fields, operators and solvers take part in Python's protocols for arrays,
copies and pickles."""

from __future__ import annotations

import copy
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray


class NotPickled:
    """This is the base class of objects that cannot be pickled, nor copied unless a subclass defines it.

    A TypeError says what to do instead. The compiled part holds the data, and only this process has it.
    """

    #: The message of the TypeError ends with this.
    _instead: ClassVar[str] = "make them again in the same way"
    _verbs: ClassVar[str] = "pickled"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(f"{type(self).__name__} objects cannot be {self._verbs}: {self._instead}")


class NotCopied(NotPickled):
    """This is the base class of objects whose state changes, and whose compiled part cannot be copied."""

    _verbs = "copied or pickled"


class SharedByCopies(NotPickled):
    """This is the base class of objects whose compiled part never changes: copies share it."""

    def __copy__(self) -> Self:
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__)
        return new

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        new = self.__copy__()
        memo[id(self)] = new
        for name, value in self.__dict__.items():
            is_compiled = type(value).__module__.endswith("._core")
            new.__dict__[name] = value if is_compiled else copy.deepcopy(value, memo)
        return new


class NoArray:
    """This is the base class of objects that are no arrays; np.asarray of one raises a TypeError.

    Without it NumPy makes an array with the object as its only entry.
    """

    _no_array: ClassVar[str]

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        raise TypeError(f"{type(self).__name__} objects are no arrays: {self._no_array}")


def array_of(
    values: NDArray[np.complex128], name: str, dtype: DTypeLike | None, copy: bool | None
) -> NDArray[Any]:
    """Return the result of a field's __array__; `values` are a copy already.

    Raises
    ------
    ValueError
        copy=False, as NumPy wants it.
    """
    if copy is False:
        raise ValueError(f"np.asarray(..., copy=False): the numbers of a {name} are always copied")
    return values if dtype is None else values.astype(dtype, copy=False)
