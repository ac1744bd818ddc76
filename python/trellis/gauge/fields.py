"""Lattices, gauge fields and their files."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ..ground.arguments import (
    choice,
    complex_array,
    file_path,
    instance,
    integer,
    integers,
    real,
    stout_weights,
)
from ..ground.compiled_core import load
from ..ground.copies_and_pickles import NotPickled, array_of
from ..ground.crash_safe_files import behind_links
from ..ground.errors import BadArgument, NotAvailable, NumericError
from ..ground.parallel import rank
from ..ground.stout_limits import why_roughening
from ..ground.tuning import prepare

if TYPE_CHECKING:
    from .. import _core

FourIntegers = Sequence[int]
#: Unitarity violation of links that come from arrays; those that were rounded to 32 bits have about 2e-7.
_MOST_VIOLATION = 1e-6
T = TypeVar("T")


def in_four_directions(values: Sequence[T]) -> tuple[T, T, T, T]:
    """Return the core's four values for x, y, z, t as a tuple of known length."""
    x, y, z, t = values
    return x, y, z, t


class Geometry:
    """The lattice, and how it is cut over ranks.

    Parameters
    ----------
    extents
        Lx, Ly, Lz, Lt; each even or 1. Quarks, flow and charge need at least 2.
    grid
        Ranks in x, y, z, t; default: the grid with the least communication.

    Raises
    ------
    BadArgument
        An extent is odd and not 1, or the lattice cannot be cut like that; the message lists the legal grids.
    """

    def __init__(self, extents: FourIntegers, grid: FourIntegers | None = None) -> None:
        prepare()
        self._core: _core.Lattice = load().make_lattice(integers("extents", extents, 4), _grid(grid))

    @classmethod
    def _of(cls, core: _core.Lattice) -> Geometry:
        geometry = cls.__new__(cls)
        geometry._core = core
        return geometry

    @property
    def extents(self) -> tuple[int, int, int, int]:
        """Lx, Ly, Lz, Lt of the whole lattice."""
        return in_four_directions(self._core.extents)

    @property
    def local_extents(self) -> tuple[int, int, int, int]:
        """Extents of this rank's part."""
        return in_four_directions(self._core.local_extents)

    @property
    def origin(self) -> tuple[int, int, int, int]:
        """x, y, z, t of the first site of this rank."""
        return in_four_directions(self._core.origin)

    @property
    def grid(self) -> tuple[int, int, int, int]:
        """Ranks in x, y, z, t."""
        return in_four_directions(self._core.grid)

    @property
    def volume(self) -> int:
        """Sites of the whole lattice."""
        return self._core.volume

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Geometry) and self._core == other._core

    def __hash__(self) -> int:
        return hash((self.extents, self.grid))

    def __reduce__(self) -> tuple[type[Geometry], tuple[FourIntegers, FourIntegers]]:
        return Geometry, (self.extents, self.grid)

    def __repr__(self) -> str:
        x, y, z, t = self.extents
        return f"Geometry(({x}, {y}, {z}, {t}), grid={self.grid})"


