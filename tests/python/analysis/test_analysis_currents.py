"""These tests cover currents beside A and V, exact relations between them, Dirichlet time, autocorrelated
chains, m_res."""

from __future__ import annotations

import numpy as np
import pytest
from test_analysis_charges import EXTENT, as_measurements, ensemble, measured

from trellis.analysis.charges.charge_quality import charge_notes, charge_warnings
from trellis.analysis.charges.charges import fit_charges
from trellis.analysis.charges.nucleon import nucleon_charges
from trellis.analysis.charges.three_point import three_point_charge
from trellis.analysis.masses.residual_mass import plateau_warning, residual_mass
from trellis.analysis.records.measurements import CorrelatorData
from trellis.analysis.records.options import AnalysisOptions
from trellis.report.charge_figures import charge_stability, effective_charges
from trellis.report.style import look


def test_currents_that_follow_others_exactly() -> None:
    """One current is N = t C (the conserved vector current with Dirichlet time), and one is a sum of two
    others.

    The covariance is singular; what is known of the third charge does not change.
    """
    two_point, numerators = ensemble(450, 31)
    alone = fit_charges(two_point, {"A": numerators["A"]}).charges["A"]
    noise = np.random.default_rng(32).standard_normal(two_point.shape)
    for size in (0.0, 1e-6):
        current = two_point * np.arange(EXTENT) * (1 + size * noise)
        found = fit_charges(two_point, {"A": numerators["A"], "V": current})
        assert found.dependent == ("V",)
        assert 0 < found.charges["V"].error < 1e-4
        assert found.charges["V"].value == pytest.approx(1.0, abs=1e-5)
        assert found.charges["A"].value == pytest.approx(alone.value, abs=0.3 * alone.error)
        assert found.charges["A"].error == pytest.approx(alone.error, rel=0.2)
    few = fit_charges(two_point[:30], {"A": numerators["A"][:30], "V": current[:30]})
    assert few.charges["V"].value == pytest.approx(1.0, abs=1e-5)
    combined = numerators | {"S": 0.5 * numerators["A"] + numerators["V"]}
    pair, three = fit_charges(two_point, numerators), fit_charges(two_point, combined)
    assert pair.dependent == ()
    assert three.dependent == ("A", "V", "S")
    expected = 0.5 * three.charges["A"].value + three.charges["V"].value
    assert three.charges["S"].value == pytest.approx(expected, abs=1e-3)
    for name in ("A", "V"):
        assert three.charges[name].value == pytest.approx(
            pair.charges[name].value, abs=0.5 * pair.charges[name].error
        )


def test_windows_with_dirichlet_time_reach_to_the_end_of_the_signal() -> None:
    two_point, numerators = ensemble(1600, 33)
    assert fit_charges(two_point, numerators).windows[0].t_max == EXTENT // 2 - 1
    options = {"max_states": 1, "t_min_last": 2}
    short, open_time = (
        fit_charges(
            two_point[:, :8], {k: N[:, :8] for k, N in numerators.items()}, options=options, boundary_t=b
        )
        for b in ("antiperiodic", "dirichlet")
    )
    assert short.windows[0].t_max == 3
    assert open_time.windows[0].t_max == 7
    sets = as_measurements(two_point[:, :8], {k: N[:, :8] for k, N in numerators.items()})
    sets.correlators["nucleon"].attributes["boundary_t"] = "dirichlet"
    record, _ = nucleon_charges(sets, AnalysisOptions())
    assert record is not None
    assert record.windows[0].t_max == 7


def test_every_current_is_fitted_or_has_a_reason() -> None:
    """Conserved currents and others have fits of their own, which change nothing of A and V."""
    two_point, numerators = ensemble(60, 34)
    a, v = numerators["A"], numerators["V"]
    options = AnalysisOptions(charges={"t_max": 7, "max_states": 1})
    plain, nothing = nucleon_charges(as_measurements(two_point, numerators), options)
    assert nothing == {}
    others = {"V4_conserved": two_point * np.arange(EXTENT), "A3_conserved": 1.1 * a + 0.01 * v}
    others |= {"A1": 0.1 * v + 0.2 * a, "T34": a - 0.1 * v, "P": 1j * a, "V4_q1_0_-1": v}
    sets = as_measurements(two_point, numerators)
    for name, N in others.items():
        for flavour, factor in (("UU", 1.5), ("DD", 0.5)):
            model = sets.correlators["fh_V4_UU"]
            sets.correlators[f"fh_{name}_{flavour}"] = CorrelatorData(
                f"fh_{name}_{flavour}", factor * N[:, None] + 0j, model.momenta, model.source_counts, {}
            )
    record, reasons = nucleon_charges(sets, options)
    assert plain is not None
    assert record is not None
    assert list(record.charges) == ["A", "V", "A_conserved", "V_conserved", "A1", "T34"]
    assert list(record.effective) == list(record.charges)
    assert record.charges["A"] == plain.charges["A"]
    assert record.windows == plain.windows
    assert record.g_a_over_g_v == plain.g_a_over_g_v
    assert list(record.others) == ["conserved", "A1", "T34"]
    conserved = record.others["conserved"]
    assert record.charges["V_conserved"].value == pytest.approx(1, abs=1e-4)
    assert conserved.g_a_over_g_v is not None
    assert conserved.g_a_over_g_v.value == pytest.approx(record.charges["A_conserved"].value, rel=1e-3)
    assert any("N of V_conserved" in note for note in charge_notes(record))
    assert set(reasons) == {"fh_P", "fh_V4_q1_0_-1"}
    assert "imaginary" in reasons["fh_P"]
    assert "momentum transfer 1, 0, -1" in reasons["fh_V4_q1_0_-1"]
    assert any("nucleon charges (conserved): " in words for words in charge_warnings(record))
    with look():
        for figure in (effective_charges(record), charge_stability(record)):
            figure.draw_without_rendering()
    only = {n: c for n, c in sets.correlators.items() if n == "nucleon" or "conserved" in n}
    sets.correlators = only
    alone, _ = nucleon_charges(sets, options)
    assert alone is not None
    assert alone.g_a_over_g_v == conserved.g_a_over_g_v
    assert alone.z_v is None
    sets.correlators["fh_V4_conserved_UU"].values[:] *= 1.5
    wrong, _ = nucleon_charges(sets, options)
    assert wrong is not None
    assert any("of the conserved current is" in words for words in charge_warnings(wrong))


