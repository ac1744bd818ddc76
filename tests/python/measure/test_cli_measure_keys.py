"""These tests compare trellis measure with exact relations: keys of solvers, boundaries, sources and
channels."""

from __future__ import annotations

import json
from pathlib import Path

import h5py
import numpy as np
import pytest
from command_line import run

import trellis as tr

MEASURE = """\
[configurations]
files = "field.1.ildg"
[fermion]
{fermion}
[solver]
{solver}
[source]
positions = [[1, 2, 3, 2]]
{source}
{further}
[correlators]
{correlators}
[output]
directory = "{folder}"
{output}
"""
PION = 'mesons = ["pion"]\nbaryons = []'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("measured")
    tr.quenched(lattice=(4, 4, 4, 4), beta=5.7, seed=4, sweeps=5).write(folder / "field.1.ildg", "ildg")
    return folder


@pytest.fixture(scope="module")
def U(folder: Path) -> tr.GaugeField:
    return tr.read_gauge_field(folder / "field.1.ildg")


def measure(folder: Path, name: str, *, field: str = "field", **tables: str) -> Path:
    """Return the result of a run file with these lines in its tables."""
    lines = {key: tables.get(key, "") for key in ("fermion", "source", "output", "further")}
    lines |= {"solver": tables.get("solver", "tolerance = 1e-11"), "correlators": tables["correlators"]}
    if "mass" not in lines["fermion"]:
        lines["fermion"] += '\ntype = "clover"\nkappa = 0.125\ncsw = 1.2'
    text = MEASURE.format(folder=name, **lines).replace("field.1", f"{field}.1")
    (folder / f"{name}.toml").write_text(text)
    run("measure", f"{name}.toml", cwd=folder)
    return folder / name / "correlators.000001.h5"


def correlator(path: Path, name: str) -> np.ndarray:
    with h5py.File(path) as file:
        return file[f"correlators/{name}"][0, 0]


@pytest.mark.parametrize(
    "lines, solver, default",
    [
        (
            'type = "gcr"\nrestart_length = 2\ninner_precision = "double"',
            tr.gcr(restart_length=2),
            tr.gcr(),
        ),
        ('type = "mr"\nrelaxation = 0.6\ninner_precision = "double"', tr.mr(relaxation=0.6), tr.mr()),
        (
            'type = "cg"\nupdate_threshold = 0.001\ninner_precision = "half"',
            tr.mixed_precision(tr.cg(), inner="half", update_threshold=0.001),
            tr.mixed_precision(tr.cg(), inner="half"),
        ),
        (
            'type = "gcr"\npreconditioner.type = "mr"\npreconditioner.iterations = 3\n'
            'preconditioner.preconditioner = { type = "gcr", iterations = 2 }\n'
            'inner_precision = "double"',
            tr.gcr(preconditioner=tr.mr(iterations=3, preconditioner=tr.gcr(iterations=2))),
            tr.gcr(),
        ),
    ],
    ids=["restart_length", "relaxation", "update_threshold", "preconditioner"],
)
def test_keys_of_solvers(
    folder: Path, U: tr.GaugeField, lines: str, solver: tr.Solver, default: tr.Solver
) -> None:
    """A run file takes as many iterations as the library does, and not those of the default."""
    path = measure(folder, lines.split("\n")[1].split()[0], solver=lines, correlators=PION)
    M = tr.WilsonClover(U, kappa=0.125, csw=1.2)
    source = tr.point_source(U.geometry, (1, 2, 3, 2))
    reports = [tr.even_odd(method)(M).propagator(source).report for method in (solver, default)]
    with h5py.File(path) as file:
        found = file["solves/iterations"][0, 0]
    expected, other = (report.iterations for report in reports if report is not None)
    assert found == expected
    assert found != other


