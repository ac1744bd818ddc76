"""These tests cover charges from three-point functions with a fixed sink: synthetic ensembles with a known
answer, reasons."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import h5py
import numpy as np
import pytest
from test_analysis_charges import measured

from trellis.analysis import FitFailed, analyze
from trellis.analysis.charges.charge_model import FixedSinkModel
from trellis.analysis.charges.charge_quality import charge_notes, charge_warnings
from trellis.analysis.charges.charges import fit_charges
from trellis.analysis.charges.fixed_sink import fit_fixed_sinks
from trellis.analysis.charges.nucleon import nucleon_charges
from trellis.analysis.records.charge_records import ChargeRecord, NucleonCharges, ThreePointRecord
from trellis.analysis.records.charge_results import ChargeEstimate, ChargeResult
from trellis.analysis.records.errors import AnalysisError
from trellis.analysis.records.measurements import Measurements
from trellis.analysis.records.options import AnalysisOptions
from trellis.analysis.records.record import Series
from trellis.analysis.records.results import Results
from trellis.report.charge_figures import three_point
from trellis.report.page import figure_drawings, render_page
from trellis.report.page_parts import Plot

G_A, G_V, EXTENT, SEPARATIONS = 1.27, 1.05, 16, (3, 5, 7)
ENERGIES, AMPLITUDES = (0.55, 1.05), (1.0, 0.4)
#: These are J_nm of both currents.
CURRENTS = {"A": ((G_A, -0.3), (-0.3, 0.8)), "V": ((G_V, 0.05), (0.05, 1.0))}

Separated = dict[str, dict[int, np.ndarray]]


def exact(current: str, sink: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Return C(t) and C3(t, tau) at all times; `sink`: factor on the excited state's amplitude there."""
    t = np.arange(EXTENT)
    source = np.sqrt(AMPLITUDES)
    at_sink = source * [1.0, sink]
    C = sum(a * b * np.exp(-E * t) for a, b, E in zip(source, at_sink, ENERGIES, strict=True))
    C3 = np.zeros((EXTENT, EXTENT))
    for n, E_n in enumerate(ENERGIES):
        for m, E_m in enumerate(ENERGIES):
            C3 += at_sink[n] * source[m] * CURRENTS[current][n][m] * np.exp(-E_n * (t[:, None] - t) - E_m * t)
    return C, np.where(t <= t[:, None], C3, 0.0)