class GaugeField(NotPickled):
    """Links U_mu(x), double precision.

    Made by :func:`read_gauge_field`, :func:`cold`, :func:`hot`, :func:`weak_field`, :func:`quenched` or
    :meth:`from_numpy`. ``np.asarray(U)`` is :meth:`to_numpy`, ``copy.copy(U)`` is :meth:`copy`.

    Parameters
    ----------
    core
        The field of the compiled part.
    report
        What was found in the file that it was read from; None of fields that come from no file.
    """

    _instead = "write them to files (U.write), which tr.read_gauge_field reads"

    def __init__(self, core: _core.GaugeField, report: FileReport | None = None) -> None:
        self._core = core
        self.report = report  #: what was found in the file it came from, or None

    @cached_property
    def geometry(self) -> Geometry:
        """The lattice."""
        return Geometry._of(self._core.lattice)

    @classmethod
    def from_numpy(
        cls, links: ArrayLike, geometry: Geometry | None = None, *, check: bool = True
    ) -> GaugeField:
        """A field from an array (copied). Collective.

        Parameters
        ----------
        links
            complex, shape [t, z, y, x, mu, row, column], mu = x, y, z, t; this rank's part.
        geometry
            The lattice; default: that of the array, for a single rank.
        check
            False: take links that are not SU(3), too (links with U(1) phases, for example).

        Raises
        ------
        BadArgument
            Another shape, no finite numbers, an extent that is odd, or a unitarity violation
            (doc/conventions.md) above 1e-6, which links of single precision do not reach.
        """
        links = complex_array("links", links)
        if links.ndim != 7:
            raise BadArgument(
                f"links must have the shape [t, z, y, x, mu, row, column], found {list(links.shape)}"
            )
        if geometry is None:
            geometry = Geometry(links.shape[3::-1])
        field = load().GaugeField(instance("geometry", geometry, Geometry)._core)
        field.from_numpy(links)
        violation = field.unitarity_violation()  # by all ranks, before one finds a NaN
        if not np.isfinite(links).all():
            first = np.argwhere(~np.isfinite(links))[0][:5].tolist()
            raise BadArgument(f"links has a NaN or Inf, first at [t, z, y, x, mu] = {first}")
        if check and not violation <= _MOST_VIOLATION:
            raise BadArgument(
                "links must be SU(3) matrices: expected a unitarity violation, the largest "
                f"|(U U^dagger - 1)_ij| or |det U - 1|, of at most {_MOST_VIOLATION:g}, found "
                f"{violation:.3g}; check=False takes them as they are"
            )
        return cls(field)

    def to_numpy(self) -> NDArray[np.complex128]:
        """The links of this rank, shape [t, z, y, x, mu, row, column]; a copy."""
        return self._core.to_numpy()

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return array_of(self.to_numpy(), "GaugeField", dtype, copy)

    def copy(self) -> GaugeField:
        """An independent copy."""
        return GaugeField(self._core.copy(), self.report)

    def __copy__(self) -> GaugeField:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> GaugeField:
        return self.copy()

    @property
    def device(self) -> str:
        """The links lie on this device: "cpu" or "cuda"."""
        return self._core.device

    def to(self, device: str) -> GaugeField:
        """Return the links on another device; operators, solves and smearing made from them work there.

        Parameters
        ----------
        device
            "cpu" or "cuda" (a GPU; each rank of a node takes its own in turn).

        Raises
        ------
        NotAvailable
            The build has no CUDA, or no GPU can be used; the message says which.
        BadArgument
            Another device.
        """
        require_device(device)
        return self if device == self.device else GaugeField(self._core.on(device), self.report)

    @property
    def plaquette(self) -> float:
        """Mean of Re tr P / 3 over sites and planes (1 on the unit field). Collective."""
        return self._core.plaquette()

    @property
    def polyakov_loop(self) -> complex:
        """Spatial mean of tr prod_t U_t / 3. Collective."""
        return self._core.polyakov_loop(3)

    def polyakov_loop_along(self, direction: Literal["x", "y", "z", "t"]) -> complex:
        """Mean of tr prod U_mu / 3 over the lines of one direction. Collective.

        Parameters
        ----------
        direction
            "x", "y", "z", or "t", that of :attr:`polyakov_loop`.

        Returns
        -------
        complex
            1 on the unit field.

        Raises
        ------
        BadArgument
            Another direction.
        """
        return self._core.polyakov_loop("xyzt".index(choice("direction", direction, *"xyzt")))

    def loops(self) -> dict[str, float | complex]:
        """All simple loops. Collective.

        Returns
        -------
        dict
            plaquette, plaquette_spatial, plaquette_temporal; rectangle (mean of Re tr / 3 over the 12
            orientations); link_trace (mean of Re tr U / 3); polyakov_loop (complex; spatial mean of
            tr prod U_t / 3); unitarity_violation (largest |(U U^dagger - 1)_ij| and |det U - 1|).
        """
        return self._core.loops()

    def reunitarised(self) -> GaugeField:
        """The links brought back to SU(3), Gram and Schmidt on the rows.

        Files in 32 bits have links that are special unitary to about 1e-7. Collective.

        Raises
        ------
        NumericError
            A link whose rows are not independent, such as one of zeros.
        """
        links = self._core.copy()
        load().reunitarise_links(links)
        if not np.isfinite(links.unitarity_violation()):
            raise NumericError("a link has rows that are not independent: no matrix of SU(3) belongs to it")
        return GaugeField(links)

    def stout(
        self, *, rho: float | Sequence[Sequence[float]], steps: int, spatial: bool = False
    ) -> GaugeField:
        """Stout-smeared links (Morningstar and Peardon, hep-lat/0311018), `steps` times. Collective.

        Parameters
        ----------
        rho
            Weight of each staple; or four rows of four, rho[mu][nu] of the staples of U_mu in the plane of mu
            and nu, with zeros on the diagonal. At most 0.25 in size; weights with which waves of the links
            grow, below 0 and above 0.16, give a UserWarning.
        steps
            At least 0.
        spatial
            Spatial links by their spatial staples; temporal links stay as they are. With one rho.

        Raises
        ------
        BadArgument
            rho is above 0.25 in size, not finite or of another shape, or steps is below 0.
        """
        weights, steps = _stout_weights(rho, spatial), integer("steps", steps, least=0)
        if steps > 0 and rank() == 0 and (said := why_roughening("rho", weights)):
            warnings.warn(said, UserWarning, stacklevel=2)
        return GaugeField(self._core.stout(weights, steps))

    def _stout(
        self, rho: float | Sequence[Sequence[float]], steps: int, *, spatial: bool = False
    ) -> GaugeField:
        """:meth:`stout` for commands, which warn by the keys of their run files. Collective."""
        return GaugeField(self._core.stout(_stout_weights(rho, spatial), steps))

    def ape(self, *, alpha: float, steps: int, spatial: bool = False) -> GaugeField:
        """APE-smeared links (Albanese et al., Phys. Lett. B 192, 163), `steps` times. Collective.

        Parameters
        ----------
        alpha
            Weight of the staples, 0 to 1: U' = P[(1 - alpha) U + alpha / n (sum of the n staples)], P the
            projection to SU(3) with the largest Re tr, n = 6, or 4 if spatial.
        steps
            At least 0.
        spatial
            Spatial links by their spatial staples; temporal links stay as they are.

        Raises
        ------
        BadArgument
            alpha is not from 0 to 1, or steps is below 0.
        """
        alpha, steps = real("alpha", alpha, least=0, most=1), integer("steps", steps, least=0)
        return GaugeField(self._core.ape(alpha, steps, bool(spatial)))

    def wilson_loops(
        self,
        *,
        spatial: int,
        temporal: int,
        planes: Literal["temporal", "spatial", "all"] = "temporal",
    ) -> NDArray[np.float64]:
        """W(R, T), the mean of Re tr / 3 of loops along the axes over sites and planes. Collective.

        Parameters
        ----------
        spatial, temporal
            The largest R and T; at least 1, at most the extents that the loops lie in.
        planes
            R along mu and T along nu: "temporal" mu = x, y, z and nu = t; "spatial" different spatial ones;
            "all" twelve pairs.

        Returns
        -------
        array
            float, shape [spatial, temporal], W(R, T) at [R - 1, T - 1]. Smeared links: call it of
            :meth:`ape` with ``spatial=True``.

        Raises
        ------
        BadArgument
            An extent below 1 or beyond the lattice, or unknown planes.
        """
        R, T = integer("spatial", spatial), integer("temporal", temporal)
        choice("planes", planes, "temporal", "spatial", "all")
        shortest = min(self.geometry.extents if planes == "all" else self.geometry.extents[:3])
        for name, asked, there in (
            ("spatial", R, shortest),
            ("temporal", T, self.geometry.extents[3] if planes == "temporal" else shortest),
        ):
            if asked > there:
                raise BadArgument(f"{name} must be at most {there}, the extent of the lattice, found {asked}")
        return np.array(self._core.wilson_loops(R, T, planes))

    @property
    def topological_charge(self) -> float:
        """Clover definition, of the links as they are (no flow). Collective."""
        return self._core.topological_charge()

    def write(
        self,
        path: str | os.PathLike,
        format: str = "ildg",
        *,
        precision: int | None = None,
        byte_order: Literal["big", "little"] = "big",
        logical_file_name: str = "",
        ensemble_id: str = "",
        ensemble_label: str = "",
    ) -> None:
        """Write to a file: under a temporary name, synchronised, then renamed. Collective.

        Through a symbolic link the file behind it is written; the link stays.

        Parameters
        ----------
        path
            The file; an older one of that name is replaced once the new one is whole.
        format
            "ildg", "scidac", "nersc", "nersc-2row", "milc" or "openqcd".
        precision
            Bits of a number, 32 or 64; default: 64, or what the format has.
        byte_order
            "little" for NERSC and MILC only; the others have one order.
        logical_file_name
            ILDG: of the record ildg-data-lfn.
        ensemble_id, ensemble_label
            NERSC: of the header.

        Raises
        ------
        BadArgument
            Unknown format, or a precision, byte order or text that the format lacks.
        FileError
            The file cannot be written (a full disk, for example); an older file of that name is left alone.
        NumericError
            Links that are not finite or, as on reading, not in SU(3) to 1e-4.
        """
        bits = 0 if precision is None else integer("precision", precision, least=1)
        for name, value, formats in (
            ("logical_file_name", logical_file_name, ("ildg",)),
            ("ensemble_id", ensemble_id, ("nersc", "nersc-2row")),
            ("ensemble_label", ensemble_label, ("nersc", "nersc-2row")),
        ):
            instance(name, value, str)
            if value and format not in formats:
                raise BadArgument(f"{name} is written to {' and '.join(formats)} files, found {format!r}")
            if "\n" in value or "\0" in value:
                raise BadArgument(f"{name} must be one line, found {value!r}")
        load().write_gauge_field(
            behind_links(file_path(path)),
            self._core,
            str(format),
            bits,
            [],
            choice("byte_order", byte_order, "big", "little") == "little",
            logical_file_name,
            ensemble_id,
            ensemble_label,
        )

    def __repr__(self) -> str:
        return f"<GaugeField {'x'.join(map(str, self.geometry.extents))}>"


