"""Inputs of other programs become run files with the same physics."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from inputs_of_peers import MILC, OPENACC, OPENQCD

from trellis.commands.cli import app
from trellis.errors import BadArgument
from trellis.peer_inputs import from_milc, from_openacc, from_openqcd
from trellis.run_files import HmcRun

#: Each input above has its converter.
CONVERTERS: dict[str, Callable[[str], str]] = {
    OPENACC: from_openacc,
    MILC: partial(from_milc, flavours=(2, 1, 1)),
    OPENQCD: partial(from_openqcd, extents=(8, 8, 8, 16)),
}


def load(text: str) -> HmcRun:
    return HmcRun.model_validate(tomllib.loads(text))


def test_openacc() -> None:
    run = load(from_openacc(OPENACC))
    assert run.lattice.extents == (8, 8, 8, 8)
    assert (run.action.type, run.action.beta, run.action.weight) == ("symanzik", 3.75, -1 / 12)
    assert (run.smearing.stout.rho, run.smearing.stout.steps) == (0.15, 2)
    up, strange = run.fermions
    assert (up.name, up.mass, up.n_f, up.mu_over_ipiT, up.charge_thirds) == ("up", 0.02, 1.0, 0.25, 2)
    assert (strange.mass, strange.pseudofermions, strange.charge_thirds) == (0.1, 2, -1)
    assert run.background.b == (0, 0, 1)
    assert [(level.scheme, level.steps) for level in run.integrator] == [("omelyan2", 8), ("omelyan2", 2)]
    assert run.molecular_dynamics.length == pytest.approx(2**0.5, rel=1e-15)  # TrajLength is 1.0
    assert run.integrator[0].monomials == ["up", "strange"]
    assert (run.molecular_dynamics.tolerance, run.metropolis.tolerance) == (1e-7, 1e-8)
    assert (run.trajectories.total, run.trajectories.thermalisation) == (100, 5)  # Ntraj has the ThermNtraj
    assert run.random.seed == 42


def test_openacc_in_single_precision() -> None:
    run = load(from_openacc(OPENACC.replace("residue_md ", "SinglePrecMD 1\nresidue_md ")))
    assert run.molecular_dynamics.precision == "single"
    assert load(from_openacc(OPENACC)).molecular_dynamics.precision == "double"


@pytest.mark.parametrize("text", CONVERTERS, ids=["openacc", "milc", "openqcd"])
@pytest.mark.parametrize("end", ["\r\n", "\n\n", " # a comment\n", "\t\n"])
def test_line_ends_comments_and_a_mark(text: str, end: str) -> None:
    """The run file is the same from an input with Windows' line ends, empty lines, comments, a byte order
    mark."""
    convert = CONVERTERS[text]
    text = text.removeprefix("prompt 0\n")  # MILC's first line is then a key that counts
    assert convert("\ufeff" + text.replace("\n", end)) == convert(text)


@pytest.mark.parametrize(
    "source, old, new, text",
    [
        (OPENACC, "bz 1", "bz 0.5", "bz = 0.5: expected an integer"),
        (OPENACC, "Beta            3.75", "", "lacks Beta"),
        (OPENACC, "StoutSteps      2", "StoutSteps      2\nTopoAct 1", "TopoAct"),
        (
            OPENACC,
            "Mass            0.02",
            "Mass            heavy",
            "Mass of FlavourParameters: expected a number",
        ),
        (OPENACC, "Mass            0.02", "Mass            nan", "expected a number, found 'nan'"),
        (
            OPENACC,
            "Charge          2",
            "Charge          1e999",
            "Charge of FlavourParameters: expected a number",
        ),
        (OPENACC, "Mass            0.02", "Mass", "line 6: expected a group .* or NAME VALUE, found 'Mass'"),
        (
            OPENACC,
            "Mass            0.02",
            "Mass 0.02\nMass 0.03",
            "line 7: Mass of FlavourParameters comes twice",
        ),
        (OPENACC, "MDParameters", "ActionParameters", "line 26: the group ActionParameters comes twice"),
        (OPENACC, "Name            up", "", "lacks Name of FlavourParameters"),
        (
            OPENACC,
            "Geometry",
            "ReplicasNumbers\ntotalnumber 2\nGeometry",
            "totalnumber of ReplicasNumbers = 2: parallel tempering .* expected one replica",
        ),
        (
            OPENACC,
            "Geometry",
            "ReplicasNumbers\ntotalnumber 1\ncr_values 0.5\nGeometry",
            "cr_values of ReplicasNumbers = 0.5: a defect",
        ),
        (OPENACC, "Geometry", "Geometri", "expected a group .* found 'Geometri'"),
        (MILC, "nx 16", "nx 16.5", "input: nx = 16.5: expected an integer"),
        (MILC, "nx 16", "", "lacks nx"),
        (MILC, "0.01 0.05 0.6", "0.01 light 0.6", "dyn_mass: expected a number, found 'light'"),
        (MILC, "0 0 -0.23", "0 -0.23", "a naik_term_epsilon for each of 3 masses, found 2"),
        (
            MILC,
            "n_dyn_masses 3",
            "n_dyn_masses 2",
            "3 dyn_mass, n_dyn_masses = 2 and 3 flavours do not agree",
        ),
        (MILC, "warms 10", "warms inf", "warms of input: expected a number, found 'inf'"),
        (
            OPENQCD,
            "kappa        0.13625",
            "kappa        light",
            "kappa of Lattice parameters: expected a number",
        ),
        (OPENQCD, "kappa        0.13625", "kappa", "kappa: expected one doublet, found \\[\\]"),
        (
            OPENQCD,
            "nlv          2",
            "nlv          0",
            "nlv of HMC parameters: expected 1 to 32 levels, found 0",
        ),
        (OPENQCD, "nlv          2", "nlv          3", "lacks integrator of Level 2"),
        (OPENQCD, "OMF4", "OMF5", "\\[Level 0\\] integrator OMF5: expected one of LPFR, OMF2, OMF4"),
        (OPENQCD, "[Level 1]", "[Level 0]", "line 35: the section \\[Level 0\\] comes twice"),
        (
            OPENQCD,
            "beta         5.3",
            "beta 5.3\nbeta 5.4",
            "line 10: beta of \\[Lattice parameters\\] comes twice",
        ),
        (OPENQCD, "name         two_flavours", "name", "lacks name of Run name"),
    ],
)
def test_odd_inputs_are_refused(source: str, old: str, new: str, text: str) -> None:
    assert old in source
    with pytest.raises(BadArgument, match=text):
        CONVERTERS[source](source.replace(old, new))


def test_numbers_as_fortran_writes_them() -> None:
    run = load(from_openacc(OPENACC.replace("1e-8", "1.0d-8").replace("0.02", "2D-2")))
    assert (run.metropolis.tolerance, run.fermions[0].mass) == (1e-8, 0.02)
    run = load(from_milc(MILC.replace("0.01 0.05 0.6", "1d-2 5.d-2 6D-1"), flavours=(2, 1, 1)))
    assert [f.mass for f in run.fermions] == [0.01, 0.05, 0.6]


def test_what_is_not_used_is_named() -> None:
    """Without this, a misspelt key with a default would be lost without a word."""
    text = from_openacc(OPENACC.replace("StoutRho", "StoutRo "))
    assert "# not taken over: StoutRo of ActionParameters, ExpMaxEigenvalue of MDParameters" in text
    assert load(text).smearing.stout.rho == 0.15
    assert "naik_epsilons of input" in from_milc(
        MILC.replace("naik_term_epsilon", "naik_epsilons"), flavours=(2, 1, 1)
    )
    assert "muu of HMC parameters" in from_openqcd(OPENQCD.replace("mu  ", "muu "), extents=(8, 8, 8, 16))


def test_openacc_without_quarks() -> None:
    first, after = OPENACC.index("FlavourParameters"), OPENACC.index("BackgroundField")
    text = from_openacc(OPENACC[:first] + OPENACC[after:])
    assert "# no flavour has a Charge: the background field [0, 0, 1, 0, 0, 0] is left out" in text
    run = load(text)
    assert run.fermions == []
    assert [(level.steps, level.monomials) for level in run.integrator] == [(8, ["gauge"])]


def test_openqcd_on_one_level_and_on_three() -> None:
    one = load(from_openqcd(OPENQCD.replace("nlv          2", "nlv          1"), extents=(8, 8, 8, 16)))
    assert [level.monomials for level in one.integrator] == [["light", "gauge"]]
    more = OPENQCD.replace("nlv          2", "nlv          3") + "[Level 2]\nintegrator LPFR\nnstep 4\n"
    text = from_openqcd(more, extents=(8, 8, 8, 16))
    assert "# levels without forces (1) are left out; those inside keep their number of steps" in text
    # The level between has 6 steps, each with two drifts.
    assert [(level.scheme, level.steps) for level in load(text).integrator] == [
        ("leapfrog", 4),
        ("omelyan4", 12),
    ]


def test_milc() -> None:
    run = load(from_milc(MILC, flavours=(2, 1, 1)))
    assert run.lattice.extents == (16, 16, 16, 48)
    # For 10 / g^2 = 6, g^2 is 5/3 and 6 / g^2 is 3.6.
    assert run.action.beta == pytest.approx(3.6, rel=1e-15)
    assert [(f.type, f.n_f, f.mass, f.epsilon) for f in run.fermions] == [
        ("hisq", 2, 0.01, 0.0),
        ("hisq", 1, 0.05, 0.0),
        ("hisq", 1, 0.6, -0.23),
    ]
    # There are 50 force evaluations of 0.02, with momenta sqrt(2) times ours.
    assert run.molecular_dynamics.length == pytest.approx(2**0.5, rel=1e-15)
    assert [(level.scheme, level.steps) for level in run.integrator] == [("omelyan2", 25)]
    assert (run.trajectories.total, run.trajectories.thermalisation) == (210, 10)
    assert load(from_milc(MILC)) == run  # the key is dyn_flavors
    with pytest.raises(BadArgument, match="lacks dyn_flavors: give `flavours`"):
        from_milc(MILC.replace("dyn_flavors", "flavors"))
    with pytest.raises(BadArgument, match="flavours"):
        from_milc(MILC, flavours=(2, 1))


def test_openqcd() -> None:
    run = load(from_openqcd(OPENQCD, extents=(8, 8, 8, 16)))
    (light,) = run.fermions
    assert (light.type, light.n_f, light.kappa, light.csw) == ("clover", 2, 0.13625, 1.90952)
    assert light.bare_mass == pytest.approx(1 / (2 * 0.13625) - 4)
    # The relation is c0 = 1 - 8 c1.
    assert run.action.weight == pytest.approx((1 - 1.6667) / 8)
    assert [(level.scheme, level.steps, level.monomials) for level in run.integrator] == [
        ("omelyan2", 6, ["light"]),
        ("omelyan4", 1, ["gauge"]),
    ]
    assert run.integrator[0].lambda_ == 0.19
    assert (run.molecular_dynamics.length, run.trajectories.thermalisation) == (2.0, 20)
    with pytest.raises(BadArgument, match="kappa"):
        from_openqcd(
            OPENQCD.replace("kappa        0.13625", "kappa        0.136 0.135"), extents=(8, 8, 8, 16)
        )


HASENBUSCH = (
    OPENQCD.replace("nlv          2", "nlv          3").replace("forces       1 2", "forces       1")
    + """
