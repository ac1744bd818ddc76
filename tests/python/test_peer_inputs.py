"""Inputs of other programs become run files with the same physics."""

from __future__ import annotations

import tomllib

import pytest

from trellis.errors import BadArgument
from trellis.peer_inputs import from_milc, from_openacc, from_openqcd
from trellis.run_files import HmcRun

OPENACC = """\
ActionParameters
Beta            3.75      # the plaquette term has 5/3 of it
StoutSteps      2
StoutRho        0.15
FlavourParameters
Mass            0.02
Degeneracy      1
PseudoFermions  1
Name            up
MuOverPiT       0.25
Charge          2
FlavourParameters
Mass            0.1
Degeneracy      1
PseudoFermions  2
Name            strange
MuOverPiT       0.0
Charge          -1
BackgroundFieldParameters
ex 0
ey 0
ez 0
bx 0
by 0
bz 1
MDParameters
NmdSteps        8
GaugeSubSteps   2
TrajLength      1.0
residue_metro   1e-8
ExpMaxEigenvalue 5.5
residue_md      1e-7
MontecarloParameters
Ntraj           100
ThermNtraj      5
StoreConfInterval 10
SaveConfInterval  5
StoreConfName   conf
SaveConfName    conf.last
Seed            42
GaugeMeasuresSettings
OutfileName     gauge.dat
DeviceSettings
NRanks          1
Geometry
nx 8
ny 8
nz 8
nt 8
"""


def load(text: str) -> HmcRun:
    return HmcRun.model_validate(tomllib.loads(text))


def test_openacc() -> None:
    run = load(from_openacc(OPENACC))
    assert run.lattice.extents == (8, 8, 8, 8)
    assert (run.action.type, run.action.beta, run.action.weight) == ("symanzik", 3.75, -1 / 12)
    assert (run.smearing.rho, run.smearing.levels) == (0.15, 2)
    up, strange = run.fermions
    assert (up.name, up.mass, up.n_f, up.mu_over_ipiT, up.charge_thirds) == ("up", 0.02, 1.0, 0.25, 2)
    assert (strange.mass, strange.pseudofermions, strange.charge_thirds) == (0.1, 2, -1)
    assert run.background.b == (0, 0, 1)
    assert [(level.scheme, level.steps) for level in run.integrator] == [("omelyan2", 8), ("omelyan2", 2)]
    assert run.integrator[0].monomials == ["up", "strange"]
    assert (run.molecular_dynamics.residual, run.metropolis.residual) == (1e-7, 1e-8)
    assert (run.trajectories.total, run.trajectories.thermalisation) == (105, 5)
    assert run.random.seed == 42


def test_openacc_in_single_precision() -> None:
    run = load(from_openacc(OPENACC.replace("residue_md ", "SinglePrecMD 1\nresidue_md ")))
    assert run.molecular_dynamics.precision == "single"
    assert load(from_openacc(OPENACC)).molecular_dynamics.precision == "double"


@pytest.mark.parametrize(
    "old, new, text",
    [
        ("bz 1", "bz 0.5", "bz = 0.5: expected an integer"),
        ("Beta            3.75", "", "lacks Beta"),
        ("StoutSteps      2", "StoutSteps      2\nTopoAct 1", "TopoAct"),
        ("Mass            0.02", "Mass            heavy", "expected a number"),
    ],
)
def test_openacc_refuses(old: str, new: str, text: str) -> None:
    with pytest.raises(BadArgument, match=text):
        from_openacc(OPENACC.replace(old, new))


MILC = """\
prompt 0
nx 16
ny 16
nz 16
nt 48
iseed 4563421
n_pseudo 5
n_dyn_masses 3
dyn_mass 0.01 0.05 0.6
dyn_flavors 2 1 1
u0 1.0
warms 10
trajecs 200
traj_between_meas 5
beta 6.0
naik_term_epsilon 0 0 -0.23
microcanonical_time_step 0.02
steps_per_trajectory 50
"""


def test_milc() -> None:
    run = load(from_milc(MILC, flavours=(2, 1, 1)))
    assert run.lattice.extents == (16, 16, 16, 48)
    # 10 / g^2 = 6: g^2 = 5/3, 6 / g^2 = 3.6
    assert run.action.beta == pytest.approx(3.6, rel=1e-15)
    assert [(f.type, f.n_f, f.mass, f.epsilon) for f in run.fermions] == [
        ("hisq", 2, 0.01, 0.0),
        ("hisq", 1, 0.05, 0.0),
        ("hisq", 1, 0.6, -0.23),
    ]
    assert run.molecular_dynamics.length == pytest.approx(1.0, rel=1e-15)
    assert (run.trajectories.total, run.trajectories.thermalisation) == (210, 10)
    with pytest.raises(BadArgument, match="u0"):
        from_milc(MILC.replace("u0 1.0", "u0 0.86"), flavours=(2, 1, 1))
    with pytest.raises(BadArgument, match="flavours"):
        from_milc(MILC, flavours=(2, 1))


OPENQCD = """\
[Run name]
name         two_flavours

[Random number generator]
level        0
seed         73099

[Lattice parameters]
beta         5.3
c0           1.6667
kappa        0.13625
csw          1.90952

[HMC parameters]
actions      0 1 2
npf          2
mu           0.0 0.5
nlv          2
tau          2.0

[MD trajectories]
nth          20
ntr          100
dtr_cnfg     4

[Level 0]
integrator   OMF4
nstep        1
forces       0

[Level 1]
integrator   OMF2
lambda       0.19
nstep        6
forces       1 2
"""


def test_openqcd() -> None:
    run = load(from_openqcd(OPENQCD, extents=(8, 8, 8, 16)))
    (light,) = run.fermions
    assert (light.type, light.n_f, light.kappa, light.csw) == ("wilson", 2, 0.13625, 1.90952)
    assert light.bare_mass == pytest.approx(1 / (2 * 0.13625) - 4)
    # c0 = 1 - 8 c1
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
