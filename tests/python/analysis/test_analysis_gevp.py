"""These tests solve the generalised eigenvalue problem for states whose energies and overlaps are known."""

import numpy as np
import pytest

from trellis.analysis import AnalysisError, AnalysisOptions, Correlator, analyze_correlators
from trellis.analysis.correlator import measurements_of
from trellis.analysis.masses.correlators import particle_correlators
from trellis.analysis.masses.gevp import correlator_matrix, effective_energies, eigenvalues
from trellis.report.embed import png_bytes
from trellis.report.page import figure_drawings, render_page
from trellis.report.page_parts import Plot
from trellis.report.style import look

EXTENT, COUNT = 24, 80
ENERGIES = np.array([0.3, 0.65, 1.1])
OVERLAPS = np.array([[1.0, 0.8, -0.4], [0.6, -0.9, 0.7], [-0.3, 0.5, 1.1]])  # [operator, state]
NAMES = [["aa", "ab", "ac"], ["ba", "bb", "bc"], ["ca", "cb", "cc"]]


def shape_in_time(energy, image):
    t = np.arange(EXTENT)
    return np.exp(-energy * t) + image * np.exp(-energy * (EXTENT - t))


def correlators(operators, energies=ENERGIES, image=1, noise=0.0, seed=1):
    """Return C_ij(t) = sum_n psi_in psi_jn f_n(t); each state has noise of its own on every configuration."""
    size = 1 + noise * np.random.default_rng(seed).standard_normal((COUNT, len(energies), EXTENT))
    f = np.array([shape_in_time(e, image) for e in energies])
    values = np.einsum("in,jn,nt,knt->kijt", OVERLAPS, OVERLAPS, f, size)
    kind = {"symmetry": image} if image else {"symmetry": 0, "boundary_t": "dirichlet"}
    return [
        Correlator(NAMES[i][j], values[:, i, j], **kind) for i in range(operators) for j in range(operators)
    ]


def matrix_of(operators, **given):
    measured = measurements_of(correlators(operators, **given))
    known = {c.name: c for c in particle_correlators(measured, AnalysisOptions())}
    return correlator_matrix("x", [row[:operators] for row in NAMES[:operators]], known)


@pytest.mark.parametrize("image", [1, -1, 0])
def test_as_many_operators_as_states_are_exact(image):
    """Here lambda_n = f_n(t) / f_n(t0), energies hold at every pair of times, and vectors are dual to the
    overlaps."""
    matrix = matrix_of(3, image=image)
    f = np.array([shape_in_time(e, image) for e in ENERGIES])
    for t0, t in ((1, 2), (2, 5), (3, 8)):
        values, vectors, responses = eigenvalues(matrix.folded(), t, t0)
        np.testing.assert_allclose(values, f[:, t] / f[:, t0], rtol=1e-9)
        overlaps = OVERLAPS.T @ vectors
        np.testing.assert_allclose(np.abs(overlaps) * np.sqrt(f[:, t0])[:, None], np.eye(3), atol=1e-7)
        np.testing.assert_allclose(responses, np.tile(values, (COUNT, 1)), rtol=1e-9)
        found = effective_energies(matrix, t, t0)
        np.testing.assert_allclose(found.energies, ENERGIES, rtol=1e-7)


def test_the_window_converges_with_the_gap_to_the_first_state_left_out():
    """There are two operators and three states: corrections at t0 = t / 2 fall as exp(-(E_2 - E_n) t)."""
    matrix = matrix_of(2, image=0)
    for n, gap in ((0, ENERGIES[2] - ENERGIES[0]), (1, ENERGIES[2] - ENERGIES[1])):
        errors = np.array(
            [effective_energies(matrix, t, t // 2).energies[n] - ENERGIES[n] for t in range(4, 13, 2)]
        )
        rates = -np.diff(np.log(np.abs(errors))) / 2
        assert rates[-1] == pytest.approx(gap, rel=0.15), n


def test_responses_are_derivatives():
    """One configuration moves by little: eigenvalue and energy move by 1/N of the response's change."""
    matrix = matrix_of(2, noise=0.02)
    samples = matrix.samples.copy()
    before = effective_energies(matrix, 5, 3)
    step = 1e-5
    samples[7] += step * (samples[3] - samples[7])
    moved = effective_energies(type(matrix)("x", samples, matrix.member), 5, 3)
    expected = step * (before.responses[3] - before.responses[7]) / COUNT
    np.testing.assert_allclose(moved.energies - before.energies, expected, rtol=1e-3)
    np.testing.assert_allclose(before.responses.mean(axis=0), before.energies, rtol=1e-9)


@pytest.fixture(scope="module")
def results():
    gevp = {"x": {"matrix": NAMES, "t0": 2, "t_vectors": 4}}
    options = {"gevp": gevp, "particles": ["aa"], "max_states": 1}
    return analyze_correlators(correlators(3, noise=0.01), options=options)


def test_the_key_of_an_analysis_gives_all_states(results):
    found = results.gevp["x"]
    assert len(found.states) == 3
    for n, state in enumerate(found.states):
        particle = results.particles[f"x_{n}"]
        assert abs(particle.mass - ENERGIES[n]) < 4 * particle.mass_error < 0.05
        for energies in (state.energies, state.energies_in_window):
            mean, error = np.array(energies.value), np.array(energies.error)
            assert len(mean) > 3
            # Neighbouring times share noise, so this is no more than a rough look at the pulls.
            assert np.all(np.abs(mean - ENERGIES[n]) < 5 * error)
    assert "x_3" not in results.particles


def test_results_survive_their_file(results, tmp_path):
    results.to_json(tmp_path / "results.json")
    assert type(results).from_json(tmp_path / "results.json") == results


def test_the_report_draws_the_energies(results):
    drawings = figure_drawings(results)
    with look():
        figure = drawings["gevp_x"]()
        picture = png_bytes(figure)
    assert len(picture) > 10000
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["state 0", "state 1", "state 2"]
    page = render_page(results, dict.fromkeys(drawings, Plot("<svg></svg>", "")))
    assert "Generalised eigenvalue problem" in page


def test_errors_of_energies_cover_the_truth():
    pulls = []
    for seed in range(60):
        matrix = matrix_of(3, noise=0.02, seed=seed)
        found = effective_energies(matrix, 4, 2)
        error = found.responses.std(axis=0, ddof=1) / np.sqrt(COUNT)
        pulls.append((found.energies - ENERGIES) / error)
    assert np.all(np.abs(np.mean(pulls, axis=0)) < 0.55)
    assert np.all((np.std(pulls, axis=0) > 0.75) & (np.std(pulls, axis=0) < 1.3))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"t0": 4, "t_vectors": 4}, "expected 0 < t0 < t_vectors <= 12, found t0 = 4 and t_vectors = 4"),
        ({"matrix": [["aa", "ab"], ["ba", "zz"]]}, r"gevp.x: matrix: particles: .* found \['zz'\]"),
        ({"matrix": [["aa", "ab"], ["ba", "bb"], ["ca", "cb"]]}, "expected N rows of N names"),
    ],
)
def test_what_does_not_fit_is_refused(changes, said):
    gevp = {"x": {"matrix": [["aa", "ab"], ["ba", "bb"]], "t0": 2, "t_vectors": 4} | changes}
    with pytest.raises(AnalysisError, match=said):
        analyze_correlators(correlators(3, noise=0.01), options={"gevp": gevp, "particles": ["aa"]})


