"""Mistakes in run files with sea quarks are refused with their line and key."""

from __future__ import annotations

import re

import pytest
from test_run_files import STAGGERED

from trellis.errors import RunFileError
from trellis.run_files import HmcRun, parse_run_file


@pytest.mark.parametrize(
    "old, new, expected",
    [
        (
            "mass = 0.5",
            "mass = 1e-200",
            "run file:9: fermions.0.mass: the spectrum begins at its square, which",
        ),
        (
            "mass = 0.5",
            "mass = 0.5\nrational = { tolerance = 1e-20 }",
            "run file:10: fermions.0.rational.tolerance: Input should be greater than or equal to 0.00000",
        ),
        (
            "mass = 0.5",
            "mass = 0.5\nrational = { heat_bath_tolerance = 1e-20 }",
            "run file:10: fermions.0.rational.heat_bath_tolerance: Input should be greater than or equal to",
        ),
        (
            "[output]",
            "[measure.loops]\ntemporal = 9\n[output]",
            "run file:19: measure.loops.temporal: longer than the lattice, 4; found 9",
        ),
        (
            "[output]",
            "[hisq]\nforce_cut = 1e-4\n[output]",
            "run file:18: hisq: no flavour of [[fermions]] has type hisq",
        ),
    ],
)
def test_keys_of_sea_quarks_have_their_lines(old: str, new: str, expected: str) -> None:
    with pytest.raises(RunFileError, match=re.escape(expected)):
        parse_run_file(STAGGERED.replace(old, new), HmcRun)


def test_smearing_beside_hisq_alone_has_its_line() -> None:
    text = STAGGERED.replace('type = "staggered"', 'type = "hisq"')
    text = text.replace("[output]", "[smearing]\nstout = { rho = 0.1, steps = 1 }\n[output]")
    with pytest.raises(RunFileError, match=r"^run file:18: smearing: HISQ flavours have their own smearing"):
        parse_run_file(text, HmcRun)


def test_a_residual_of_heat_baths_that_are_not_rational() -> None:
    text = STAGGERED.replace("[output]", "[metropolis]\nheat_bath_tolerance = 1e-9\n[output]")
    assert parse_run_file(text, HmcRun).metropolis.of_rational_heat_baths == 1e-9
    text = text.replace('type = "staggered"\nn_f = 2\nmass = 0.5', 'type = "wilson"\nn_f = 2\nmass = 0.5')
    with pytest.raises(
        RunFileError, match=r"^run file:19: metropolis.heat_bath_tolerance: no flavour has a h"
    ):
        parse_run_file(text, HmcRun)


def test_a_name_has_no_end_of_line() -> None:
    text = STAGGERED.replace('monomials = ["gauge"', 'monomials = ["gauge\\n"')
    assert text != STAGGERED
    with pytest.raises(RunFileError, match="a name consists of letters, digits, _ and -"):
        parse_run_file(text, HmcRun)
