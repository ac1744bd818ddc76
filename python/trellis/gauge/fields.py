"""This module has gauge fields: their links, loops and smearing."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ..ground.arguments import (
    choice,
    complex_array,
    file_path,
    instance,
    integer,
    real,
    stout_weights,
)
from ..ground.compiled_core import load
from ..ground.copies_and_pickles import NotPickled, array_of
from ..ground.crash_safe_files import behind_links
from ..ground.errors import BadArgument, NotAvailable, NumericError
from ..ground.parallel import rank
from ..ground.stout_limits import why_roughening
from .file_report import FileReport
from .geometry import Geometry

if TYPE_CHECKING:
    from .. import _core

#: Links that come from arrays violate unitarity by at most this; those rounded to 32 bits have about 2e-7.
_MOST_VIOLATION = 1e-6


class GaugeField(NotPickled):
    """It has links U_mu(x) in double precision.

    It is made by :func:`read_gauge_field`, :func:`cold`, :func:`hot`, :func:`weak_field`, :func:`quenched` or
    :meth:`from_numpy`. ``np.asarray(U)`` is :meth:`to_numpy`, ``copy.copy(U)`` is :meth:`copy`.

    Parameters
    ----------
    core
        The field of the compiled part.
    report
        It was found in the file that the field was read from; it is None for fields that come from no file.
    """

    _instead = "write them to files (U.write), which tr.read_gauge_field reads"

    def __init__(self, core: _core.GaugeField, report: FileReport | None = None) -> None:
        self._core = core
        self.report = report  #: this was found in the file it came from; None without one

    @cached_property
    def geometry(self) -> Geometry:
        """Return the lattice."""
        return Geometry._of(self._core.lattice)

    @classmethod
    def from_numpy(
        cls, links: ArrayLike, geometry: Geometry | None = None, *, check: bool = True
    ) -> GaugeField:
        """Return a field from an array (copied). Collective.

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
        violation = field.unitarity_violation()  # all ranks compute it, before one finds a NaN
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
        """Return a copy of the links of this rank, shape [t, z, y, x, mu, row, column]."""
        return self._core.to_numpy()

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return array_of(self.to_numpy(), "GaugeField", dtype, copy)

    def copy(self) -> GaugeField:
        """Return an independent copy."""
        return GaugeField(self._core.copy(), self.report)

    def __copy__(self) -> GaugeField:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> GaugeField:
        return self.copy()

    @property
    def device(self) -> str:
        """Return the device on which the links lie: "cpu" or "cuda"."""
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
        """Return the mean of Re tr P / 3 over sites and planes (1 on the unit field). Collective."""
        return self._core.plaquette()

    @property
    def polyakov_loop(self) -> complex:
        """Return the spatial mean of tr prod_t U_t / 3. Collective."""
        return self._core.polyakov_loop(3)

    def polyakov_loop_along(self, direction: Literal["x", "y", "z", "t"]) -> complex:
        """Return the mean of tr prod U_mu / 3 over the lines of one direction. Collective.

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
        """Return all simple loops. Collective.

        Returns
        -------
        dict
            plaquette, plaquette_spatial, plaquette_temporal; rectangle (mean of Re tr / 3 over the 12
            orientations); link_trace (mean of Re tr U / 3); polyakov_loop (complex; spatial mean of
            tr prod U_t / 3); unitarity_violation (largest |(U U^dagger - 1)_ij| and |det U - 1|).
        """
        return self._core.loops()

    def reunitarised(self) -> GaugeField:
        """Return the links brought back to SU(3) by Gram and Schmidt on the rows.

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
        """Return stout-smeared links (Morningstar and Peardon, hep-lat/0311018), `steps` times. Collective.

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
        """Do the same as :meth:`stout` for commands, which warn by the keys of their run files.

        Collective.
        """
        return GaugeField(self._core.stout(_stout_weights(rho, spatial), steps))

    def ape(self, *, alpha: float, steps: int, spatial: bool = False) -> GaugeField:
        """Return APE-smeared links (Albanese et al., Phys. Lett. B 192, 163), `steps` times. Collective.

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
        """Return W(R, T), the mean of Re tr / 3 of loops along the axes over sites and planes. Collective.

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
        """Return the charge by the clover definition, of the links as they are (no flow). Collective."""
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
        """Write to a file under a temporary name, synchronise it, and rename it. Collective.

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


def require_device(device: str) -> None:
    """Raise BadArgument for a word that names no device, NotAvailable for one that cannot be used."""
    if choice("device", device, "cpu", "cuda") == "cuda" and (why := load().why_no_gpu()):
        raise NotAvailable(f'device "cuda": {why}')


def _stout_weights(rho: float | Sequence[Sequence[float]], spatial: bool) -> list[list[float]]:
    weights = stout_weights("rho", rho)
    if not spatial:
        return weights
    if not np.isscalar(rho):
        raise BadArgument("spatial goes with one rho: in rho[mu][nu] write zeros where nu is t")
    return [[0.0 if 3 in (mu, nu) else weights[mu][nu] for nu in range(4)] for mu in range(4)]