[Level 2]
integrator   LPFR
nstep        5
forces       2

[Action 0]
action       ACG
[Action 1]
action       ACF_TM1_EO_SDET
ipf          0
im0          0
imu          1
isp          1
[Action 2]
action       ACF_TM2_EO
ipf          1
im0          0
imu          0 1
isp          0 1
[Force 1]
force        FRF_TM1_EO_SDET
isp          2
[Force 2]
force        FRF_TM2_EO
isp          3
[Solver 0]
solver       CGNE
nmx          256
res          1.0e-11
[Solver 1]
res          1.0e-12
[Solver 2]
res          1.0e-9
[Solver 3]
res          1.0e-8
"""
)


def test_openqcd_with_hasenbusch_masses_and_residuals() -> None:
    text = from_openqcd(HASENBUSCH, extents=(8, 8, 8, 16))
    run = load(text)
    assert run.fermions[0].hasenbusch == [0.5]
    # The ratio with mu = 0 is the lightest part.
    assert [(level.scheme, level.steps, level.monomials) for level in run.integrator] == [
        ("leapfrog", 5, ["light.0"]),
        ("omelyan2", 6, ["light.1"]),
        ("omelyan4", 1, ["gauge"]),
    ]
    assert (run.metropolis.tolerance, run.molecular_dynamics.tolerance) == (1e-12, 1e-9)
    assert "levels without forces" not in text
    assert "nmx of Solver 0" in text
    swapped = HASENBUSCH.replace("imu          0 1", "imu          1 0")
    with pytest.raises(BadArgument, match=r"do not: \[Action 2\] \(ACF_TM2_EO, mu = 0\.5 over 0\)"):
        from_openqcd(swapped, extents=(8, 8, 8, 16))  # this is the inverse of a determinant
    heavier = from_openqcd(HASENBUSCH.replace("0.0 0.5", "0.001 0.5"), extents=(8, 8, 8, 16))
    assert "# mu = 0.001 of the lightest action is left out: here 0" in heavier
    with pytest.raises(BadArgument, match=r"do not: \[Action 2\] \(ACF_TM2_EO, mu = 0 over 0\)"):
        from_openqcd(HASENBUSCH.replace("imu          0 1", "imu          0 0"), extents=(8, 8, 8, 16))
    with pytest.raises(BadArgument, match=r"imu of \[Action 1\]: expected 0 to 1, found '7'"):
        from_openqcd(HASENBUSCH.replace("imu          1\n", "imu 7\n"), extents=(8, 8, 8, 16))


def test_milc_residuals_and_pseudofermions() -> None:
    text = from_milc(MILC + "cgresid_md_fa_gr 2e-5 2e-6 3e-6\ncgresid_md_fa_gr 1e-5 4e-6 1e-6\n")
    run = load(text)
    assert (run.molecular_dynamics.tolerance, run.metropolis.tolerance) == (1e-5, 1e-6)
    assert "# one pseudofermion for each flavour: which flavours MILC's n_pseudo = 5 share" in text
    with pytest.raises(BadArgument, match="cgresid_md_fa_gr: expected three numbers"):
        from_milc(MILC + "cgresid_md_fa_gr 2e-5\n")


def test_milc_with_tadpole_factors() -> None:
    """MILC's own samples have u0 = 0.89, which is another gauge action: it is taken as tree level on request
    only."""
    tadpoles = MILC.replace("u0 1.0", "u0 0.89")
    with pytest.raises(BadArgument, match=r"u0 = 0\.89: expected 1.* tree_level=True"):
        from_milc(tadpoles)
    text = from_milc(tadpoles, tree_level=True)
    assert "# u0 = 0.89: tadpole factors and one-loop terms of the gauge action are left out" in text
    assert load(text) == load(from_milc(MILC))


def test_milc_without_naik_epsilons() -> None:
    """The epsilons stand in MILC's file of rational functions, and matter for charm."""
    text = from_milc(MILC.replace("naik_term_epsilon 0 0 -0.23\n", ""))
    assert "# epsilon is 0: MILC keeps naik_term_epsilon in its file of rational functions" in text
    assert "epsilon is 0" not in from_milc(MILC)


