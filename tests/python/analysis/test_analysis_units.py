"""These tests cover physical units: the numbers of the formula, errors carried through, and where a reader
sees them."""

import io
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from trellis.analysis import AnalysisError, Correlator, Results, analyze_correlators
from trellis.analysis.physical_units import scale_result
from trellis.analysis.records.online_records import FlowResult, StreamResult, ValueRecord
from trellis.analysis.records.record import Series
from trellis.analysis.records.scale_records import HBAR_C, ScaleOptions
from trellis.analysis.synthetic import PION
from trellis.commands.analysis_summary import print_summary
from trellis.ground.errors import RunFileError
from trellis.report.page import render_page
from trellis.report.page_parts import Plot

A, A_ERROR = 0.09, 0.0018


@pytest.fixture(scope="module")
def results():
    samples = PION.samples(60, 16, np.random.default_rng(4))
    pion = Correlator("pion", samples, symmetry=1, lattice=(8, 8, 8, 16))
    options = {"max_states": 1, "scale": {"quantity": "a", "fm": [A, A_ERROR]}}
    return analyze_correlators([pion], options=options)


def test_the_constant_is_that_of_codata():
    """The constant hbar c follows from the defined h, c and e."""
    h, c, e = 6.62607015e-34, 299792458.0, 1.602176634e-19
    assert pytest.approx(h / (2 * np.pi) * c / e * 1e9, rel=1e-9) == HBAR_C


def test_masses_in_mev(results):
    pion = results.particles["pion"]
    physical = pion.physical
    assert physical.mev == pytest.approx(pion.mass * 197.3269804 / A, rel=1e-14)
    own, of_scale = pion.mass_error / pion.mass, A_ERROR / A
    assert physical.own_error == pytest.approx(physical.mev * own, rel=1e-12)
    assert physical.scale_error == pytest.approx(physical.mev * of_scale, rel=1e-12)
    assert physical.error == pytest.approx(physical.mev * np.sqrt(own**2 + of_scale**2), rel=1e-12)
    assert results.scale.inverse_a_gev == pytest.approx(0.1973269804 / A)
    assert results.scale.extents_fm == pytest.approx((0.72, 0.72, 0.72, 1.44))


def test_a_scale_in_both_units():
    """With w0 = 0.1736(9) fm and w0 / a = 1.80(2), relative errors add in quadrature."""
    wanted = ScaleOptions(quantity="w0", fm=(0.1736, 0.0009), lattice_units=(1.8, 0.02))
    found = scale_result(wanted, None, (0, 0, 0, 16))
    assert found.a_fm == pytest.approx(0.1736 / 1.8)
    assert found.a_fm_error / found.a_fm == pytest.approx(np.hypot(0.0009 / 0.1736, 0.02 / 1.8))
    assert found.extents_fm is None


@pytest.mark.parametrize(("quantity", "expected"), [("sqrt_t0", (1.5, 0.01)), ("w0", (1.9, 0.02))])
def test_the_flow_of_the_stream_gives_the_scale(quantity, expected):
    flow = FlowResult(
        count=9,
        t2_energy=Series(x=[], value=[], error=[]),
        t0=ValueRecord(value=2.25, error=0.03),
        w0=ValueRecord(value=1.9, error=0.02),
    )
    wanted = ScaleOptions(quantity=quantity, fm=(0.15, 0.0))
    found = scale_result(wanted, StreamResult(flow=flow), (8, 8, 8, 16))
    assert found.lattice_units == pytest.approx(expected)
    assert found.a_fm == pytest.approx(0.15 / expected[0])


def test_a_reader_sees_the_units(results):
    text = io.StringIO()
    print_summary(results, Path("out"), Console(file=text, width=120))
    assert "MeV" in text.getvalue()
    assert results.particles["pion"].physical.formatted in text.getvalue()
    assert "a = 0.0900(18) fm" in text.getvalue()
    plots = dict.fromkeys(["correlators", "effective_masses", "fit_pion"], Plot("<svg></svg>", ""))
    page = render_page(results, plots)
    assert results.particles["pion"].physical.formatted in page
    assert "0.0900(18)" in page
    assert Results.model_validate_json(results.model_dump_json()) == results


@pytest.mark.parametrize(
    ("scale", "said"),
    [
        ({"quantity": "w0", "fm": [0.17, 0.0]}, r"expected lattice_units = \[w0 / a, error\]"),
        (
            {"quantity": "a", "fm": [0.1, 0.0], "lattice_units": [1.0, 0.0]},
            "expected no lattice_units for a itself",
        ),
        ({"quantity": "a", "fm": [0.0, 0.0]}, "greater than 0"),
        ({"quantity": "a", "fm": [0.1, -0.1]}, "greater than or equal to 0"),
        ({"quantity": "rho", "fm": [0.1, 0.0]}, "quantity"),
    ],
)
def test_scales_that_cannot_be_are_refused(scale, said):
    pion = Correlator("pion", PION.samples(20, 16, np.random.default_rng(1)), symmetry=1)
    with pytest.raises((AnalysisError, RunFileError), match=said):
        analyze_correlators([pion], options={"max_states": 1, "scale": scale})