GAMMA_X = np.array([[0, 0, 0, 1j], [0, 0, 1j, 0], [0, -1j, 0, 0], [-1j, 0, 0, 0]])
GAMMA_Y = np.array([[0, 0, 0, -1], [0, 0, 1, 0], [0, 1, 0, 0], [-1, 0, 0, 0]], dtype=complex)
GAMMA_Z = np.array([[0, 0, 1j, 0], [0, 0, 0, -1j], [-1j, 0, 0, 0], [0, 1j, 0, 0]])
GAMMA_T = np.array([[0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 0]], dtype=complex)
GAMMA_5 = GAMMA_X @ GAMMA_Y @ GAMMA_Z @ GAMMA_T
EPSILON = np.zeros((3, 3, 3))
for i in range(3):
    EPSILON[i, (i + 1) % 3, (i + 2) % 3], EPSILON[i, (i + 2) % 3, (i + 1) % 3] = 1, -1


def test_kappas_of_doublers_are_warned_about(folder: Path) -> None:
    """A kappa of 1.2 for 0.12 solves for light doublers, or for nothing at all; masses of an overlap's kernel
    pass."""
    fermion = 'type = "wilson"\nkappa = 0.2\nstrange_kappa = 1.2\nboundary = [0, 0, 0, 0.5]'
    lines = {"source": "", "output": "", "further": "", "solver": "max_iterations = 1", "correlators": PION}
    (folder / "misprint.toml").write_text(MEASURE.format(folder="misprint", fermion=fermion, **lines))
    said = run("measure", "misprint.toml", cwd=folder, status=1).stderr
    assert "warning: fermion.strange_kappa = 1.2 is a mass of -3.583; quarks have kappa near 1/8" in said
    assert "fermion.kappa" not in said


def test_masses_at_the_place_of_kappa_are_warned_about(folder: Path) -> None:
    fermion = 'type = "wilson"\nkappa = 0.02'
    lines = {"source": "", "output": "", "further": "", "solver": "max_iterations = 1", "correlators": PION}
    (folder / "mass.toml").write_text(MEASURE.format(folder="mass", fermion=fermion, **lines))
    said = run("measure", "mass.toml", cwd=folder, status=1).stderr
    assert "warning: fermion.kappa = 0.02 is a mass of 21: the quark hardly moves" in said


def test_anisotropic_domain_walls(folder: Path, U: tr.GaugeField) -> None:
    """The keys of Wilson quarks are taken, and a warning is said once where the walls bind doublers."""
    fermion = 'type = "domain_wall"\nmass = 0.4\nLs = 4\nM5 = 1.3\nnu = 0.9\nxi0 = 1.5'
    lines = {"source": "", "output": "", "further": "", "solver": "tolerance = 1e-11", "correlators": PION}
    (folder / "walls.toml").write_text(MEASURE.format(folder="walls", fermion=fermion, **lines))
    said = run("measure", "walls.toml", cwd=folder).stderr
    assert said.count("M5 = 1.3 is not below 2 nu / xi0 = 1.2") == 1
    with pytest.warns(UserWarning, match="doublers"):
        M = tr.MoebiusDomainWall(U, mass=0.4, Ls=4, M5=1.3, nu=0.9, xi0=1.5)
    S = tr.even_odd(tr.cg(tolerance=1e-11))(M).propagator(tr.point_source(U.geometry, (1, 2, 3, 2)))
    with h5py.File(folder / "walls" / "correlators.000001.h5") as file:
        dataset = file["correlators/pion"]
        assert (dataset.attrs["nu"], dataset.attrs["xi0"]) == (0.9, 1.5)
        np.testing.assert_allclose(dataset[0, 0], tr.meson(S, S, "gamma5", "gamma5"), rtol=1e-9)