def test_milc_masses_that_are_equal() -> None:
    run = load(from_milc(MILC.replace("0.01 0.05 0.6", "0.05 0.05 0.6")))
    assert len({fermion.name for fermion in run.fermions}) == 3


def test_openacc_that_thermalises_only() -> None:
    run = load(from_openacc(OPENACC.replace("ThermNtraj      5", "ThermNtraj      1000")))
    assert run.trajectories.total == run.trajectories.thermalisation == 100
    assert run.trajectories.keep_every is None


def test_openqcd_boundaries() -> None:
    """Angles of the quarks are taken over; what is not periodic in time is refused by name."""
    run = load(from_openqcd(OPENQCD, extents=(8, 8, 8, 16)))
    assert run.fermions[0].boundary == pytest.approx((0.0, 0.5 / math.pi, -1.0 / math.pi, 1.0))
    for number, name in enumerate(("open", "Schroedinger functional", "open and Schroedinger functional")):
        other = OPENQCD.replace("type         3", f"type {number}")
        with pytest.raises(
            BadArgument, match=rf"type of Boundary conditions = {number} \({name}\): .*periodic=True"
        ):
            from_openqcd(other, extents=(8, 8, 8, 16))
        text = from_openqcd(other, extents=(8, 8, 8, 16), periodic=True)
        assert f"# periodic in time, where the input has {name} boundary conditions" in text
        assert load(text) == run
    with pytest.raises(BadArgument, match="type of Boundary conditions: expected 0 to 3, found 4"):
        from_openqcd(OPENQCD.replace("type         3", "type 4"), extents=(8, 8, 8, 16))
    with pytest.raises(BadArgument, match="theta of Boundary conditions: expected three angles"):
        from_openqcd(OPENQCD.replace("0.5 -1.0", "0.5"), extents=(8, 8, 8, 16))
    text = from_openqcd(OPENQCD.replace("type         3", ""), extents=(8, 8, 8, 16))
    assert "# the input states no boundary conditions: here periodic in time, antiperiodic for quarks" in text


