"""This module has boundary conditions of quarks in run files: words, or phases over pi."""

from __future__ import annotations

import cmath
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from .common import LARGEST, Coupling, expecting

#: These words stand for phases over pi.
PHASE_WORDS = {"periodic": 0.0, "antiperiodic": 1.0}


def word_to_phase(value: object) -> object:
    """Replace the word of a phase by its number, so that both ways to write it give the same run."""
    return PHASE_WORDS.get(value, value) if isinstance(value, str) else value


#: This is one direction of a boundary.
Phase = Annotated[
    Coupling,
    BeforeValidator(word_to_phase, json_schema_input_type=Literal["periodic", "antiperiodic"] | float),
    expecting(
        '"periodic", "antiperiodic", or a phase over pi (1: antiperiodic) between '
        f"{-LARGEST:g} and {LARGEST:g}"
    ),
]


def _no_factors(boundary: object) -> object:
    """Refuse factors of other programs, 1 1 1 -1: as phases over pi all of them are antiperiodic."""
    if isinstance(boundary, list | tuple) and -1 in boundary and all(phase in (1, -1) for phase in boundary):
        raise ValueError(
            "expected phases over pi, [0, 0, 0, 1] for quarks that are antiperiodic in t alone, found "
            f"factors of another program, {list(boundary)}"
        )
    return boundary


#: No four of them are the factors of another program.
NotFactors = BeforeValidator(_no_factors)
FourPhases = Annotated[tuple[Phase, Phase, Phase, Phase], Field(strict=False), NotFactors]


def phase_factors(phases: Sequence[float]) -> tuple[complex, ...]:
    """Return exp(i pi phase), exact for 0 and 1."""
    exact = {0.0: 1.0 + 0j, 1.0: -1.0 + 0j}
    return tuple(exact.get(p, cmath.exp(1j * cmath.pi * p)) for p in phases)