def octet(q1: np.ndarray, q2: np.ndarray, parity: int, time: int) -> np.ndarray:
    """Return sum_x tr[(1 + parity gamma_t)/2 < B Bbar >] at rest, B = eps (q1^T C gamma5 q2) q1, by all Wick
    contractions; time counts from the source, without the sign of three antiperiodic quarks."""
    G = GAMMA_Y @ GAMMA_T @ GAMMA_5
    # The mean is < q q^dagger > = S gamma_t, with [site of a time slice, spin, spin', colour, colour'].
    T1, T2 = (
        np.einsum("tnijab,jk->tnikab", S.reshape(4, 64, 4, 4, 3, 3), GAMMA_T, optimize=True) for S in (q1, q2)
    )
    D = np.einsum("ij,tnjlbe,kl->tnikbe", G, T2, G.conj(), optimize=True)  # indices of the first quark
    colours = np.einsum("abc,def->abcdef", EPSILON, EPSILON)
    direct = np.einsum("abcdef,tnikad,tnikbe,tngpcf->tgp", colours, T1, D, T1, optimize=True)
    exchange = np.einsum("abcdef,tnipaf,tnikbe,tngkcd->tgp", colours, T1, D, T1, optimize=True)
    projector = GAMMA_T @ (np.eye(4) + parity * GAMMA_T) / 2
    values = np.einsum("pg,tgp->t", projector, direct - exchange)
    values[:time] *= -1  # these times wrapped around
    return np.roll(values, -time)


def test_baryons_of_negative_parity(folder: Path, U: tr.GaugeField) -> None:
    """The results agree with a contraction in NumPy that shares nothing with the library's."""
    baryons = ["nucleon", "sigma", "nucleon_negative", "sigma_negative", "delta_negative", "omega_negative"]
    path = measure(
        folder,
        "negative",
        fermion="strange_kappa = 0.12",
        correlators=f"mesons = []\nbaryons = {baryons}".replace("'", '"'),
        output="propagators = true",
    )
    quarks = {}
    for name, stem in (("light", "propagator"), ("strange", "propagator_strange")):
        with h5py.File(path.parent / f"{stem}.000001.0.h5") as file:
            quarks[name] = file["propagator"][()]
    light, strange = quarks["light"], quarks["strange"]
    for name, q2, parity in (
        ("nucleon", light, 1),
        ("nucleon_negative", light, -1),
        ("sigma", strange, 1),
        ("sigma_negative", strange, -1),
    ):
        expected, found = octet(light, q2, parity, time=2), correlator(path, name)[0]
        assert np.abs(found - expected).max() < 1e-10 * np.abs(expected).max(), name
    assert correlator(path, "nucleon_negative")[0, 1].real < 0 < correlator(path, "nucleon")[0, 1].real
    S, strange_quark = (
        tr.even_odd(tr.cg(tolerance=1e-12))(tr.WilsonClover(U, kappa=kappa, csw=1.2)).propagator(
            tr.point_source(U.geometry, (1, 2, 3, 2))
        )
        for kappa in (0.125, 0.12)
    )
    for name, expected in (
        ("delta_negative", tr.baryon("delta_plus_plus", up=S, form="projected", parity=-1)),
        ("omega_negative", tr.baryon("omega_minus", strange=strange_quark, parity=-1)),
    ):
        found = correlator(path, name)
        assert np.abs(found - expected).max() < 1e-8 * np.abs(expected).max(), name
    assert np.array_equal(
        tr.baryon("nucleon_negative", up=S, down=S), tr.baryon("proton", up=S, down=S, parity=-1)
    )
    assert np.array_equal(
        tr.baryon("nucleon_negative", up=S, down=S, parity=1), tr.baryon("proton", up=S, down=S)
    )
    with h5py.File(path) as file:
        attributes = [dict(file[f"correlators/{name}"].attrs) for name in ("nucleon", "sigma_negative")]
    assert [a["parity"] for a in attributes] == [1.0, -1.0]
    assert [a["particle"] for a in attributes] == ["nucleon", "sigma_negative"]
    assert "strange_mass" in attributes[1]


def with_phases(U: tr.GaugeField, angles: tuple[float, ...]) -> tr.GaugeField:
    """Return links times exp(i angle) on the last slice of each direction."""
    links = U.to_numpy()  # the indices are [t, z, y, x, mu, row, column]
    for mu, angle in enumerate(angles):
        last = [slice(None)] * 5
        last[3 - mu], last[4] = -1, mu
        links[tuple(last)] *= np.exp(1j * angle)
    return tr.GaugeField.from_numpy(links, check=False)