def ensemble(count: int, seed: int, sink: float = 1.0) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return C and C3 [configuration, t, tau]; noise is as in test_analysis_charges, and correlated in tau
    too.

    There are contact terms at the source and the sink: the sum over tau is N of the Feynman-Hellmann method.
    """
    rng = np.random.default_rng(seed)
    t = np.arange(EXTENT)
    distance = np.abs(t[:, None] - t)
    root, root_tau = np.linalg.cholesky(0.8**distance), np.linalg.cholesky(0.6**distance)
    growing = np.exp(0.12 * t)
    common = 0.05 * (rng.standard_normal((count, EXTENT)) @ root.T) * growing
    inserted = {}
    for name, size, share in (("A", 0.05, 0.7), ("V", 0.02, 0.9)):
        C, C3 = exact(name, sink)
        noise = root @ rng.standard_normal((count, EXTENT, EXTENT)) @ root_tau.T
        own = size * noise * (growing * (1 + 0.1 * t) * C)[:, None]
        values = C3 * (1 + share * common[:, :, None]) + np.where(t <= t[:, None], own, 0.0)
        values[:, t, t] *= 1.5
        values[:, :, 0] *= 1.4
        inserted[name] = values
    return C * (1 + common), inserted


def at(inserted: Mapping[str, np.ndarray], separations: tuple[int, ...] = SEPARATIONS) -> Separated:
    return {name: {t: C3[:, t] for t in separations} for name, C3 in inserted.items()}


def estimates(found: ChargeResult) -> dict[str, ChargeEstimate]:
    assert found.ratio is not None
    return found.charges | {"A/V": found.ratio}


TRUTH = {"A": G_A, "V": G_V, "A/V": G_A / G_V}


@pytest.mark.parametrize("is_symmetric", [True, False])
def test_the_model_is_the_spectral_sum(is_symmetric: bool) -> None:
    """Three states agree with the double sum, and with design times linear parameters."""
    rng = np.random.default_rng(1)
    t, tau = np.array([4, 4, 6, 6, 6]), np.array([1, 2, 1, 2, 3])
    model = FixedSinkModel(["A"], 3, np.arange(1, 8), [t], [tau], is_symmetric)
    p = {"logE0": -0.5, "logA0": 0.3, "loggap": -0.6, "loggap2": -0.9, "r": 0.7, "r2": -0.4}
    g = rng.standard_normal((3, 3))
    g = g + g.T if is_symmetric else g
    p |= {f"{'g' if n == m == 0 else f'g{n}{m}'}_A": g[n, m] for n in range(3) for m in range(3)}
    E = np.cumsum(np.exp([p["logE0"], p["loggap"], p["loggap2"]]))
    C = sum(r * np.exp(-E_n * model.t) for r, E_n in zip((1, 0.7, -0.4), E, strict=True))
    C3 = sum(g[n, m] * np.exp(-E[n] * (t - tau) - E[m] * tau) for n in range(3) for m in range(3))
    expected = np.exp(0.3) * np.concatenate([C, C3])
    np.testing.assert_allclose(model(p), expected, rtol=1e-13)
    theta = np.array([[p["logE0"], p["loggap"], p["loggap2"]]])
    linear = np.exp(0.3) * np.array([1, 0.7, -0.4, *(p[f"{stem}_A"] for stem in model.coefficients)])
    np.testing.assert_allclose(model.design(theta)[0] @ linear, expected, rtol=1e-13)
    assert len(model.coefficients) == (6 if is_symmetric else 9)
    assert model.coefficients[0] == "g"


@pytest.mark.parametrize(("sink", "is_symmetric"), [(1.0, True), (1.0, False), (0.3, False)])
def test_precise_data_have_the_exact_charges(sink: float, is_symmetric: bool) -> None:
    """Noise is a hundredth; two different operators at the ends need a coefficient for each."""
    C, inserted = ensemble(400, 2, sink)
    sets = {}
    for name, C3 in inserted.items():
        exact_C, exact_C3 = exact(name, sink)
        sets[name] = exact_C3 + 0.01 * (C3 - exact_C3)
    C = exact_C + 0.01 * (C - exact_C)
    found = fit_fixed_sinks(C, at(sets), is_symmetric=is_symmetric)
    for name, estimate in estimates(found).items():
        assert estimate.value == pytest.approx(TRUTH[name], abs=1e-3)
        assert abs(estimate.value - TRUTH[name]) < 4 * estimate.error


@pytest.mark.slow
@pytest.mark.usefixtures("without_one_more_state")
def test_pulls_of_fixed_sinks() -> None:
    """This test makes 120 pseudo-experiments on three sizes of ensembles with default options at 19 points,
    and 40 with both methods.

    The mean of 120 pulls scatters by .09, their width by .065; those of 40 scatter by .16 and .11.
    """
    pulls: dict[str, list[float]] = {name: [] for name in TRUTH}
    apart: dict[str, list[float]] = {name: [] for name in TRUTH}
    for count in (420, 840, 1680):
        for seed in range(40):
            C, inserted = ensemble(count, 1000 * count + seed)
            found = fit_fixed_sinks(C, at(inserted))
            assert {window.states for window in found.windows} == {2}
            assert max(window.points for window in found.windows) == 19
            for name, estimate in estimates(found).items():
                pulls[name].append((estimate.value - TRUTH[name]) / estimate.error)
            if count == 840:
                other = fit_charges(C, {name: C3.sum(axis=2) for name, C3 in inserted.items()})
                for name, gap in found.minus(other).items():
                    apart[name].append(gap.value / gap.error)
    for name in TRUTH:
        assert abs(np.mean(pulls[name])) < 0.2, name
        assert abs(np.std(pulls[name], ddof=1) - 1) < 0.2, name
        assert abs(np.mean(apart[name])) < 0.2 + 2 * 0.16, name
        assert abs(np.std(apart[name], ddof=1) - 1) < 0.2 + 2 * 0.11, name


def test_a_third_state_at_short_separations_is_warned_about() -> None:
    """The gap is 1 and r_2 = .5 beside the second state: g_A is too small, by 5 of its errors in the mean."""
    C, inserted = ensemble(450, 12)
    t = np.arange(EXTENT)
    more = 0.5 * np.exp(-1.55 * t)
    third = np.sqrt(0.5) * np.exp(-1.55 * t)
    first = np.exp(-0.55 * t)
    later = np.where(t <= t[:, None], t[:, None] - t, 0)
    cross = 0.2 * (third[later] * first + first[later] * third) + 0.25 * np.exp(-1.55 * t)[:, None]
    inserted["A"] = inserted["A"] + np.where(t <= t[:, None], cross, 0.0)
    found = fit_fixed_sinks(C + more, at({"A": inserted["A"]}))
    assert (found.charges["A"].value - G_A) / found.charges["A"].error < -1.5
    assert any("left in the middle of the largest separation" in words for words in found.warnings)
    assert found.one_more_state["A"].error > 3 * found.charges["A"].error


def test_few_configurations_have_errors_that_cover() -> None:
    """Each width is that of 60 experiments: .17 to .37 for 5 to 16 configurations, and .82 for 40; one state
    alone gave 1.8 for 5."""
    pulls = []
    for count in (5, 16, 40):
        for seed in range(6):
            C, inserted = ensemble(count, 700 + seed)
            found = fit_fixed_sinks(C, at(inserted))
            pulls.append((found.charges["A"].value - G_A) / found.charges["A"].error)
    assert any("correlations are shrunk" in words for words in found.warnings)
    assert np.max(np.abs(pulls)) < 3


def test_contact_terms_are_not_fitted() -> None:
    C, inserted = ensemble(200, 3)
    without = {name: C3.copy() for name, C3 in inserted.items()}
    t = np.arange(EXTENT)
    for C3 in without.values():
        C3[:, t, t] = 0
        C3[:, :, 0] = 0
    for t_min in (0, 1):
        a, b = (fit_fixed_sinks(C, at(x), options={"t_min_first": t_min}) for x in (inserted, without))
        assert a.charges == b.charges


def test_copies_of_configurations_change_no_error() -> None:
    """Each configuration stands four times in a row: 2 tau_int = 4, known to 10 % from 400; correlated errors
    count once."""
    C, inserted = ensemble(400, 4)
    alone = fit_fixed_sinks(C, at(inserted))
    copies = {name: np.repeat(C3, 4, axis=0) for name, C3 in inserted.items()}
    found = fit_fixed_sinks(np.repeat(C, 4, axis=0), at(copies))
    assert found.autocorrelation_factor == pytest.approx(4, rel=0.35)
    for name, charge in alone.charges.items():
        assert found.charges[name].error == pytest.approx(charge.error, rel=0.3)
        assert found.charges[name].value == pytest.approx(charge.value, abs=0.5 * charge.error)


def test_three_states_need_three_separations() -> None:
    C, inserted = ensemble(450, 5)
    options = {"max_states": 3}
    two = fit_fixed_sinks(C, at({"V": inserted["V"]}, (4, 6)), options=options)
    three = fit_fixed_sinks(C, at({"V": inserted["V"]}, (5, 6, 7)), options=options)
    assert {window.states for window in two.windows} == {2}
    assert two.one_more_state == {}
    assert {window.states for window in three.windows} == {2, 3}


@pytest.mark.parametrize(
    ("count", "separations", "options", "words"),
    [
        (60, (4,), {}, r"expected 2 separations from 2 to 7, .* found 1 among \[4\]"),
        (60, (1, 6, 9), {}, r"expected 2 separations from 2 to 7, .* found 1 among \[1, 6, 9\]"),
        (60, (4, 6), {"t_max": 5}, r"expected 2 separations from 2 to 5, .* found 1 among \[4, 6\]"),
        (60, (2, 3), {"t_max": 4}, r"more points than the parameters of 2 states, found 8 points"),
        (4, (4, 6), {}, "expected at least 5 configurations, found 4"),
    ],
)
def test_what_is_too_few_is_said(count: int, separations: tuple[int, ...], options: dict, words: str) -> None:
    C, inserted = ensemble(count, 6)
    with pytest.raises(FitFailed, match=words):
        fit_fixed_sinks(C, at(inserted, separations), options=options)


def test_correlators_without_information_are_named() -> None:
    C, inserted = ensemble(60, 7)
    for change, words in (
        (lambda C3: 0 * C3, "C3 of A at t = 3: expected configurations that differ"),
        (lambda C3: 1e300 * C3, "C3 of A at t = 3: expected numbers between 1e-140 and 1e140"),
    ):
        with pytest.raises(FitFailed, match=words):
            fit_fixed_sinks(C, at(inserted | {"A": change(inserted["A"])}))


def sets_of(C: np.ndarray, inserted: Mapping[str, np.ndarray], separations: tuple[int, ...]) -> dict:
    """Return by dataset the nucleon, both flavours of N, and the isovector C3."""
    sets = {"nucleon": C}
    for current, name in (("A3", "A"), ("V4", "V")):
        N = inserted[name].sum(axis=2)
        sets |= {f"fh_{current}_UU": 1.5 * N, f"fh_{current}_DD": 0.5 * N}
        sets |= {f"three_point_{current}_t{t:02d}": inserted[name][:, t] for t in separations}
    return sets


def test_both_methods_in_one_record() -> None:
    """Both methods give the same charges on the same configurations; separations beyond the signal have a
    reason."""
    C, inserted = ensemble(600, 8)
    record, reasons = nucleon_charges(measured(sets_of(C, inserted, (3, 5, 7, 9))), AnalysisOptions())
    assert record is not None
    sinks = record.fixed_sink
    assert sinks is not None
    expected = fit_fixed_sinks(C, at(inserted, (3, 5, 7, 9)), is_symmetric=False)  # no smearing is named
    assert {name: g.value for name, g in sinks.charges.items()} == {
        name: g.value for name, g in expected.charges.items()
    }
    for name, gap in record.fixed_sink_difference.items():
        pair = [r.g_a_over_g_v if name == "A/V" else r.charges[name] for r in (sinks, record)]
        assert gap.value == pytest.approx(pair[0].value - pair[1].value)
        assert abs(gap.value) < 3 * gap.error
        assert gap.error < np.hypot(pair[0].error, pair[1].error)
    assert list(record.fixed_sink_difference) == ["A", "V", "A/V"]
    left_out = reasons["nucleon charges by fixed sinks, separations 9"]
    assert left_out == "expected separations from 2 to 7, the last time slice of the fits"
    record.fixed_sink_difference["A"] = ChargeRecord(
        value=0.4, error=0.1, statistical_error=0.1, model_error=0.0
    )
    assert any("g_A by fixed sinks differs" in words for words in charge_warnings(record))


def test_conserved_currents_beside_local_ones() -> None:
    """Files list conserved currents first; R of the conserved V is 1 on every configuration."""
    C, inserted = ensemble(400, 77)
    sets = {"nucleon": C}
    for t in SEPARATIONS:
        sets[f"three_point_A3_conserved_t{t:02d}"] = 0.8 * inserted["A"][:, t]
        sets[f"three_point_A3_t{t:02d}"] = inserted["A"][:, t]
        sets[f"three_point_V4_conserved_t{t:02d}"] = np.repeat(C[:, t : t + 1], EXTENT, axis=1)
        sets[f"three_point_V4_t{t:02d}"] = inserted["V"][:, t]
    measurements = measured(sets)
    for name, correlator in measurements.correlators.items():
        correlator.attributes["type"] = "baryon" if name == "nucleon" else "three_point"
    record, reasons = nucleon_charges(measurements, AnalysisOptions())
    assert record is not None
    assert list(record.three_point) == ["A", "V", "A_conserved", "V_conserved"]
    sinks = record.fixed_sink
    assert sinks is not None
    assert list(sinks.charges) == ["A", "V", "A_conserved", "V_conserved"]
    assert list(sinks.others) == ["conserved"]
    local = fit_fixed_sinks(C, at(inserted), is_symmetric=False)
    assert local.ratio is not None
    assert sinks.g_a_over_g_v is not None
    assert sinks.g_a_over_g_v.value == local.ratio.value
    assert sinks.charges["V_conserved"].value == pytest.approx(1, abs=1e-4)
    conserved = sinks.others["conserved"].g_a_over_g_v
    assert conserved is not None
    assert abs(conserved.value - 0.8 * G_A) < 4 * conserved.error
    assert not [key for key in reasons if "fixed sinks" in key]


def test_ends_that_are_smeared_alike_are_averaged() -> None:
    C, inserted = ensemble(60, 9)
    sets = measured(sets_of(C, inserted, SEPARATIONS))
    for correlator in sets.correlators.values():
        correlator.attributes.update(source_smearing="gaussian", sink_smearing="gaussian")
    record, _ = nucleon_charges(sets, AnalysisOptions())
    assert record is not None
    assert record.fixed_sink is not None
    assert max(window.points for window in record.fixed_sink.windows) == 19
    sets.correlators["nucleon"].attributes["sink_smearing"] = "point"
    record, _ = nucleon_charges(sets, AnalysisOptions())
    assert record is not None
    assert record.fixed_sink is not None
    assert max(window.points for window in record.fixed_sink.windows) == 31


def test_reasons_of_a_record_without_a_fit() -> None:
    C, inserted = ensemble(60, 10)
    sets = measured(sets_of(C, inserted, (4,)))
    record, reasons = nucleon_charges(sets, AnalysisOptions())
    assert record is not None
    assert record.fixed_sink is None
    assert "expected 2 separations" in reasons["nucleon charges by fixed sinks"]
    sets = measured(sets_of(C, inserted, SEPARATIONS))
    sets.correlators["three_point_V4_t05"].attributes["sink_momentum"] = [1, 0, 0]
    record, reasons = nucleon_charges(sets, AnalysisOptions())
    assert record is not None
    assert record.fixed_sink is None
    assert "three_point_V4_t05 has a sink of a moving nucleon" in reasons["nucleon charges by fixed sinks"]


def moving_sinks(n: tuple[int, int, int], stored: tuple[tuple[int, int, int], ...]) -> Measurements:
    """Return one state at each momentum, with C3 = g C(p, t) on every configuration: R is g to the last bit.

    C at -p has noise of its own. g_A of a moving nucleon is another matrix element: here it is simply a
    number.
    """
    rng = np.random.default_rng(21)
    t = np.arange(EXTENT)
    at_momentum = {}
    for p in stored:
        energy = np.sqrt(0.55**2 + (2 * np.pi / 8) ** 2 * np.dot(p, p))
        at_momentum[p] = np.exp(-energy * t) * (1 + 0.1 * rng.standard_normal((30, EXTENT)))
    energy = np.sqrt(0.55**2 + (2 * np.pi / 8) ** 2 * np.dot(n, n))
    at_sink = at_momentum.get(n, np.exp(-energy * t) * (1 + 0.1 * rng.standard_normal((30, EXTENT))))
    sets = measured({"nucleon": at_sink})
    nucleon = sets.correlators["nucleon"]
    nucleon.values = np.stack(list(at_momentum.values()), axis=1) + 0j
    nucleon.momenta = np.array(stored)
    for name, g in (("A3", 1.2), ("V4", 1.0)):
        for separation in (4, 6):
            C3 = g * np.repeat(at_sink[:, separation : separation + 1], EXTENT, axis=1)
            dataset = f"three_point_{name}_t{separation:02d}"
            sets.correlators |= measured({dataset: C3}).correlators
            sets.correlators[dataset].attributes["sink_momentum"] = list(n)
    return sets


def test_moving_sinks_are_divided_by_their_own_two_point_function() -> None:
    record, reasons = nucleon_charges(
        moving_sinks((1, 0, 0), ((0, 0, 0), (-1, 0, 0), (1, 0, 0))), AnalysisOptions()
    )
    assert record is not None
    for name, g in (("A", 1.2), ("V", 1.0)):
        found = record.three_point[name]
        assert found.sink_momentum == [1, 0, 0]
        for ratio in found.ratio:
            np.testing.assert_allclose(ratio.value, g, rtol=1e-12)
            np.testing.assert_allclose(ratio.error, 0, atol=1e-12)
        np.testing.assert_allclose(found.midpoint.value, g, rtol=1e-12)
    assert record.three_point_ratio is None  # then R_A is not g_A
    assert any("n = [1, 0, 0] at source and sink of A, V" in words for words in charge_notes(record))
    assert "moving nucleon" in reasons["nucleon charges by fixed sinks"]


def test_along_the_spin_r_is_the_charge() -> None:
    record, _ = nucleon_charges(moving_sinks((0, 0, 1), ((0, 0, 0), (0, 0, 1))), AnalysisOptions())
    assert record is not None
    assert record.three_point_ratio is not None
    np.testing.assert_allclose(record.three_point_ratio.value, 1.2, rtol=1e-12)


def test_moving_sinks_without_their_two_point_function_have_a_reason() -> None:
    record, reasons = nucleon_charges(
        moving_sinks((1, 0, 0), ((0, 0, 0), (-1, 0, 0), (0, 1, 0))), AnalysisOptions()
    )
    assert record is None
    for name in ("A", "V"):
        reason = reasons[f"three-point functions of {name}"]
        assert "has the momentum [1, 0, 0], and R needs C(t) at that momentum" in reason
    sets = moving_sinks((1, 0, 0), ((0, 0, 0), (1, 0, 0)))
    sets.correlators["three_point_A3_t06"].attributes["sink_momentum"] = [0, 0, 0]
    record, reasons = nucleon_charges(sets, AnalysisOptions())
    assert record is not None
    assert list(record.three_point) == ["V"]
    assert reasons["three-point functions of A"].endswith("found [0, 0, 0], [1, 0, 0]")
    sets.correlators["three_point_A3_t06"].attributes["sink_momentum"] = [0, 0.5, 0]
    with pytest.raises(AnalysisError, match=r"sink_momentum: expected three whole numbers, found \[0"):
        nucleon_charges(sets, AnalysisOptions())


@pytest.mark.parametrize("is_stored", [False, True])
def test_files_of_moving_sinks_end_in_a_report(tmp_path: Path, is_stored: bool) -> None:
    stored = ((0, 0, 0), (1, 0, 0)) if is_stored else ((0, 0, 0),)
    sets = moving_sinks((1, 0, 0), stored)
    with h5py.File(tmp_path / "correlators.h5", "w") as file:
        file.attrs.update({"kind": "measurement", "lattice": [8, 8, 8, EXTENT]})
        file["configurations"] = sets.configurations
        for name, data in sets.correlators.items():
            dataset = file.create_dataset(f"correlators/{name}", data=data.values[:, None])
            kind = "baryon" if name == "nucleon" else "three_point"
            dataset.attrs.update({"type": kind, "particle": "nucleon", "boundary_t": "antiperiodic"})
            dataset.attrs["momenta"] = data.momenta.ravel()  # trellis measure writes them so
            dataset.attrs["sink_momentum"] = data.attributes.get("sink_momentum", [0, 0, 0])
    out = tmp_path / "analysis"
    results = analyze(tmp_path, output=out)
    text = (out / "report.html").read_text()
    if is_stored:
        assert results.nucleon_charges is not None
        np.testing.assert_allclose(results.nucleon_charges.three_point["V"].midpoint.value, 1.0, rtol=1e-12)
        assert (out / "plots" / "three_point.png").exists()
        assert "goes to &lt;p|J|p&gt;/(2 E)" in text
    else:
        assert results.nucleon_charges is None
        assert "R needs C(t) at that momentum" in text


def without_first_separation(charge: ThreePointRecord) -> ThreePointRecord:
    midpoint = {name: getattr(charge.midpoint, name)[1:] for name in ("x", "value", "error")}
    parts = {
        "separations": charge.separations[1:],
        "ratio": charge.ratio[1:],
        "midpoint": Series.model_validate(midpoint),
    }
    return charge.model_copy(update=parts)


def page_of(results: Results) -> str:
    return render_page(results, dict.fromkeys(figure_drawings(results), Plot("", "")))


def test_files_of_fixed_sinks_end_in_a_report(tmp_path: Path) -> None:
    C, inserted = ensemble(120, 11)
    for k in range(len(C)):
        with h5py.File(tmp_path / f"correlators.{k:06d}.h5", "w") as file:
            file.attrs.update({"kind": "measurement", "lattice": [8, 8, 8, EXTENT]})
            file["configurations"] = np.array([k])
            for name, values in sets_of(C, inserted, SEPARATIONS).items():
                dataset = file.create_dataset(f"correlators/{name}", data=values[k].reshape(1, 1, 1, -1) + 0j)
                kind = "three_point" if name.startswith("three") else "feynman_hellmann"
                dataset.attrs.update(
                    {
                        "type": "baryon" if name == "nucleon" else kind,
                        "particle": "nucleon",
                        "boundary_t": "antiperiodic",
                        "source_smearing": "point",
                        "sink_smearing": "point",
                    }
                )
    out = tmp_path / "analysis"
    results = analyze(tmp_path, output=out, options={"parity_partner": False})
    record = results.nucleon_charges
    assert record is not None
    assert record.fixed_sink is not None
    ratio = record.fixed_sink.g_a_over_g_v
    assert ratio is not None
    assert abs(ratio.value - G_A / G_V) < 4 * ratio.error
    assert results.g_a_over_g_v_fixed_sink == ratio.value
    assert results.g_a_over_g_v_fixed_sink_error == ratio.error
    assert Results.from_json(out / "results.json") == results
    assert (out / "plots" / "fixed_sink_stability.png").stat().st_size > 5000
    text = (out / "report.html").read_text()
    assert f"<b>{ratio.formatted}</b>, p-value of the fits" in text
    curve = record.fixed_sink.ratio_fit["A"][5]
    points = record.three_point["A"].ratio[1]
    assert (curve.x[0], curve.x[-1]) == (-1.5, 1.5)
    assert abs(curve.value[0] - points.value[1]) < 4 * points.error[1]
    figure = three_point(record)
    panel = figure.axes[0]
    assert [patch.get_label() for patch in panel.patches] == ["Feynman-Hellmann", "fixed sinks"]
    assert panel.get_title(loc="left") == f"fixed sinks: {record.fixed_sink.charges['A'].formatted}"
    assert NucleonCharges.model_validate_json(record.model_dump_json()) == record
    record.three_point["A"] = without_first_separation(record.three_point["A"])
    rows = re.findall(r'<tr><td class="number">(\d+)</td><td>([^<]*)</td><td>([^<]*)</td>', page_of(results))
    assert [int(t) for t, *_ in rows] == list(SEPARATIONS)
    assert rows[0][1] == ""
    assert "(" in rows[0][2]
