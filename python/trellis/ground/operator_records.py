"""This module has Dirac operators as numbers, which propagators and low modes remember of the operator that
they belong to."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

#: A parameter is a real number, or complex ones: four boundary phases, or b5 and c5 of each slice.
Parameter = float | tuple[complex, ...]

_PARAMETERS = {
    "WilsonClover": ("mass", "csw", "csw_temporal", "nu", "xi0", "twisted_mass", "boundary"),
    "MoebiusDomainWall": ("mass", "M5", "Ls", "b5", "c5", "nu", "xi0", "boundary"),
    "Staggered": ("mass", "mu_over_ipiT", "flux", "boundary"),
    "HISQ": ("mass", "mu_over_ipiT", "flux", "boundary", "epsilon"),
}
#: Texts leave these parameters out at these values, like versions that know no others.
_OMITTED = {"MoebiusDomainWall": {"nu": 1.0, "xi0": 1.0}}
_LISTS = ("b5", "c5", "boundary", "flux")
#: kappa and mass are the same number up to rounding.
_ROUNDING = 1e-12
#: Links that were stored in 32 bits are still the same links.
_PLAQUETTE_ROUNDING = 1e-7

#: This is said where sequential propagators are asked for without it.
NEEDS_GAMMA5_HERMITICITY = (
    "sequential propagators need S^dagger = gamma5 S gamma5, which does not hold with b5, c5 of single "
    "slices unless b5[Ls - 1 - s] = conj b5[s] (c5 likewise), and with twisted_mass needs the propagator of "
    "the opposite mu as down"
)
#: This is said where one propagator with a twisted mass stands for both flavours.
ONE_TWISTED_FLAVOUR = (
    "up and down both have this twisted mass, and the doublet has +mu and -mu: give the propagator of the "
    "opposite mu as down"
)
#: This is said where mesons are made without it.
MIRRORED_MESONS = (
    "with these coefficients S^dagger is not gamma5 S gamma5, from which mesons take their antiquark: theirs "
    "is that of the mirrored coefficients"
)


def has_mirrored_slices(b5: Sequence[complex], c5: Sequence[complex], Ls: int) -> bool:
    """Return True if S^dagger = gamma5 S gamma5 holds for domain walls with these coefficients.

    There is one b5 (and one c5), or Ls of them.

    It holds if the slices mirror each other (b5[Ls - 1 - s] = conj b5[s], c5 likewise), or if their kernels
    commute (one real b5 - c5) and come in conjugate pairs.
    """
    b5, c5 = (list(n) * Ls if len(n) == 1 else list(n) for n in (b5, c5))
    if all(n == [x.conjugate() for x in reversed(n)] for n in (b5, c5)):
        return True
    differences = [b - c for b, c in zip(b5, c5, strict=True)]
    sums = [b + c for b, c in zip(b5, c5, strict=True)]
    commute = max(abs(d - differences[0].real) for d in differences) < 1e-12
    return commute and all(min(abs(other - x.conjugate()) for other in sums) < 1e-12 for x in sums)


@dataclass(frozen=True)
class OperatorRecord:
    """It has an operator's name, parameters and plaquette.

    Attributes
    ----------
    name : str
        "WilsonClover", "MoebiusDomainWall", "Staggered" or "HISQ".
    parameters : dict
        The parameters that change its solutions, by the names of its arguments.
    plaquette : float
        The plaquette of its links, which tells them from others.
    """

    name: str
    parameters: dict[str, Parameter]
    plaquette: float

    @property
    def is_gamma5_hermitian(self) -> bool:
        """Return True if S^dagger = gamma5 S gamma5 holds for one and the same flavour."""
        return is_gamma5_hermitian(self.name, self.parameters)

    @property
    def has_mirrored_mesons(self) -> bool:
        """Return True where mesons of its propagators have the antiquark of the mirrored coefficients b5 and
        c5."""
        return self.name == "MoebiusDomainWall" and not self.is_gamma5_hermitian

    @property
    def adjoint(self) -> OperatorRecord | None:
        """Return the record of the operator whose propagator is gamma5 S^dagger gamma5.

        It is the record itself, and with a twisted mass that of the opposite mu; it is None if there is no
        such operator.
        """
        if self.is_gamma5_hermitian:
            return self
        mu = self.parameters.get("twisted_mass")
        if not isinstance(mu, int | float):
            return None
        return replace(self, parameters={**self.parameters, "twisted_mass": -mu})

    def difference(self, other: OperatorRecord) -> str:
        """Name the first parameter in which the other differs: "mass = 0.1, not 0.2"; "" if they agree."""
        if self.name != other.name:
            return f"the operator {self.name}, not {other.name}"
        for key, value in self.parameters.items():
            if not _agree(value, other.parameters[key]):
                return f"{key} = {_shown(value)}, not {_shown(other.parameters[key])}"
        return self.links_difference(other)

    def with_parameters_of(self, other: OperatorRecord, names: Iterable[str]) -> OperatorRecord:
        """Return this record with some parameters of another one, where both have them."""
        taken = {n: other.parameters[n] for n in names if n in self.parameters and n in other.parameters}
        return replace(self, parameters={**self.parameters, **taken})

    def links_difference(self, other: OperatorRecord) -> str:
        """Say "links of plaquette 0.58, not 0.59"; return "" if the links are the same."""
        if not abs(self.plaquette - other.plaquette) <= _PLAQUETTE_ROUNDING:
            return f"links of plaquette {self.plaquette:.9f}, not {other.plaquette:.9f}"
        return ""

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{k}={_shown(v)}' for k, v in self.parameters.items())})"

    def to_text(self) -> str:
        """Return the record as JSON for files; complex numbers are [re, im]."""
        omitted = _OMITTED.get(self.name, {})
        parameters = {
            key: [[z.real, z.imag] for z in value] if isinstance(value, tuple) else value
            for key, value in self.parameters.items()
            if not (key in omitted and value == omitted[key])
        }
        return json.dumps({"name": self.name, "parameters": parameters, "plaquette": self.plaquette})

    @classmethod
    def from_text(cls, text: str) -> OperatorRecord:
        """Read the text that :meth:`to_text` wrote.

        Raises
        ------
        ValueError
            The text is no record of an operator.
        """
        try:
            content = json.loads(text)
            name = content["name"]
            found = {**_OMITTED.get(name, {}), **content["parameters"]}
            if set(found) != set(_PARAMETERS[name]):
                raise ValueError
            parameters: dict[str, Parameter] = {}
            for key in _PARAMETERS[name]:
                if key in _LISTS:
                    parameters[key] = tuple(complex(_finite(re), _finite(im)) for re, im in found[key])
                else:
                    parameters[key] = _finite(found[key])
            plaquette = _finite(content["plaquette"])
        except (ValueError, TypeError, KeyError, RecursionError):
            raise ValueError("expected the name, parameters and plaquette of an operator in JSON") from None
        return cls(name, parameters, plaquette)


def is_gamma5_hermitian(name: str, parameters: dict[str, Parameter]) -> bool:
    """Return True if S^dagger = gamma5 S gamma5 holds for one and the same flavour of this operator."""
    if name == "WilsonClover":
        return parameters["twisted_mass"] == 0
    if name != "MoebiusDomainWall":
        return False
    b5, c5, Ls = (parameters[key] for key in ("b5", "c5", "Ls"))
    assert isinstance(b5, tuple)
    assert isinstance(c5, tuple)
    assert not isinstance(Ls, tuple)
    return has_mirrored_slices(b5, c5, int(Ls))


def _finite(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError
    return value


def _agree(first: Parameter, second: Parameter) -> bool:
    a, b = (value if isinstance(value, tuple) else (value,) for value in (first, second))
    if 1 in (len(a), len(b)):  # one coefficient stands for all slices
        a, b = a * max(1, len(b) // len(a)), b * max(1, len(a) // len(b))
    return len(a) == len(b) and all(
        abs(x - y) <= _ROUNDING * max(1, abs(x), abs(y)) for x, y in zip(a, b, strict=True)
    )


def _shown(value: Parameter) -> str:
    if not isinstance(value, tuple):
        return repr(value)
    numbers = [repr(z.real) if z.imag == 0 else str(z) for z in value]
    return numbers[0] if len(numbers) == 1 else f"({', '.join(numbers)})"