@dataclass(frozen=True)
class FileReport:
    """A report on a gauge file: it names the format, and says whether the file is sound.

    Attributes
    ----------
    format, lattice, precision_bits
        They are as the file states them.
    checksums
        Dicts with kind, stored, computed, ok; stored and ok are None where the file has none.
    values
        Header values beside the values of the links: dicts with name, expected, found, tolerance, ok.
    warnings
        Sentences for the user.
    metadata
        Pairs of header keys and texts.
    ok
        True if no check failed.
    """

    format: str
    lattice: tuple[int, int, int, int]
    precision_bits: int
    checksums: list[dict[str, Any]]
    values: list[dict[str, Any]]
    warnings: list[str]
    metadata: list[tuple[str, str]]
    ok: bool

    @classmethod
    def _of(cls, core: _core.FileReport) -> FileReport:
        return cls(
            core.format,
            in_four_directions(core.lattice),
            core.precision_bits,
            core.checksums,
            core.values,
            list(core.warnings),
            list(core.metadata),
            core.ok,
        )


def read_gauge_field(
    path: str | os.PathLike,
    *,
    grid: FourIntegers | None = None,
    lattice: FourIntegers | None = None,
    report_only: bool = False,
    device: str = "cpu",
) -> GaugeField:
    """Read a gauge configuration; the format is recognised. Collective: each rank reads its part.

    What could not be checked (no checksum in the file) is in ``report.warnings``, and rank 0 gives a
    UserWarning for each.

    Parameters
    ----------
    path
        ILDG, SciDAC, NERSC, MILC v5, openQCD or Bridge++ text.
    grid
        Ranks in x, y, z, t; default: the grid with the least communication.
    lattice
        x, y, z, t, for files that do not say it; where the file says it, it must agree.
    report_only
        Failed checks do not raise; they are in ``report``.
    device
        "cpu", or "cuda" to have the links, and what is made from them, on a GPU (:meth:`GaugeField.to`).

    Returns
    -------
    GaugeField
        ``report`` says what was found. Links are kept as stored.

    Raises
    ------
    FileError
        Not a gauge file, truncated, another lattice than expected, links that are not SU(3).
    ChecksumError
        A checksum, plaquette or link trace is not the stored one.
    NotAvailable
        device="cuda" without a GPU that can be used.
    """
    U = read_with_report(path, grid=grid, lattice=lattice, report_only=report_only, device=device)
    if U.report is not None and rank() == 0:
        for text in U.report.warnings:
            warnings.warn(f"{os.fspath(path)}: {text}", UserWarning, stacklevel=2)
    return U