@pytest.mark.parametrize("operator", [tr.WilsonClover, tr.MoebiusDomainWall, tr.Staggered])
def test_phases_of_operators_are_those_of_links(U: tr.GaugeField, operator: type) -> None:
    """Phases are complex ones in all directions, with a clover term, that has plaquettes only."""
    angles = (0.3, -1.1, 2.0, 0.7)
    arguments = {"mass": 0.2, "link_reals": 18}
    if operator is tr.WilsonClover:
        arguments |= {"csw": 1.1, "twisted_mass": 0.1}
    M = operator(U, boundary=tuple(np.exp(1j * np.array(angles))), **arguments)
    N = operator(with_phases(U, angles), boundary=(1, 1, 1, 1), **arguments)
    shape = (4, 4, 4, 4, 3) if operator is tr.Staggered else (4, 4, 4, 4, 4, 3)
    if operator is tr.MoebiusDomainWall:
        shape = (M.Ls, *shape)
    psi = np.random.default_rng(1).normal(size=(*shape, 2)) @ (1, 1j)
    expected, found = N.apply(psi), M.apply(psi)
    assert np.abs(found - expected).max() < 1e-13 * np.abs(psi).max()
    assert np.abs(found - operator(U, **arguments).apply(psi)).max() > 0.01


@pytest.mark.parametrize("fermion", ["clover", "domain_wall"])
def test_thirds_of_a_turn_are_links_of_the_centre(folder: Path, U: tr.GaugeField, fermion: str) -> None:
    """The phases boundary = [2/3, 0, -2/3, 1] give the periodic run on links times exp(+-2 pi i/3), baryons
    too."""
    turn = 2 * np.pi / 3
    with_phases(U, (turn, 0, -turn)).write(folder / "centre.1.ildg", "ildg")
    keys = 'type = "domain_wall"\nLs = 4\nmass = 0.2' if fermion == "domain_wall" else ""
    tables = {"correlators": 'mesons = ["pion", "rho"]\nbaryons = ["nucleon"]\nmax_momentum_squared = 1'}
    results = [
        measure(
            folder,
            f"{fermion}_{name}",
            fermion=f"{keys}\n{boundary}",
            field=field,
            **tables,
        )
        for name, boundary, field in (
            ("centre", "", "centre"),
            ("thirds", "boundary = [0.66666666666666667, 0, -0.66666666666666667, 1]", "field"),
            ("periodic", "", "field"),
        )
    ]
    for name in ("pion", "rho_x", "nucleon"):
        expected, found, other = (correlator(path, name) for path in results)
        largest = np.abs(expected).max()
        assert np.abs(found - expected).max() < 1e-7 * largest, name
        assert np.abs(found - other).max() > 1e-4 * largest, name
    with h5py.File(results[1]) as file:
        assert [float(x) for x in file["correlators/pion"].attrs["boundary_space"].split()] == [
            2 / 3,
            0,
            -2 / 3,
        ]


def test_any_phases_in_space(folder: Path, U: tr.GaugeField) -> None:
    path = measure(folder, "phases", fermion="boundary = [0.3, 0.0, 1.0, 1.0]", correlators=PION)
    M = tr.WilsonClover(U, kappa=0.125, csw=1.2, boundary=(np.exp(0.3j * np.pi), 1, -1, -1))
    S = tr.even_odd(tr.cg(tolerance=1e-12))(M).propagator(tr.point_source(U.geometry, (1, 2, 3, 2)))
    expected = tr.meson(S, S, "gamma5", "gamma5")
    assert np.abs(correlator(path, "pion") - expected).max() < 1e-8 * np.abs(expected).max()


