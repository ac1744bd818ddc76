"""This module has hadron two-point functions, doc/conventions.md "Correlators"."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..ground.arguments import choice, instance, integer
from ..ground.arguments import momenta as momentum_list
from ..ground.compiled_core import load
from ..ground.errors import BadArgument
from ..ground.operator_records import MIRRORED_MESONS, ONE_TWISTED_FLAVOUR
from ..quarks.propagators import Propagator

ZERO_MOMENTUM = ((0, 0, 0),)


def momenta_up_to(n_squared: int) -> list[tuple[int, int, int]]:
    """Return all integer vectors n of momenta p = 2 pi n / L up to a length, ordered by n^2.

    Parameters
    ----------
    n_squared
        The largest n^2; at most 10000, which is four million vectors.

    Raises
    ------
    BadArgument
        A number below 0 or above 10000, or not an integer.
    """
    return [tuple(n) for n in load().momenta_up_to(integer("n_squared", n_squared, least=0, most=10**4))]


def meson(
    quark: Propagator,
    antiquark: Propagator,
    sink: str,
    source: str,
    *,
    momenta: Sequence[Sequence[int]] = ZERO_MOMENTUM,
) -> NDArray[np.complex128]:
    """Return the meson correlator C(p, t). Collective.

    C(t) = sum_x exp(-i p.(x - x_src)) < O_sink(x, t + t_src) O_source^dagger(x_src, t_src) >,
    O = psibar Gamma psi: diagonal channels are positive.

    Parameters
    ----------
    quark, antiquark
        Propagators from the same source. The antiquark is gamma5 S^dagger gamma5: with a twisted mass the
        propagator of the opposite mu, and a UserWarning where complex b5 and c5 of single slices do not
        mirror each other.
    sink, source
        Gamma matrices by name: "gamma5", "gamma_x", "gamma_t gamma5", "1", "sigma_xy", ...
    momenta
        Integer vectors n, p = 2 pi n / L.

    Returns
    -------
    ndarray
        complex128, shape [momentum, time]; time counts from the source.

    Raises
    ------
    BadArgument
        Unknown gamma matrix, or propagators from different sources.
    """
    _warn_if_mirrored(antiquark)
    return contract_mesons(quark, antiquark, [(sink, source)], momenta)[0]


def mesons(
    quark: Propagator,
    antiquark: Propagator,
    pairs: Sequence[tuple[str, str]],
    *,
    momenta: Sequence[Sequence[int]] = ZERO_MOMENTUM,
) -> NDArray[np.complex128]:
    """Return several meson correlators at the cost of one. Collective.

    Parameters
    ----------
    quark, antiquark
        Propagators from the same source. The antiquark is gamma5 S^dagger gamma5: with a twisted mass the
        propagator of the opposite mu, and a UserWarning where complex b5 and c5 of single slices do not
        mirror each other.
    pairs
        (sink, source) gamma matrices by name, as in :func:`meson`.
    momenta
        Integer vectors n, p = 2 pi n / L.

    Returns
    -------
    ndarray
        complex128, shape [pair, momentum, time]; time counts from the source.

    Raises
    ------
    BadArgument
        Unknown gamma matrix, or propagators from different sources.
    """
    _warn_if_mirrored(antiquark)
    return contract_mesons(quark, antiquark, pairs, momenta)


def contract_mesons(
    quark: Propagator,
    antiquark: Propagator,
    pairs: Sequence[tuple[str, str]],
    momenta: Sequence[Sequence[int]],
) -> NDArray[np.complex128]:
    """Return what :func:`mesons` returns, without its warning."""
    quarks = _core_of(quark=quark, antiquark=antiquark)
    return load().mesons(*quarks, _pairs(pairs), momentum_list(momenta))


def all_mesons(
    quark: Propagator, antiquark: Propagator, *, momenta: Sequence[Sequence[int]] = ZERO_MOMENTUM
) -> NDArray[np.complex128]:
    """Return meson correlators of all 16 x 16 pairs of gamma matrices. Collective.

    Matrix n is gamma_x^n0 gamma_y^n1 gamma_z^n2 gamma_t^n3 with n = n0 + 2 n1 + 4 n2 + 8 n3.

    Parameters
    ----------
    quark, antiquark
        Propagators from the same source. The antiquark is gamma5 S^dagger gamma5: with a twisted mass the
        propagator of the opposite mu, and a UserWarning where complex b5 and c5 of single slices do not
        mirror each other.
    momenta
        Integer vectors n, p = 2 pi n / L.

    Returns
    -------
    ndarray
        complex128, shape [sink, source, momentum, time]; time counts from the source.

    Raises
    ------
    BadArgument
        Propagators from different sources.
    """
    _warn_if_mirrored(antiquark)
    table = load().all_mesons(*_core_of(quark=quark, antiquark=antiquark), momentum_list(momenta))
    return table.reshape(16, 16, *table.shape[1:])


def baryon(
    name: str,
    *,
    up: Propagator | None = None,
    down: Propagator | None = None,
    strange: Propagator | None = None,
    form: Literal["full", "projected"] | None = None,
    parity: Literal[1, -1] | None = None,
    momenta: Sequence[Sequence[int]] = ZERO_MOMENTUM,
) -> NDArray[np.complex128]:
    """Return the baryon correlator C(p, t). Collective.

    Parameters
    ----------
    name
        "proton", "neutron", "sigma_plus", "sigma_zero", "sigma_minus", "xi_zero", "xi_minus", "lambda";
        "delta_plus_plus", "delta_plus", "delta_zero", "delta_minus", "sigma_star_plus", "sigma_star_zero",
        "sigma_star_minus", "xi_star_zero", "xi_star_minus", "omega_minus". Or a name of run files:
        "nucleon" and "nucleon_projected" (proton), "delta" and "delta_full" (delta_plus_plus), "sigma"
        (sigma_plus), "xi" (xi_zero), "sigma_star", "xi_star", "omega", and these with "_negative" behind.
    up, down, strange
        Propagators from the same source; flavours that the baryon does not have may be left out. The same
        propagator may stand for several; for up and down with a twisted mass that gives a UserWarning.
    form
        "full": the C gamma5 diquark, tr[(1 + parity gamma_t)/2 < B Bbar >], for the decuplet C gamma_k and
        spin 3/2 at rest (doc/operators/contractions.md); "projected": every quark is
        projected at source and sink (the operators of lalibe), mean over the spin states. Default: that of
        the run file's name, or "full".
    parity
        1, or -1 for the parity partner, whose correlator is negative (- < B B^dagger >). Default: that of the
        run file's name, or 1.
    momenta
        Integer vectors n, p = 2 pi n / L.

    Returns
    -------
    ndarray
        complex128, shape [momentum, time]; time counts from the source, the phase of three quarks is removed
        from times that wrapped around: the sign of antiperiodic ones.

    Raises
    ------
    BadArgument
        Unknown name, form or parity, a missing propagator, or propagators from different sources.
    """
    if up is not None and down is not None:
        warn_if_one_twisted_flavour(instance("up", up, Propagator), instance("down", down, Propagator))
    return contract_baryon(name, up=up, down=down, strange=strange, form=form, parity=parity, momenta=momenta)


def contract_baryon(
    name: str,
    *,
    up: Propagator | None = None,
    down: Propagator | None = None,
    strange: Propagator | None = None,
    form: Literal["full", "projected"] | None = None,
    parity: Literal[1, -1] | None = None,
    momenta: Sequence[Sequence[int]] = ZERO_MOMENTUM,
) -> NDArray[np.complex128]:
    """Return what :func:`baryon` returns, without its warning."""
    core = load()
    flavours = {"up": up, "down": down, "strange": strange}
    quarks = core.BaryonQuarks(
        *(None if S is None else instance(name, S, Propagator)._core for name, S in flavours.items())
    )
    operator, own_form, own_parity = _baryon_operator(instance("name", name, str))
    what = (quarks, operator, integer("parity", own_parity if parity is None else parity))
    if choice("form", own_form if form is None else form, "full", "projected") == "full":
        return core.full_baryon(*what, momentum_list(momenta))[0]
    return core.projected_baryon(*what, momentum_list(momenta)).mean(axis=0)


def _baryon_operator(name: str) -> tuple[str, str, int]:
    """Return the operator of a name, and the form and parity that the name stands for."""
    from .channels import NAMED_BARYONS  # it imports the tables of run files, which others need not load

    if name in NAMED_BARYONS:
        named = NAMED_BARYONS[name]
        return named.operator, named.form, named.parity
    core = load()
    legal = [*core.octet_names(), *core.decuplet_names(), *NAMED_BARYONS]
    if name not in legal:
        raise BadArgument(f"no baryon {name!r}; legal: {', '.join(dict.fromkeys(legal))}")
    return name, "full", 1


def nucleon(
    S: Propagator, *, down: Propagator | None = None, momenta: Sequence[Sequence[int]] = ZERO_MOMENTUM
) -> NDArray[np.complex128]:
    """Return the correlator of the proton, form "full", positive parity; see :func:`baryon`. Collective.

    Parameters
    ----------
    S
        The propagator of up; without `down` of both flavours.
    down
        It is that of down: with a twisted mass it has the opposite mu, without which there is a UserWarning.
    momenta
        Integer vectors n, p = 2 pi n / L.

    Returns
    -------
    ndarray
        complex128, shape [momentum, time]; time counts from the source.

    Raises
    ------
    BadArgument
        Not a propagator, or momenta that are none.
    """
    down = instance("S", S, Propagator) if down is None else instance("down", down, Propagator)
    warn_if_one_twisted_flavour(S, down)
    return contract_baryon("proton", up=S, down=down, momenta=momenta)


def _warn_if_mirrored(antiquark: Propagator) -> None:
    """Warn of mesons whose antiquark has the mirrored coefficients b5 and c5.

    A twisted mass is no reason to warn: the antiquark's propagator is then that of the opposite mu.
    """
    operator = instance("antiquark", antiquark, Propagator).operator
    if operator and operator.has_mirrored_mesons:
        b5, c5 = (operator.parameters[name] for name in ("b5", "c5"))
        warnings.warn(f"mesons of b5 = {b5}, c5 = {c5}: {MIRRORED_MESONS}", UserWarning, stacklevel=3)


def warn_if_one_twisted_flavour(up: Propagator, down: Propagator) -> None:
    """Warn if both propagators are known to have the same twisted mass."""
    if up.operator is None or down.operator is None:
        return
    mu = up.operator.parameters.get("twisted_mass", 0.0)
    if mu and mu == down.operator.parameters.get("twisted_mass", 0.0):
        warnings.warn(f"twisted_mass = {mu}: {ONE_TWISTED_FLAVOUR}", UserWarning, stacklevel=3)


def _core_of(**quarks: Propagator) -> tuple[Any, ...]:
    return tuple(instance(name, S, Propagator)._core for name, S in quarks.items())


def _pairs(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    listed = pairs if isinstance(pairs, Iterable) else []
    found = [pair if isinstance(pair, tuple | list) and len(pair) == 2 else None for pair in listed]
    if not found or None in found:
        raise BadArgument(
            f"pairs must be (sink, source) pairs of gamma matrices, at least one, found {pairs!r}"
        )
    return [(str(sink), str(source)) for sink, source in found]