def read_with_report(
    path: str | os.PathLike,
    *,
    grid: FourIntegers | None = None,
    lattice: FourIntegers | None = None,
    report_only: bool = False,
    device: str = "cpu",
) -> GaugeField:
    """:func:`read_gauge_field` for commands, which print ``report.warnings`` themselves. Collective."""
    require_device(device)
    prepare()
    core, report = load().read_gauge_field(
        file_path(path),
        _grid(grid),
        None if lattice is None else integers("lattice", lattice, 4),
        report_only,
    )
    return GaugeField(core, FileReport._of(report)).to(device)


def require_device(device: str) -> None:
    """Raise BadArgument for a word that names no device, NotAvailable for one that cannot be used."""
    if choice("device", device, "cpu", "cuda") == "cuda" and (why := load().why_no_gpu()):
        raise NotAvailable(f'device "cuda": {why}')


def _grid(grid: FourIntegers | None) -> list[int]:
    return [0, 0, 0, 0] if grid is None else integers("grid", grid, 4)


def _stout_weights(rho: float | Sequence[Sequence[float]], spatial: bool) -> list[list[float]]:
    weights = stout_weights("rho", rho)
    if not spatial:
        return weights
    if not np.isscalar(rho):
        raise BadArgument("spatial goes with one rho: in rho[mu][nu] write zeros where nu is t")
    return [[0.0 if 3 in (mu, nu) else weights[mu][nu] for nu in range(4)] for mu in range(4)]