def test_a_number_in_time_is_the_word(folder: Path) -> None:
    """A phase of -1, 1 or 3 in time has the bits of antiperiodic, and 0 has those of periodic: both are one
    run."""
    tables = {"correlators": 'mesons = ["pion"]\nbaryons = ["nucleon"]'}

    def result(name: str, boundary: str) -> Path:
        return measure(folder, name, fermion=f"boundary = [0, 0, 0, {boundary}]", **tables)

    for word, numbers in (("antiperiodic", ("-1", "1.0", "3")), ("periodic", ("0", "-2.0"))):
        expected = result(word, f'"{word}"')
        for i, number in enumerate(numbers):
            found = result(f"{word}_{i}", number)
            with h5py.File(expected) as first, h5py.File(found) as second:
                for name in first["correlators"]:
                    old, new = first[f"correlators/{name}"], second[f"correlators/{name}"]
                    assert new[()].tobytes() == old[()].tobytes()
                    assert new.attrs["boundary_t"] == old.attrs["boundary_t"] == word
                physics = [json.loads(file.attrs["physics"])["fermion"] for file in (first, second)]
                assert physics[0] == physics[1]


@pytest.mark.parametrize("fermion", ["clover", "domain_wall"])
def test_a_phase_in_time_is_that_of_links(folder: Path, U: tr.GaugeField, fermion: str) -> None:
    """A phase of 0.3 in time is the periodic operator of links times exp(0.3 pi i), but for what is taken out
    of baryons that wrapped around, the phase of three quarks; low modes, smearing and currents included."""
    is_wilson = fermion == "clover"
    keys = (
        "boundary = [0, 0, 0, 0.3]"
        if is_wilson
        else 'boundary = [0, 0, 0, 0.3]\ntype = "domain_wall"\nLs = 4\nmass = 0.2'
    )
    modes = "[deflation]\nmodes = 4\ntolerance = 1e-6\n" if is_wilson else ""
    path = measure(
        folder,
        f"{fermion}_phase",
        fermion=keys,
        correlators='mesons = ["pion"]\nbaryons = ["nucleon"]',
        source='type = "gaussian"\nwidth = 1.0\nsteps = 2',
        further=modes + '[feynman_hellmann]\ncurrents = ["V4_conserved"]\n'
        '[three_point]\ncurrents = ["V4"]\nseparations = [1, 2]',
    )
    V = with_phases(U, (0, 0, 0, 0.3 * np.pi))
    arguments: dict = {"boundary": (1, 1, 1, 1), "link_reals": 18}
    M = (
        tr.WilsonClover(V, kappa=0.125, csw=1.2, **arguments)
        if is_wilson
        else tr.MoebiusDomainWall(V, mass=0.2, Ls=4, **arguments)
    )
    solve = tr.even_odd(tr.cg(tolerance=1e-12))(M)
    source = tr.gaussian_source(U, (1, 2, 3, 2), width=1.0, steps=2)
    S = solve.propagator(source) if is_wilson else solve.propagator(source, keep_fields=True)
    inserted = tr.conserved_current_propagator(solve, S, current="vector", direction="t")
    wrapped = np.array([1, 1, np.exp(0.9j * np.pi), np.exp(0.9j * np.pi)])  # the source is at t = 2 of 4
    expected = {
        "pion": tr.meson(S, S, "gamma5", "gamma5"),
        "nucleon": wrapped * tr.nucleon(S),
        "fh_V4_conserved_UU": wrapped * tr.nucleon_feynman_hellmann(S, inserted, insertion="up"),
    }
    for separation in (1, 2):
        source = tr.nucleon_sequential_source(S, separation=separation, insertion="isovector")
        C3 = tr.nucleon_three_point(solve.propagator(source), S, ["gamma_t"])
        expected[f"three_point_V4_t{separation:02}"] = wrapped[separation] * C3
    for name, values in expected.items():
        assert np.abs(correlator(path, name) - values).max() < 1e-7 * np.abs(values).max(), name
    with h5py.File(path) as file:
        assert file["correlators/pion"].attrs["boundary_t"] == "0.3"


