"""This module fits nucleon charges from two-point and three-point functions with a fixed sink together.

With E_n and the amplitudes A_n = |Z_n|^2 of C(t), and with n next to the sink and m next to the source,

    C(t)       = sum_n A_n exp(-E_n t)
    C3(t, tau) = sum_nm Z_n Z_m* J_nm exp(-E_n (t - tau) - E_m tau)
               = A_0 exp(-E_0 t) [ g + sum_(n or m > 0) g_nm x_n(t - tau) x_m(tau) ]

x_n(t) = exp(-(E_n - E_0) t), g_nm = Z_n Z_m* J_nm / A_0, and g = J_00 is the charge (B. Yoon et al., Phys.
Rev. D 95 (2017) 074508). Where source and sink are one operator, g_nm = g_mn: C3(t, tau) and C3(t, t - tau)
are averaged on each configuration, and fitted as one. Otherwise each has its own coefficient.

C3 of all charges that belong together, at all separations t and times tau of the current, and C are fitted in
a set of windows: t >= t_min for C, and for the current t_min slices, one at least, from source and from sink;
so the contact terms at tau = 0 and tau = t are never fitted. Separations beyond the last time of C in the
fits, t_max, are left out. With one separation g cannot be told from g_11 x_1(t): two are needed, and as many
in a window as its fit has states. Fits have two states or more: the few points of noisy data are described by
one too, whose error knows nothing of the others. All else is that of the Feynman-Hellmann fits (charges.py),
the same code: t_max, priors (g_nm: that of g), weights of windows, profile likelihood, shrinkage,
autocorrelation, finite samples.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...run_files.loading import validate_run
from ..records.charge_results import ChargeOptions, ChargeResult
from ..records.errors import AnalysisError, FitFailed
from .charge_data import Curves, FitData
from .charge_model import ChargeModel, FixedSinkModel
from .charges import fit_data, require_all_times, require_usable

#: Nothing is fitted with fewer separations.
LEAST_SEPARATIONS = 2
#: A fit has at least this many states, unless max_states is smaller.
LEAST_STATES = 2
_LEAST_CONFIGURATIONS = 5
_CURVE_POINTS = 25


class FixedSinkData(FitData):
    """The data are C, then C3 of each charge at its separations, at times of the
    current off source and sink.
    """

    is_fixed_sink = True

    def __init__(
        self,
        two_point: NDArray,
        three_point: Mapping[str, Mapping[int, NDArray]],
        options: ChargeOptions,
        *,
        is_open: bool = False,
        is_symmetric: bool = True,
    ) -> None:
        super().__init__(two_point, list(three_point), options, is_open)
        self.is_symmetric = is_symmetric
        self.least_states = min(LEAST_STATES, options.max_states)
        parts, times, insertions, owners = [two_point], [np.arange(self.extent)], [], []
        for i, (name, by_separation) in enumerate(three_point.items()):
            usable = [t for t in sorted(by_separation) if 2 <= t <= self.t_max]
            if len(usable) < LEAST_SEPARATIONS:
                raise FitFailed(
                    f"charge {name} by fixed sinks: expected {LEAST_SEPARATIONS} separations from 2 to "
                    f"{self.t_max}, the last time slice of the fits, found {len(usable)} among "
                    f"{sorted(by_separation)}: what excited states leave in the middle cannot be told from "
                    "the charge"
                )
            for t in usable:
                tau = np.arange(1, t // 2 + 1 if is_symmetric else t)
                C3 = by_separation[t]
                parts.append((C3[:, tau] + C3[:, t - tau]) / 2 if is_symmetric else C3[:, tau])
                times.append(np.full(len(tau), t))
                insertions.append(tau)
                owners.append(np.full(len(tau), i))
        #: Each datum has its t; those behind C also have their tau and the number of the charge.
        self.t, self.tau, self.owner = (np.concatenate(x) for x in (times, insertions, owners))
        self._set(np.concatenate(parts, axis=1) / self.scale, self.t)
        if self.free(options.t_min_first, self.least_states) <= 0:
            raise FitFailed(
                f"fixed sinks: expected more points than the parameters of {self.least_states} states, found "
                f"{len(self.rows(options.t_min_first)[1])} points (t = {options.t_min_first} to {self.t_max},"
                f" separations {sorted(set(self.t[self.extent :].tolist()))})"
            )

    def _inserted(self, t_min: int) -> NDArray:
        """Return places of the three-point functions of the window."""
        t, least = self.t[self.extent :], max(t_min, 1)
        return self.extent + np.flatnonzero((self.tau >= least) & (t - self.tau >= least))

    def rows(self, t_min: int) -> tuple[NDArray, NDArray]:
        t = np.arange(t_min, self.t_max + 1)
        return t, np.concatenate([t, self._inserted(t_min)])

    def window(self, t_min: int, states: int) -> tuple[ChargeModel, NDArray]:
        t, places = self.rows(t_min)
        inserted = self._inserted(t_min)
        owner = self.owner[inserted - self.extent]
        by_charge = [inserted[owner == i] for i in range(len(self.names))]
        model = FixedSinkModel(
            self.names,
            states,
            t,
            separations=[self.t[places] for places in by_charge],
            insertions=[self.tau[places - self.extent] for places in by_charge],
            is_symmetric=self.is_symmetric,
        )
        return model, places

    def free(self, t_min: int, states: int) -> int:
        """Return the number of data minus that of parameters; 0 where the separations are too few.

        The parameters are E0, A0, the gaps, every r, g and g_nm.
        """
        model, places = self.window(t_min, states)
        assert isinstance(model, FixedSinkModel)
        if min(len(set(t.tolist())) for t in model.separations) < states:
            return 0
        return len(places) - 2 * states - len(model.coefficients) * len(self.names)

    def curves(self, p: dict[str, float], t_min: int, states: int) -> Curves:
        """Return R(t, tau) of the model at the separations of the window."""
        model, _ = self.window(t_min, states)
        assert isinstance(model, FixedSinkModel)
        found: Curves = {}
        for name, separations in zip(self.names, model.separations, strict=True):
            found[name] = {}
            for t in sorted(set(separations.tolist())):
                tau = np.linspace(max(t_min, 1), t - max(t_min, 1), _CURVE_POINTS)
                of_one = FixedSinkModel(
                    [name], states, np.array([t]), [np.full(len(tau), t)], [tau], self.is_symmetric
                )
                values = of_one(p)
                found[name][t] = (tau, values[1:] / values[0])
        return found

    def _to_ratios(self, places: NDArray) -> NDArray:
        """Return C(t) and every R(t, tau) = C3(t, tau)/C(t)."""
        to_ratios = np.eye(len(places))
        for row in np.flatnonzero(places >= self.extent):
            t = self.t[places[row]]
            C = self.mean[t]
            to_ratios[row, row] = 1 / C
            to_ratios[row, places == t] = -self.mean[places[row]] / C**2
        return to_ratios


def fit_fixed_sinks(
    two_point: NDArray,
    three_point: Mapping[str, Mapping[int, NDArray]],
    *,
    trajectories: NDArray | None = None,
    options: ChargeOptions | dict | None = None,
    autocorrelations: Literal["auto", "gamma", "none"] = "auto",
    boundary_t: Literal["periodic", "antiperiodic", "dirichlet"] = "antiperiodic",
    is_symmetric: bool = True,
) -> ChargeResult:
    """Return charges from C(t) and the C3(t, tau) of each current (isovector) at several separations t.

    Parameters
    ----------
    two_point
        Real, shape [configuration, time], time from the source.
    three_point
        "A", "V", or any names -> separation t -> C3(t, tau), the shape of `two_point`.
    trajectories
        Numbers of the configurations, for autocorrelations; default 0, 1, 2, ...
    autocorrelations
        The choice of AnalysisOptions.autocorrelation.
    boundary_t
        The quarks have it: with "dirichlet" windows may reach to T - 1, else to T/2 - 1.
    is_symmetric
        Source and sink are one operator.

    Raises
    ------
    AnalysisError
        The shapes do not fit, or there is no current.
    FitFailed
        There are too few configurations or separations, no window can be fitted, or a correlator is zero, out
        of range or the same on all configurations.
    """
    if not isinstance(options, ChargeOptions):
        options = validate_run(options or {}, ChargeOptions, "options")
    C = np.asarray(two_point, dtype=float)
    if not three_point:
        raise AnalysisError("fixed sinks: expected a current, found none")
    for name, by_separation in three_point.items():
        for t, C3 in by_separation.items():
            if np.shape(C3) != C.shape:
                raise AnalysisError(
                    f"charge {name}, separation {t}: expected shape {C.shape}, found {np.shape(C3)}"
                )
    if len(C) < _LEAST_CONFIGURATIONS:
        raise FitFailed(
            f"fixed sinks: expected at least {_LEAST_CONFIGURATIONS} configurations, found {len(C)}"
        )
    require_usable("C", C)
    require_all_times("C", C)
    samples = {
        name: {t: np.asarray(C3, dtype=float) for t, C3 in by_separation.items()}
        for name, by_separation in three_point.items()
    }
    for name, by_separation in samples.items():
        for t, C3 in by_separation.items():
            if t >= 2:  # there is an inner time
                require_usable(f"C3 of {name} at t = {t}", C3[:, 1:t])
                require_all_times(f"C3 of {name} at separation {t}", C3[:, :t], to_the_end=True)
    data = FixedSinkData(C, samples, options, is_open=boundary_t == "dirichlet", is_symmetric=is_symmetric)
    return fit_data(data, np.arange(len(C)) if trajectories is None else trajectories, autocorrelations)
