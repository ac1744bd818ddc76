"""This module makes the real time series of each particle that fits use from the measured correlators."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ..records.errors import AnalysisError
from ..records.measurements import CorrelatorData, Measurements
from ..records.options import AnalysisOptions
from ..statistics.zero_times import missing_times, of_zeros, partly_zero

_POLARISATION = re.compile(r"^(?P<stem>.+)_[xyz]$")


@dataclass
class ParticleCorrelator:
    """This is a real correlator of one particle at one |n|^2 on all configurations.

    Attributes
    ----------
    samples
        Shape [configuration, time], time from the source, the ground state positive.
    kind
        "meson" or "baryon".
    image
        +1 or -1: C(T - t) = +- C(t) holds in the mean (mesons on a periodic lattice); 0: no such symmetry.
    members
        Names of the datasets that were averaged.
    sign
        -1 where the measured numbers were multiplied by it, to make the ground state positive.
    is_imaginary
        The samples are the imaginary part of what was measured.
    other_part
        The size of the part that is not used, in units of the samples, where it is larger than its noise.
    image_from_data
        Nothing but the data said the symmetry in time.
    flaw
        The reason why it cannot be fitted, if that is known beforehand.
    """

    name: str
    particle: str
    kind: str
    samples: NDArray
    boundary_t: str
    image: int
    members: list[str]
    momentum_squared: int = 0
    attributes: dict = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    flaw: str | None = None
    sign: int = 1
    is_imaginary: bool = False
    other_part: float = 0.0
    image_from_data: bool = False

    @property
    def has_backward_baryon(self) -> bool:
        """Return True if the state of other parity runs backwards in a baryon with a sign +1 or -1.

        A fit to the real part expects that sign.

        A phase exp(i pi a) of the quarks gives the state exp(-+ 3 pi i a); with Dirichlet time
        it does not come back.
        """
        if self.boundary_t == "dirichlet":
            return False
        phase = _phase_over_pi(self.boundary_t)
        return phase is None or abs(3 * phase - round(3 * phase)) < 1e-9

    @property
    def alternates(self) -> bool:
        """Return True for staggered quarks with states of the opposite parity, whose sign is (-1)^t.

        Such datasets name the partner's spin in the attribute `partner`.
        """
        return bool(self.attributes.get("partner"))

    @property
    def time_extent(self) -> int:
        return self.samples.shape[1]

    def folded(self) -> NDArray:
        """Return (C(t) + image C(T - t)) / 2 at t = 0 ... T/2, shape [configuration, T/2 +
        1]; t = 0 stays alone.
        """
        if self.image == 0:
            raise AnalysisError(
                f"{self.name}: expected a correlator that is symmetric in time, found image 0"
            )
        extent = self.time_extent
        forward = self.samples[:, : extent // 2 + 1].copy()
        backward = self.samples[:, :0:-1][:, : extent // 2]
        forward[:, 1:] = 0.5 * (forward[:, 1:] + self.image * backward)
        return forward

    def reversed_in_time(self, name: str) -> ParticleCorrelator:
        """Return C(T - t), made positive: the parity partner of a baryon."""
        samples = np.roll(self.samples[:, ::-1], 1, axis=1)
        sign = 1.0 if samples[:, 1:3].mean() > 0 else -1.0
        return replace(self, name=name, particle=name, samples=sign * samples, notes=[])

    def fit_samples(self) -> NDArray:
        """Return the samples for fits: folded where time reflection is a symmetry, else forward in time."""
        return self.folded() if self.image else self.samples


def time_reflection(gamma: str) -> int | None:
    """Return the sign of Gamma under gamma_t gamma_5 Gamma gamma_5 gamma_t: (-1)^(number of gamma_t).

    gamma5 = gamma_x gamma_y gamma_z gamma_t counts one. A name that is not a product of gammas gives None.
    The correlator of source and sink is symmetric in time when the product of their signs is +1.
    """
    words = gamma.lower().replace("*", " ").replace("gamma_", "gamma").split()
    sign = 1
    for word in words:
        if word in ("gammat", "gamma5", "gamma4"):
            sign = -sign
        elif word not in ("gammax", "gammay", "gammaz", "identity", "1", "one"):
            return None
    return sign if words else None


def _phase_over_pi(boundary: object) -> float | None:
    """Return the phase over pi of a boundary condition that is a finite number; None for other conditions."""
    try:
        phase = float(str(boundary))
    except ValueError:
        return None
    return phase if np.isfinite(phase) else None


def _image(data: CorrelatorData, values: NDArray, notes: list[str]) -> tuple[int, bool]:
    """Return +1, -1 or 0 from the quantum numbers, checked against the data; True if nothing else says it."""
    boundary = data.attributes["boundary_t"]
    if boundary not in ("periodic", "antiperiodic", "dirichlet") and _phase_over_pi(boundary) is None:
        raise AnalysisError(
            f"{data.name}: boundary_t: expected periodic, antiperiodic, dirichlet or a phase over pi, found "
            f"{boundary!r}"
        )
    if data.attributes["type"] != "meson" or boundary == "dirichlet":
        return 0, False
    if "time_symmetry" in data.attributes:
        return _said_symmetry(data), False
    mean = values.mean(axis=0)
    odd, even = mean[1:] - mean[:0:-1], mean[1:] + mean[:0:-1]
    seen = 1 if np.abs(even).sum() >= np.abs(odd).sum() else -1
    source, sink = (time_reflection(str(data.attributes.get(end, ""))) for end in ("source", "sink"))
    if source is None or sink is None:
        notes.append(f"{data.name}: symmetry in time ({seen:+d}) taken from the data, gamma names unknown")
        return seen, True
    expected = source * sink
    if expected != seen:
        notes.append(
            f"{data.name}: the data look {seen:+d} in time, the gammas say {expected:+d}: that is used"
        )
    return expected, False


def _said_symmetry(data: CorrelatorData) -> int:
    """Return the symmetry in time that the correlator's own attribute says."""
    said = data.attributes["time_symmetry"]
    if said not in (-1, 0, 1):
        raise AnalysisError(f"{data.name}: time_symmetry: expected +1, -1 or 0, found {said!r}")
    return int(said)