def test_dependent_operators_are_named():
    """The same operator stands there twice: C(t0) has an eigenvalue of 0."""
    measured = correlators(2, noise=0.01)
    same = {"x": {"matrix": [["aa", "aa"], ["aa", "aa"]], "t0": 2, "t_vectors": 4}}
    options = {"gevp": same, "particles": ["aa"], "max_states": 1}
    found = analyze_correlators(measured, options=options)
    assert "expected a positive matrix at t0 = 2" in found.not_fitted["x"]


def two_operators(factor, imaginary=0.0, symmetry=0):
    """Return C_00, C_01, C_10 = factor C_01 and C_11 of two states, with noise."""
    rng = np.random.default_rng(1)
    t = np.arange(EXTENT)
    shapes = np.exp(-np.outer([0.3, 0.7], t))
    exact = np.einsum(
        "in,jn,nt->ijt", np.array([[1, 0.5], [0.6, -1]]), np.array([[1, 0.5], [0.6, -1]]), shapes
    )
    phase = np.exp(1j * imaginary)
    values = [exact[0, 0], phase * exact[0, 1], factor * np.conj(phase) * exact[0, 1], exact[1, 1]]
    noisy = [v * (1 + 0.003 * rng.standard_normal((COUNT, EXTENT))) for v in values]
    return [
        Correlator(name, v, symmetry=symmetry)
        for name, v in zip(("pp", "pa", "ap", "aa"), noisy, strict=True)
    ]


MATRIX = {"g": {"matrix": [["pp", "pa"], ["ap", "aa"]], "t0": 3, "t_vectors": 6}}


@pytest.mark.parametrize(
    ("factor", "imaginary", "said"),
    [
        (
            -1,
            0.0,
            r"expected C_10 = C_01 within errors, found -?0\.\d+ for ap and .* needs the sign of its adjoint",
        ),
        (0.5, 0.0, r"expected C_10 = C_01 within errors, found .* at t = 1$"),
        (1, 0.4, "expected real correlators, .* found an imaginary part in ap, pa"),
        (1, np.pi / 2, "expected real correlators, .* found an imaginary part in ap, pa"),
    ],
)
def test_a_matrix_that_is_not_symmetric_is_refused(factor, imaginary, said):
    """The mean of C_01 and C_10 = -C_01 is zero: both states would get the energy of the lower one."""
    with pytest.raises(AnalysisError, match=said):
        analyze_correlators(two_operators(factor, imaginary), options={"gevp": MATRIX, "particles": ["pp"]})


def test_noise_does_not_say_the_symmetry_of_an_element():
    """The symmetry of an element without a signal is that of the diagonal."""
    rng = np.random.default_rng(3)
    parts = [shape_in_time(e, 1) * (1 + 0.01 * rng.standard_normal((COUNT, EXTENT))) for e in (0.3, 0.7)]
    for _ in range(6):
        noise = 1e-3 * rng.standard_normal((COUNT, EXTENT))
        every = [Correlator(n, v) for n, v in (("a", parts[0]), ("b", noise), ("c", parts[1]))]
        wanted = {"g": {"matrix": [["a", "b"], ["b", "c"]], "t0": 2, "t_vectors": 4}}
        found = analyze_correlators(every, options={"gevp": wanted, "particles": ["a"]})
        assert abs(found.particles["g_0"].mass - 0.3) < 0.02, found.not_fitted