TEMPERING = """\
#---- Hasenbusch Parallel Tempering params ----
ReplicasNumbers
totalnumber      2         # Total number of replicas
is_evenodd       0         # Propose swaps to all even and then to all odd couples
defect_boundary  1         # 0=n0, 1=n1, 2=n2, 3=n3
defect_size0     2         # <
cr_values        1.0 0.0   # Must provide a total of <ReplicasNumbers> values of c(r) in this field

AcceptancesMeasuresSettings
Hmc_file_name    hmc_acc.dat
"""


def test_openacc_with_groups_of_parallel_tempering() -> None:
    """OpenStaPLE's example has such groups; Trellis knows the chain without a defect."""
    groups = "GaugeMeasuresSettings, DeviceSettings, AcceptancesMeasuresSettings"
    one = from_openacc(OPENACC + TEMPERING.replace("2         # Total", "1         # Total"))
    assert f"# groups that are not taken over: {groups}\n" in one
    assert "defect_size0 of ReplicasNumbers" in one
    several = from_openacc(OPENACC + TEMPERING, one_replica=True)
    assert "# one chain without a defect, where the input has 2 replicas" in several
    assert load(one) == load(several) == load(from_openacc(OPENACC))


def test_the_interval_of_openacc_configurations() -> None:
    """The interval is taken over, or said not to be where no trajectory is left after the thermalisation."""
    assert load(from_openacc(OPENACC)).trajectories.keep_every == 10
    text = from_openacc(OPENACC.replace("ThermNtraj      5", "ThermNtraj      100"))
    assert "StoreConfInterval of MontecarloParameters" in text
    assert load(text).trajectories.keep_every is None