@dataclass(frozen=True)
class _Part:
    """This is the larger one of real and imaginary part, and the relative size of the other one."""

    samples: NDArray
    is_imaginary: bool
    other: float


def _larger_part(data: CorrelatorData, values: NDArray, notes: list[str]) -> _Part:
    mean = np.abs(values.mean(axis=0))
    if np.abs(values.imag.mean(axis=0)).sum() > 0.5 * mean.sum():
        notes.append(f"{data.name}: the imaginary part is used, the real part is the smaller one")
        return _Part(values.imag, True, _relative_size(values.real, values.imag))
    return _Part(values.real, False, _relative_size(values.imag, values.real))


def near_source(samples: NDArray) -> NDArray:
    """Return the samples at t = 1 ... T/4, where the signal is strong."""
    return samples[:, 1 : max(2, samples.shape[1] // 4 + 1)]


def _relative_size(other: NDArray, used: NDArray) -> float:
    """Return the size of the other part near the source in units of the used one; 0 where it may be noise."""
    if not is_beyond_noise(near_source(other)):
        return 0.0
    sizes = [float(np.abs(near_source(part).mean(axis=0)).sum()) for part in (other, used)]
    return sizes[0] / sizes[1] if sizes[1] else np.inf


def is_beyond_noise(samples: NDArray) -> bool:
    """Return True if the mean over configurations is not zero at one of the times.

    Eight errors of independent configurations are two or three where these are correlated.
    """
    error = samples.std(axis=0) / np.sqrt(len(samples))
    return bool(np.any(np.abs(samples.mean(axis=0)) > 8 * error))


def _at_momentum(data: CorrelatorData, squared: int) -> NDArray:
    """Return the average over all momenta with this |n|^2, shape [configuration, time], complex."""
    chosen = (data.momenta**2).sum(axis=1) == squared
    return data.values[:, chosen].mean(axis=1)


def _groups(measurements: Measurements, options: AnalysisOptions) -> dict[str, list[str]]:
    """Return the datasets that are averaged on each configuration, by the name of the result."""
    names = [n for n, c in measurements.correlators.items() if c.attributes["type"] in ("meson", "baryon")]
    groups: dict[str, list[str]] = {}
    if options.averages is not None:
        for name, members in options.averages.items():
            if name in names and name not in members:
                raise AnalysisError(
                    f"averages: expected another name than {name!r}, for the files have a correlator with it"
                )
            for member in members:
                if member not in names:
                    raise AnalysisError(f"averages: expected one of {names}, found {member!r}")
            groups[name] = list(members)
    else:
        stems: dict[str, list[str]] = {}
        for name in names:
            if match := _POLARISATION.match(name):
                stems.setdefault(match["stem"], []).append(name)
        groups = {stem: members for stem, members in stems.items() if len(members) > 1 and stem not in names}
    used = {member for members in groups.values() for member in members}
    order = {member: name for name, members in groups.items() for member in members[:1]}
    result: dict[str, list[str]] = {}
    for name in names:  # this keeps the order of the file
        if name in order:
            result[order[name]] = groups[order[name]]
        elif name not in used:
            result[name] = [name]
    return result


def particle_correlators(measurements: Measurements, options: AnalysisOptions) -> list[ParticleCorrelator]:
    """Return all correlators to analyse; they are real, positive, and averaged over
    polarisations and equal |n|^2.

    Without `options.particles`, datasets that carry no attribute `particle` are left out.

    Raises
    ------
    AnalysisError
        Names are not there, members do not belong together, or there is a single time.
    """
    for name, c in measurements.correlators.items():
        if c.values.shape[2] < 2:
            raise AnalysisError(
                f"{name}: expected a correlator of at least 2 times, found T = {c.values.shape[2]}: there is "
                "no energy in it"
            )
    groups = _groups(measurements, options)
    wanted = options.particles
    result = []
    for name, members in groups.items():
        data = [measurements.correlators[m] for m in members]
        particle = str(data[0].attributes.get("particle") or "")
        if not particle if wanted is None else not {name, particle}.intersection(wanted):
            continue
        squares = sorted({int(s) for s in (data[0].momenta ** 2).sum(axis=1)})
        for squared in [0] if 0 in squares and not options.moving else squares:
            result.append(_build(name, particle or name, data, squared))
    if wanted is not None:
        known = {c.name for c in result} | {c.particle for c in result}
        missing = [w for w in wanted if w not in known]
        if missing:
            raise AnalysisError(f"particles: expected names among {sorted(groups)}, found {missing}")
    return result


def _build(name: str, particle: str, data: list[CorrelatorData], squared: int) -> ParticleCorrelator:
    kinds = {d.attributes["type"] for d in data}
    if kinds not in ({"meson"}, {"baryon"}):
        raise AnalysisError(
            f"{name}: type: expected meson or baryon, the same for all members, found {sorted(kinds)}"
        )
    notes: list[str] = []
    chosen = [_larger_part(d, _at_momentum(d, squared), notes) for d in data]
    parts = [part.samples for part in chosen]
    symmetries = [_image(d, p, notes) for d, p in zip(data, parts, strict=True)]
    images = {image for image, _ in symmetries}
    if len(images) != 1:
        raise AnalysisError(f"{name}: expected members with one symmetry in time, found {sorted(images)}")
    image = images.pop()
    flaws = [_zeros(d, p, image, notes) for d, p in zip(data, parts, strict=True)]
    samples = np.mean(parts, axis=0)
    sign = 1
    if near_source(samples).mean(axis=0).sum() < 0:
        notes.append(f"{name}: multiplied by -1")
        samples, sign = -samples, -1
    label = name if squared == 0 else f"{name}_p{squared}"
    return ParticleCorrelator(
        name=label,
        particle=particle,
        kind=data[0].attributes["type"],
        samples=samples,
        boundary_t=str(data[0].attributes["boundary_t"]),
        image=image,
        members=[d.name for d in data],
        momentum_squared=squared,
        attributes=data[0].attributes,
        notes=notes,
        flaw=next((flaw for flaw in flaws if flaw), None),
        sign=sign,
        is_imaginary=any(part.is_imaginary for part in chosen),
        other_part=max(part.other for part in chosen),
        image_from_data=any(from_data for _, from_data in symmetries),
    )


def _zeros(data: CorrelatorData, values: NDArray, image: int, notes: list[str]) -> str | None:
    """Return why a correlator with times without numbers cannot be fitted; a few such numbers give a note.

    An antisymmetric correlator is 0 at T/2 where its program made it so.
    """
    runs_round = data.attributes["type"] == "meson" and data.attributes["boundary_t"] != "dirichlet"
    times = missing_times(values, to_the_end=runs_round)
    times = [t for t in times if image != -1 or 2 * t != values.shape[1]]
    if times:
        return f"{data.name}: {of_zeros(times, len(values))}"
    partly = partly_zero(values)
    if partly is not None:
        notes.append(f"{data.name}: {partly}, which look like numbers that were not written")
    return None