def test_low_modes_and_results_of_another_phase_are_refused(folder: Path) -> None:
    def text(boundary: str, output: str) -> str:
        return MEASURE.format(
            fermion=f'type = "wilson"\nkappa = 0.125\nboundary = [0, 0, 0, {boundary}]',
            solver="",
            source="",
            further='[deflation]\nmodes = 4\ntolerance = 1e-6\ndirectory = "modes_of_a_phase"',
            correlators=PION,
            folder=output,
            output="",
        )

    (folder / "phase.toml").write_text(text("0.3", "of_a_phase"))
    run("measure", "phase.toml", cwd=folder)
    run("measure", "phase.toml", "--resume", cwd=folder)
    (folder / "other.toml").write_text(text("0.4", "of_a_phase"))
    assert "fermion.boundary" in run("measure", "other.toml", "--resume", cwd=folder, status=1).stderr
    (folder / "other.toml").write_text(text("0.4", "of_another"))
    assert "boundary" in run("measure", "other.toml", cwd=folder, status=1).stderr


def test_walls_with_momentum_are_sums_of_points(folder: Path, U: tr.GaugeField) -> None:
    """The solution is S(x) = sum_y exp(i p.y) S(x, y), and the pion is that of it."""
    path = measure(
        folder,
        "wall",
        source='type = "wall"\nmomentum = [1, 0, -1]',
        correlators=PION,
        output="propagators = true",
    )
    solve = tr.even_odd(tr.cg(tolerance=1e-12))(tr.WilsonClover(U, kappa=0.125, csw=1.2))
    expected = 0
    for n in range(64):
        x, y, z = n % 4, n // 4 % 4, n // 16
        S = solve.propagator(tr.point_source(U.geometry, (x, y, z, 2)))
        expected = expected + 1j ** ((x - z) % 4) * S.to_numpy()
    with h5py.File(path.parent / "propagator.000001.0.h5") as file:
        found = file["propagator"][()]
    assert np.abs(found - expected).max() < 1e-9 * np.abs(expected).max()
    pion = np.roll((np.abs(expected) ** 2).sum(axis=(1, 2, 3, 4, 5, 6, 7)), -2)
    assert np.abs(correlator(path, "pion")[0] - pion).max() < 1e-8 * pion.max()
    with h5py.File(path) as file:
        assert file["correlators/pion"].attrs["source_smearing"] == "wall momentum=1 0 -1"


def test_momenta_of_hadrons_from_walls(folder: Path) -> None:
    """The quarks are free: mesons have no momentum, baryons have 3 p, that is -p on four sites."""
    tr.cold((4, 4, 4, 4)).write(folder / "unit.1.ildg", "ildg")
    path = measure(
        folder,
        "momenta",
        field="unit",
        source='type = "wall"\nmomentum = [0, 1, 0]',
        correlators='mesons = ["pion"]\nbaryons = ["nucleon"]\nmax_momentum_squared = 9',
    )
    with h5py.File(path) as file:
        momenta = np.reshape(file["correlators/pion"].attrs["momenta"], (-1, 3)) % 4
    for name, momentum in (("pion", (0, 0, 0)), ("nucleon", (0, 3, 0))):
        found = np.abs(correlator(path, name)).max(axis=1)
        has_signal = np.all(momenta == momentum, axis=1)
        assert np.all(found[has_signal] > 0.1 * found.max()), name
        assert np.all(found[~has_signal] < 1e-9 * found.max()), name