def test_an_action_that_openacc_has_not() -> None:
    with pytest.raises(BadArgument, match=r"action: expected one of wilson, .*found 'plaquette'"):
        from_openacc(OPENACC, action="plaquette")


def convert(
    folder: Path, capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0
) -> tuple[str, str]:
    """Return output and errors of `trellis convert-input`, on the input above by its program's name."""
    inputs = {"milc": MILC, "openacc": OPENACC + TEMPERING, "openqcd": OPENQCD}
    for name, text in inputs.items():
        (folder / name).write_text(text)
    program = arguments[0]
    with pytest.raises(SystemExit) as end:
        app(["convert-input", str(folder / program), "--from", *arguments])
    found = capsys.readouterr()
    assert end.value.code == status, found
    return found.out, found.err


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed, remarks = convert(tmp_path, capsys, "milc", "--flavours", "2,1,1")
    assert printed == from_milc(MILC, flavours=(2.0, 1.0, 1.0))
    assert "beta is 3/5 of MILC's\n" in remarks
    printed, _ = convert(tmp_path, capsys, "openqcd", "--lattice", "8.8.8.16")
    assert printed == from_openqcd(OPENQCD, extents=(8, 8, 8, 16))
    target = tmp_path / "run.toml"
    options = ("--one-replica", "--action", "wilson", "--output", str(target))
    printed, remarks = convert(tmp_path, capsys, "openacc", *options)
    assert printed == ""
    assert "one chain without a defect, where the input has 2 replicas\n" in remarks
    assert target.read_text() == from_openacc(OPENACC + TEMPERING, action="wilson", one_replica=True)
    _, error = convert(tmp_path, capsys, "openacc", *options, status=1)
    assert "run.toml is there already; it is not overwritten" in error
    printed, _ = convert(tmp_path, capsys, "milc", "--json")
    found = json.loads(printed)
    assert found["run_file"] == from_milc(MILC)
    assert "beta is 3/5 of MILC's" in found["remarks"]


@pytest.mark.parametrize(
    "arguments, text",
    [
        (["milc", "--periodic"], "--periodic is for --from openqcd, found --from milc"),
        (["openqcd"], "--from openqcd: expected --lattice X.Y.Z.T"),
        (["openacc"], "totalnumber of ReplicasNumbers = 2"),
        (["milc", "--flavours", "two"], "--flavours: expected numbers such as 2,1,1, found 'two'"),
    ],
)
def test_mistakes_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], text: str
) -> None:
    assert text in convert(tmp_path, capsys, *arguments, status=1)[1]