def autoregressive(rng: np.random.Generator, shape: tuple[int, int], tau: float) -> np.ndarray:
    """Return normal noise with the autocorrelation exp(-n / tau) along the first axis."""
    noise, rho = rng.standard_normal(shape), np.exp(-1 / tau)
    for k in range(1, len(noise)):
        noise[k] = rho * noise[k - 1] + np.sqrt(1 - rho**2) * noise[k]
    return noise


def test_three_point_functions_of_an_autocorrelated_chain() -> None:
    """The chain has 200 configurations, tau_exp 5 and 2 tau_int = 10: pulls were 3.2 wide, and 100 widths
    scatter by .07."""
    rng, pulls, naive = np.random.default_rng(35), [], []
    for _ in range(100):
        C = 1 + 0.1 * autoregressive(rng, (200, 9), 5)
        C3 = {6: 1.2 * (1 + 0.1 * autoregressive(rng, (200, 9), 5))}
        found = three_point_charge(C, C3).midpoint
        pulls.append((found.value[0] - 1.2) / found.error[0])
        naive.append((found.value[0] - 1.2) / found.naive_error[0])
    assert 0.8 < np.std(pulls) < 1.3  # the Gamma method's errors of 20 scatter by .2
    assert np.std(naive) > 2.5
    plain = three_point_charge(C, C3, autocorrelations="none").midpoint
    assert plain.error[0] == plain.naive_error[0]
    sets = {"nucleon": C, "three_point_A3_t06": C3[6]}
    chosen = [AnalysisOptions(autocorrelation=choice) for choice in ("auto", "none")]
    auto, none = (nucleon_charges(measured(sets), options)[0].three_point["A"] for options in chosen)
    assert auto.midpoint.error[0] == found.error[0]
    assert none.midpoint.error[0] == found.naive_error[0]


def midpoints(rng: np.random.Generator, count: int, tau: float, extent: int = 24) -> dict[str, np.ndarray]:
    """Return m_res = 2e-3 with a lattice artefact that dies out, and more noise near the source."""
    t = np.arange(extent)
    away = np.minimum(t, extent - t)
    pion = np.exp(-0.3 * away) * (1 + 0.1 * autoregressive(rng, (count, extent), tau))
    noise = 0.05 * (1 + 3 * np.exp(-0.3 * away)) * autoregressive(rng, (count, extent), tau)
    return {"midpoint": 2e-3 * pion * (1 + np.exp(-1.2 * away) + noise), "midpoint_pion": pion}


def test_residual_masses_have_honest_errors() -> None:
    """This test makes 100 experiments for each chain; the artefact at t = 2 is 9 %, 20 times the error.

    What is left of it gave means of .17 and .41, and widths of 1.15 and .99; means scatter by .1.
    """
    rng = np.random.default_rng(36)
    for count, tau in ((40, 0.01), (400, 5.0)):
        pulls = []
        for _ in range(100):
            found = residual_mass(measured(midpoints(rng, count, tau)))
            assert found is not None
            pulls.append((found.value - 2e-3) / found.error)
        assert abs(np.mean(pulls)) < 0.41 + 0.2
        assert 0.75 < np.std(pulls) < 1.3
    sets = measured(midpoints(rng, 400, 5.0))
    plain, aware, binned = (
        residual_mass(sets, AnalysisOptions(autocorrelation=choice, bin_size=size))
        for choice, size in (("none", 1), ("auto", 1), ("none", 20))
    )
    assert aware.error > 2 * plain.error
    assert binned.error > 2 * plain.error
    assert aware.tau_int > 2
    assert plateau_warning(aware) == []


def test_a_residual_mass_without_a_plateau_is_said() -> None:
    rng = np.random.default_rng(37)
    sets = midpoints(rng, 60, 0.01)
    sets["midpoint"] *= 1 + 0.3 * np.cos(0.25 * np.arange(24))
    (words,) = plateau_warning(residual_mass(measured(sets)))
    assert "no plateau" in words
