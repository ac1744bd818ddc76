"""This module has inputs of other programs, as small as they may be."""

from __future__ import annotations

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

[Boundary conditions]
type         3
theta        0.0 0.5 -1.0

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