def test_openqcd_with_a_third_quark() -> None:
    """An action of one flavour would be lost without a word."""
    first = "[Action 0]\naction ACG\n[Action 1]\naction ACF_TM1\nimu 0\n"
    text = OPENQCD + first + "[Action 2]\naction ACF_RAT_SDET\nipf 0\n"
    with pytest.raises(BadArgument, match=r"\[Action 2\] ACF_RAT_SDET: expected .* two flavours .*alone"):
        from_openqcd(text, extents=(8, 8, 8, 16))
    with pytest.raises(BadArgument, match=r"\[Action 2\] action: expected one .* found none"):
        from_openqcd(OPENQCD + first, extents=(8, 8, 8, 16))
    with pytest.raises(BadArgument, match=r"\[Action 0\] action ACG_U1: expected one of ACG, ACF_TM1, "):
        from_openqcd(HASENBUSCH.replace("ACG", "ACG_U1"), extents=(8, 8, 8, 16))
    found = from_openqcd(OPENQCD + "[Wilson flow]\neps 0.02\n", extents=(8, 8, 8, 16))
    assert "# sections that are not taken over: [Wilson flow]" in found
    assert "# no action has a section: one doublet is assumed, without Hasenbusch masses" in found


def actions(text: str, mu: str, *, kappa: str = "0.13625", levels: str = "") -> str:
    """Return the openQCD input with these actions, such as "ACG; ACF_TM1 1; ACF_TM2 0 1": kinds and places in
    mu.

    All forces are on level 0, unless `levels` has those of each: "0; 1 2".
    """
    kinds = [words.split() for words in text.split(";")]
    levels = levels or " ".join(str(n) for n in range(len(kinds)))
    found = OPENQCD.split("[HMC parameters]")[0].replace("0.13625", kappa)
    found += f"[HMC parameters]\nactions {' '.join(str(n) for n in range(len(kinds)))}\n"
    found += f"mu {mu}\nnlv {len(levels.split(';'))}\ntau 2.0\n"
    found += "[MD trajectories]\nnth 20\nntr 100\ndtr_cnfg 4\n"
    for number, forces in enumerate(levels.split(";")):
        found += f"[Level {number}]\nintegrator LPFR\nnstep {number + 2}\nforces {forces}\n"
    for number, (kind, *places) in enumerate(kinds):
        im0 = next((word.removeprefix("im0=") for word in places if word.startswith("im0=")), "0")
        imu = " ".join(word for word in places if not word.startswith("im0="))
        found += f"[Action {number}]\naction {kind}\nim0 {im0}\n" + (f"imu {imu}\n" if imu else "")
    return found


def openqcd(text: str, **options: str) -> HmcRun:
    return load(from_openqcd(actions(text, **options), extents=(8, 8, 8, 16)))


def test_openqcd_with_several_doublets() -> None:
    """Each action TM1 that goes down to mu = 0 is a doublet: N_f = 4 is no N_f = 2."""
    text = from_openqcd(actions("ACG; ACF_TM1 0; ACF_TM1 0", "0.0"), extents=(8, 8, 8, 16))
    assert "# 2 doublets of sea quarks: N_f = 4" in text
    run = load(text)
    assert [(f.name, f.n_f, f.kappa, f.csw) for f in run.fermions] == [
        ("doublet_1", 2, 0.13625, 1.90952),
        ("doublet_2", 2, 0.13625, 1.90952),
    ]
    assert run.integrator[0].monomials == ["gauge", "doublet_1", "doublet_2"]
    assert run.fermions[0].boundary == run.fermions[1].boundary != (0.0, 0.0, 0.0, 1.0)
    two = "ACG; ACF_TM1_EO_SDET 1; ACF_TM2_EO 0 1; ACF_TM1_EO_SDET 2 im0=1; ACF_TM2_EO 0 2 im0=1"
    run = openqcd(two, mu="0 0.5 0.7", kappa="0.136 0.135", levels="0; 1 3; 2 4")
    assert [(f.kappa, f.hasenbusch) for f in run.fermions] == [(0.136, [0.5]), (0.135, [0.7])]
    assert [level.monomials for level in run.integrator] == [
        ["doublet_1.0", "doublet_2.0"],
        ["doublet_1.1", "doublet_2.1"],
        ["gauge"],
    ]
    assert openqcd("ACG; ACF_TM1 0 im0=1", mu="0", kappa="0.136 0.135").fermions[0].kappa == 0.135


