"""This module lists the work that the host does where links lie on a GPU, and what it copies for that.

It is the one list: ``trellis doctor --device cuda`` prints it, doc/howto/gpu.md has it as a table, and
tests/python/tree/test_host_work.py compares it with the sources.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class HostWork:
    """This is one kind of work.

    Attributes
    ----------
    what : str
        It says what the host does.
    when : str
        It says how often.
    copies : str
        It says what travels between host and GPU for it.
    sources : tuple of str
        Files of src/trellis that do it.
    """

    what: str
    when: str
    copies: str
    sources: tuple[str, ...]


HOST_WORK = (
    HostWork(
        "files and arrays of propagators",
        "for each of them",
        "the propagator",
        ("measure/propagator.cpp", "measure/staggered_propagator.cpp"),
    ),
    HostWork(
        "links with the weights of a conserved current",
        "for each current",
        "the links, both ways",
        ("measure/conserved_current.cpp",),
    ),
    HostWork(
        "walls of domain-wall quarks from a source on the host",
        "for each solve",
        "the columns and their walls",
        ("measure/domain_wall_propagator.cpp",),
    ),
    HostWork(
        "conversion of a field to another storage on its way between host and GPU",
        "for each of them",
        "the field",
        ("field/storage/copies.cpp",),
    ),
    HostWork(
        "distance of a reversed trajectory from its start",
        "for each such test",
        "links and momenta",
        ("update/hmc.cpp",),
    ),
    HostWork(
        "start vectors of eigensolvers",
        "for each solve",
        "the vectors",
        ("solver/eigen/lanczos_basis.cpp",),
    ),
    HostWork(
        "set-up of multigrid",
        "for each operator",
        "coarse links and near-null vectors",
        (
            "multigrid/coarse_galerkin.cpp",
            "multigrid/coarse_operator.cpp",
            "multigrid/coarse_schwarz.cpp",
            "multigrid/galerkin.cpp",
            "multigrid/noise.cpp",
        ),
    ),
    HostWork(
        "couplings, starts and files of spin glasses",
        "once for each of them",
        "the spins or couplings",
        ("glass/bond_couplings.cpp", "glass/spin_glass.cpp"),
    ),
    HostWork(
        "ghosts of a field as an array",
        "in tests alone",
        "the ghosts",
        ("field/halo/halo_exchange.cpp",),
    ),
)