def test_flavours_of_mesons(folder: Path, U: tr.GaugeField) -> None:
    meson = '[[correlators.meson]]\nname = "{}"\nsink = "{}"\nsource = "{}"\n{}\n'
    path = measure(
        folder,
        "flavours",
        fermion="strange_kappa = 0.11",
        correlators='mesons = ["pion", "kaon"]\nbaryons = []\n'
        + meson.format("anti_kaon", "gamma5", "gamma5", 'quark = "strange"')
        + meson.format("phi_x", "gamma_x", "gamma_x", 'quark = "strange"\nantiquark = "strange"')
        + meson.format("k_star_y", "gamma_y", "gamma_y", 'antiquark = "strange"')
        + meson.format("light", "gamma_t gamma5", "gamma5", 'quark = "light"'),
    )
    light, strange = (
        tr.even_odd(tr.cg(tolerance=1e-12))(tr.WilsonClover(U, kappa=kappa, csw=1.2)).propagator(
            tr.point_source(U.geometry, (1, 2, 3, 2))
        )
        for kappa in (0.125, 0.11)
    )
    for name, expected in (
        ("anti_kaon", tr.meson(light, strange, "gamma5", "gamma5").conj()),  # this is sum tr S_s S_l^dagger
        ("phi_x", tr.meson(strange, strange, "gamma_x", "gamma_x")),
        ("k_star_y", tr.meson(light, strange, "gamma_y", "gamma_y")),
        ("light", tr.meson(light, light, "gamma_t gamma5", "gamma5")),
    ):
        found = correlator(path, name)
        assert np.abs(found - expected).max() < 1e-8 * np.abs(expected).max(), name
    with h5py.File(path) as file:
        have = {name for name, data in file["correlators"].items() if "strange_mass" in data.attrs}
    assert have == {"kaon", "anti_kaon", "phi_x", "k_star_y"}


def test_keys_of_low_modes(folder: Path, U: tr.GaugeField) -> None:
    """The command takes as many iterations as the library; too few restarts are an error."""
    table = '[deflation]\nmodes = 6\ndegree = 12\ncutoff = 0.2\nupper = 6.0\nstorage = "half"\n'
    found = {}
    for reduction in (None, 0.5):
        further = table + ("" if reduction is None else f"reduction = {reduction}")
        path = measure(folder, f"modes_{reduction}", further=further, correlators=PION)
        M = tr.WilsonClover(U, kappa=0.125, csw=1.2)
        modes = tr.lanczos(M, count=6, degree=12, cutoff=0.2, upper=6.0, storage="half")
        solver = tr.even_odd(tr.mixed_precision(tr.cg(tolerance=1e-11), inner="half"))
        solve = tr.deflated(solver, modes, reduction=reduction or 0.0)(M)
        report = solve.propagator(tr.point_source(U.geometry, (1, 2, 3, 2))).report
        with h5py.File(path) as file:
            found[reduction] = file["solves/iterations"][0, 0]
        assert report is not None
        assert found[reduction] == report.iterations
    assert found[None] != found[0.5]
    text = (folder / "modes_None.toml").read_text().replace("degree = 12", "degree = 2\nmax_restarts = 1")
    (folder / "few.toml").write_text(text.replace("modes_None", "few"))
    said = run("measure", "few.toml", cwd=folder, status=1).stderr
    assert "6 modes after 1 restarts" in " ".join(said.split())


def test_sources_on_links_that_are_smeared_in_space(folder: Path, U: tr.GaugeField) -> None:
    path = measure(
        folder,
        "spatial",
        source='type = "gaussian"\nwidth = 1.5\nsteps = 5\n[source.links]\n'
        "stout = { rho = 0.1, steps = 3, spatial = true }",
        correlators=PION,
    )
    solve = tr.even_odd(tr.cg(tolerance=1e-12))(tr.WilsonClover(U, kappa=0.125, csw=1.2))
    pions = []
    for spatial in (True, False):
        links = U.stout(rho=0.1, steps=3, spatial=spatial)
        S = solve.propagator(tr.gaussian_source(links, (1, 2, 3, 2), width=1.5, steps=5))
        pions.append(tr.meson(S, S, "gamma5", "gamma5"))
    found = correlator(path, "pion")
    assert np.abs(found - pions[0]).max() < 1e-8 * found.max()
    assert np.abs(found - pions[1]).max() > 1e-4 * found.max()
    with h5py.File(path) as file:
        assert file["correlators/pion"].attrs["source_smearing"].endswith("links=stout_spatial 0.1x3")