@pytest.mark.parametrize(
    "found, mu, message",
    [
        (
            "ACG; ACF_TM1 1; ACF_TM1 0",
            "0 0.5",
            r"several doublets of im0 = 0: .* to mu = 0 for each, found \[Action 1\] \(ACF_TM1, mu = 0\.5",
        ),
        ("ACG; ACF_TM1 0; ACF_TM2 0 1", "0 0.5", r"these do not: \[Action 2\] \(ACF_TM2, mu = 0 over 0\.5"),
        # The determinants of the even-odd operator and the whole one do not cancel.
        ("ACG; ACF_TM1 1; ACF_TM2_EO 0 1", "0 0.5", r"these do not: \[Action 2\] \(ACF_TM2_EO"),
        ("ACG; ACF_TM1 1; ACF_TM2 0 1 im0=1", "0 0.5", r"these do not: \[Action 2\] \(ACF_TM2"),
        # Beside mu = 0.003 there is no sqrt(2) mu.
        ("ACG; ACF_TM1 2; ACF_TM2 0 2; ACF_TM2 0 1", "0.003 0.005 1", r"these do not: \[Action 3\]"),
        ("ACF_TM1 0", "0", r"expected one ACG, the gauge action, found \[Action 0\] ACF_TM1"),
        ("ACG; ACG; ACF_TM1 0", "0", "expected one ACG"),
        ("ACG; ACF_TM1 0 im0=1", "0", r"im0 = 1 of \[Action 1\]: expected the place of a kappa"),
        ("ACG; ACF_TM2 0", "0", r"imu of \[Action 1\] \(ACF_TM2\): expected 2 places in mu, found \['0'\]"),
        ("ACG; ACF_TM1", "0", r"imu of \[Action 1\] \(ACF_TM1\): expected 1 places in mu, found \[\]"),
    ],
)
def test_openqcd_actions_that_are_no_doublets(found: str, mu: str, message: str) -> None:
    with pytest.raises(BadArgument, match=message):
        openqcd(found, mu=mu)


def test_openqcd_actions_that_come_twice() -> None:
    text = actions("ACG; ACF_TM1 0", "0").replace("actions 0 1", "actions 0 1 1")
    with pytest.raises(BadArgument, match="actions of HMC parameters: expected each once, found 0 1 1"):
        from_openqcd(text, extents=(8, 8, 8, 16))


def test_quenched_openqcd() -> None:
    """The gauge action alone is no doublet, whether the input has a kappa or not."""
    run = openqcd("ACG", mu="")
    assert run.fermions == []
    assert [(level.steps, level.monomials) for level in run.integrator] == [(2, ["gauge"])]
    text = actions("ACG", "").replace("kappa        0.13625\ncsw          1.90952\n", "")
    assert "kappa" not in text
    assert load(from_openqcd(text, extents=(8, 8, 8, 16))) == run
    # Level 1 has no forces: its 3 steps of one drift are those of level 0.
    run = openqcd("ACG", mu="", levels="0; ")
    assert [(level.steps, level.monomials) for level in run.integrator] == [(6, ["gauge"])]


def test_openqcd_for_reweighting_of_the_second_kind() -> None:
    """The chain of openQCD's example 48x24v2, with mu over sqrt(2) mu beside it, stays a chain."""
    chain = "ACG; ACF_TM1 4; ACF_TM2 3 4; ACF_TM2 2 3; ACF_TM2 0 2; ACF_TM2 0 1"
    mu = "3.0e-3 4.2426406871192851e-3 0.01 0.1 1.0"
    text = from_openqcd(actions(chain, mu, levels="0; 1 2 3 4; 5"), extents=(8, 8, 8, 16))
    run = load(text)
    assert run.fermions[0].hasenbusch == [1.0, 0.1, 0.01, 4.2426406871192851e-3]
    assert [level.monomials for level in run.integrator] == [
        ["light.0"],
        ["light.4", "light.3", "light.2", "light.1"],
        ["gauge"],
    ]
    assert "# mu = 0.003 of the lightest actions is left out: here 0, " in text
    assert "reweighting of the second kind" in text
    short = openqcd("ACG; ACF_TM1 0; ACF_TM2 0 1", mu="0.01 0.0141421356")
    assert short.fermions[0].hasenbusch == [0.0141421356]
    assert short.integrator[0].monomials == ["gauge", "light.1", "light.0"]


def named(name: str) -> str:
    """Return the OpenACC input with another name of its first flavour."""
    return OPENACC.replace("Name            up", f"Name {name}")


@pytest.mark.parametrize(
    "name, legal, remark",
    [
        ("up.quark", "up_quark", "names consist of letters, digits, _ and -"),
        ("2+1", "flavour_2_1", "names consist of letters, digits, _ and -"),
        ("quark.1", "quark_1", "names consist of letters, digits, _ and -"),
        ("gauge", "gauge_2", "the name is taken"),
    ],
)
def test_names_of_openacc_flavours(name: str, legal: str, remark: str) -> None:
    text = from_openacc(named(name))
    assert f"# the flavour {name!r} is {legal} here: {remark}\n" in text
    run = load(text)
    assert [f.name for f in run.fermions] == [legal, "strange"]
    assert run.integrator[0].monomials == [legal, "strange"]


