"""This module has the correlators that run files name, spelled out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

_AXES = ("x", "y", "z")
_NEXT = {"x": "yz", "y": "zx", "z": "xy"}


@dataclass(frozen=True)
class MesonChannel:
    """This is a meson correlator: name of its dataset, particle ("": none in particular), gamma matrices."""

    name: str
    particle: str
    sink: str
    source: str
    has_strange: bool = False  #: it is true if the antiquark is strange
    has_strange_quark: bool = False


def _vector(particle: str, gamma: str) -> list[MesonChannel]:
    """Return the channels of three polarisations; {k} is the axis and {ij} the plane normal to it."""
    names = [(axis, gamma.format(k=axis, ij=_NEXT[axis])) for axis in _AXES]
    return [MesonChannel(f"{particle}_{axis}", particle, matrix, matrix) for axis, matrix in names]


NAMED_MESONS: dict[str, list[MesonChannel]] = {
    "pion": [MesonChannel("pion", "pion", "gamma5", "gamma5")],
    "kaon": [MesonChannel("kaon", "kaon", "gamma5", "gamma5", has_strange=True)],
    "pion_a4": [MesonChannel("pion_a4", "pion", "gamma_t gamma5", "gamma5")],
    "a0": [MesonChannel("a0", "a0", "1", "1")],
    "rho": _vector("rho", "gamma_{k}"),
    "a1": _vector("a1", "gamma_{k} gamma5"),
    "b1": _vector("b1", "sigma_{ij}"),
}


@dataclass(frozen=True)
class BaryonChannel:
    """This is a baryon correlator: name of its dataset, particle, operator, parity. Up and down are
    degenerate."""

    name: str
    particle: str
    operator: str
    form: Literal["full", "projected"]
    parity: Literal[1, -1] = 1


_POSITIVE_BARYONS: dict[str, BaryonChannel] = {
    "nucleon": BaryonChannel("nucleon", "nucleon", "proton", "full"),
    "nucleon_projected": BaryonChannel("nucleon_projected", "nucleon", "proton", "projected"),
    "delta": BaryonChannel("delta", "delta", "delta_plus_plus", "projected"),
    "delta_full": BaryonChannel("delta_full", "delta", "delta_plus_plus", "full"),
    "lambda": BaryonChannel("lambda", "lambda", "lambda", "full"),
    "sigma": BaryonChannel("sigma", "sigma", "sigma_plus", "full"),
    "xi": BaryonChannel("xi", "xi", "xi_zero", "full"),
    "sigma_star": BaryonChannel("sigma_star", "sigma_star", "sigma_star_plus", "full"),
    "xi_star": BaryonChannel("xi_star", "xi_star", "xi_star_zero", "full"),
    "omega": BaryonChannel("omega", "omega", "omega_minus", "full"),
}
NAMED_BARYONS = _POSITIVE_BARYONS | {
    f"{name}_negative": BaryonChannel(
        f"{name}_negative", f"{channel.particle}_negative", channel.operator, channel.form, -1
    )
    for name, channel in _POSITIVE_BARYONS.items()
}


def gamma_product_name(n: int) -> str:
    """Return the name of gamma_x^n0 gamma_y^n1 gamma_z^n2 gamma_t^n3, n = n0 + 2 n1 + 4 n2 + 8 n3."""
    if n == 15:
        return "gamma5"
    factors = [f"gamma_{axis}" for bit, axis in enumerate("xyzt") if n >> bit & 1]
    return " ".join(factors) or "1"