def test_two_openacc_flavours_of_one_name() -> None:
    text = from_openacc(named("strange"))
    assert "# the flavour 'strange' is strange_2 here: the name is taken\n" in text
    assert [f.name for f in load(text).fermions] == ["strange", "strange_2"]


def test_a_residual_beyond_single_precision() -> None:
    text = from_openacc(OPENACC.replace("residue_md      1e-7", "SinglePrecMD 1\nresidue_md 1e-9"))
    assert "# residue_md = 1e-09 is beyond single precision (at least 1e-08): precision is mixed here" in text
    dynamics = load(text).molecular_dynamics
    assert (dynamics.precision, dynamics.tolerance) == ("mixed", 1e-9)


def test_odd_characters_in_names_of_files_and_in_remarks() -> None:
    text = from_openacc(OPENACC.replace("conf\n", 'co\x01n\x7f"f\n').replace("NRanks", "N\x02Ranks"))
    assert load(text).output.directory == 'co\x01n\x7f"f'
    assert load(from_openacc(OPENACC.replace("Beta ", "B\x02 1\nBeta "))).action.beta == 3.75


#: Each entry has a converter, an input, what is replaced by what, and the error.
REFUSED = [
    (
        OPENACC,
        "Degeneracy      1\nPseudoFermions  1",
        "Degeneracy 6\nPseudoFermions 1",
        "Degeneracy = 6 of FlavourParameters; PseudoFermions = 1 of FlavourParameters: fermions.0: ",
    ),
    (
        OPENACC,
        "StoreConfInterval 10",
        "StoreConfInterval 0",
        "StoreConfInterval = 0 of MontecarloParameters: trajectories.keep_every: ",
    ),
    (OPENACC, "1e-8", "1e-16", "residue_metro = 1e-16 of MDParameters: metropolis.tolerance: "),
    (
        OPENACC,
        "nx 8",
        "nx 5",
        "nx = 5, ny = 8, nz = 8, nt = 8 of Geometry: lattice.extents: the extent in x is 5",
    ),
    (OPENACC, "Mass            0.1", "Mass -0.1", "Mass = -0.1 of FlavourParameters: fermions.1.mass: "),
    (
        OPENACC,
        "NmdSteps        8",
        "NmdSteps 1000000",
        "NmdSteps = 1000000 of MDParameters; GaugeSubSteps = 2 of MDParameters: integrator: ",
    ),
    (OPENACC, "Seed            42", "Seed -1", "Seed = -1 of MontecarloParameters: random.seed: "),
    (MILC, "nx 16", "nx 15", "nx = 15, ny = 16, nz = 16, nt = 48: lattice.extents: the extent in x is 15"),
    (
        MILC,
        "steps_per_trajectory 50",
        "steps_per_trajectory 0",
        "steps_per_trajectory = 0: integrator.0.steps: ",
    ),
    (MILC, "dyn_mass 0.01", "dyn_mass 0.0", "dyn_mass = 0.0 0.05 0.6: fermions.0.mass: "),
    (MILC, "warms 10\ntrajecs 200", "warms 0\ntrajecs 0", "warms = 0, trajecs = 0: trajectories.total: "),
    (
        MILC,
        "iseed 4563421",
        f"iseed {10**20}",
        f"iseed = {10**20}: random.seed: expected an integer of 64 bits",
    ),
    (OPENQCD, "dtr_cnfg     4", "dtr_cnfg 0", "dtr_cnfg = 0 of MD trajectories: trajectories.keep_every: "),
    (
        OPENQCD,
        "nstep        6",
        "nstep 0",
        "nstep = 1 of [Level 0], nstep = 0 of [Level 1]: integrator.0.steps: ",
    ),
    (OPENQCD, "0.13625", "-0.1", "kappa = -0.1 of [Lattice parameters]: fermions.0.kappa: "),
]


@pytest.mark.parametrize("source, old, new, message", REFUSED)
def test_what_generate_refuses_is_refused_by_the_names_of_the_input(
    source: str, old: str, new: str, message: str
) -> None:
    assert old in source
    with pytest.raises(BadArgument) as error:
        CONVERTERS[source](source.replace(old, new, 1))
    assert f" input: {message}" in str(error.value)
