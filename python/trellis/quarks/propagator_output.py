"""This module writes propagators to files: HDF5 with provenance, and the SciDAC (LIME) format of Chroma, both
with checksums."""

from __future__ import annotations

import math
import os
import warnings
from typing import Any, Literal, Protocol

import numpy as np

from ..gauge.geometry import Geometry
from ..ground.arguments import choice, file_path, instance, integer
from ..ground.compiled_core import load
from ..ground.crash_safe_files import behind_links
from ..ground.errors import BadArgument
from ..ground.operator_records import OperatorRecord
from ..ground.provenance import write_root_attributes
from ..ground.solve_report import SolveReport
from .propagator_metadata import GAMMA_BASIS, SPIN_KIND, Metadata
from .scidac_propagator_records import Statements

#: Files of such names are written in the format of Chroma, unless a format is given.
SCIDAC_SUFFIXES = (".lime", ".scidac")
#: This attribute or element has the text of `trellis measure`, with a checksum of its own.
MEASUREMENT = "measurement"


class WrittenPropagator(Protocol):
    """This is a propagator as its file describes it, like :class:`trellis.Propagator`."""

    _core: Any
    _file_kind: str
    report: SolveReport | None
    operator: OperatorRecord | None
    is_sink_smeared: bool

    @property
    def geometry(self) -> Geometry: ...

    @property
    def source_at(self) -> tuple[int, int, int, int]: ...

    @property
    def boundary(self) -> tuple[complex, complex, complex, complex]: ...

    def _norm2(self) -> float: ...

    def _write_scidac(self, path: str, precision: int, note: str) -> None: ...


def write_propagator(
    S: WrittenPropagator,
    path: str | os.PathLike,
    format: Literal["hdf5", "scidac"] | None,
    *,
    precision: Literal[32, 64],
    run_file: str,
    measurement: str = "",
) -> None:
    """See :meth:`Propagator.write`.

    Parameters
    ----------
    measurement
        :func:`propagator_input.measurement_text` gives it back; it is without "<" and "&".
    """
    if integer("precision", precision) not in (32, 64):
        raise BadArgument(f"precision must be 32 or 64 bits, found {precision!r}")
    path, run_file = file_path(path), instance("run_file", run_file, str)
    if format is None:
        format = "scidac" if path.lower().endswith(SCIDAC_SUFFIXES) else "hdf5"
    choice("format", format, "hdf5", "scidac")
    norm2 = S._norm2()
    if norm2 == 0:
        warnings.warn(f"{path}: the propagator that is written has norm 0", UserWarning, stacklevel=3)
    if format == "scidac":
        _require_finite(norm2, precision)
        at = " ".join(map(str, S.source_at))
        stated = Statements(S.boundary, norm2, S.operator, S.is_sink_smeared).to_text()
        if measurement:
            stated += f"<{MEASUREMENT}>{measurement}</{MEASUREMENT}>"
        note = f"<propagator><source>{S._core.description}</source><at>{at}</at>{stated}</propagator>"
        S._write_scidac(behind_links(path), precision, note)
    else:
        _write_hdf5(S, behind_links(path), precision, run_file, measurement)


def _require_finite(norm2: float, precision: int) -> None:
    """Refuse numbers that are not finite, or overflow in the file; SciDAC's checksum would accept them."""
    largest = float(np.finfo(np.float32 if precision == 32 else np.float64).max)
    norm = math.sqrt(norm2)
    if not norm <= largest:
        raise BadArgument(
            f"the propagator has a NaN or Inf, or numbers beyond {precision} bits: its norm is {norm:g}"
        )


def _write_hdf5(S: WrittenPropagator, path: str, precision: int, run_file: str, measurement: str) -> None:
    file = load().Hdf5File.create(path)
    root = file.root()
    write_root_attributes(root, S._file_kind, run_file, S.geometry.extents, fixed_texts=True)
    for name, quark in (("propagator", S), ("midpoint", getattr(S, "midpoint", None))):
        if quark is not None:
            quark._core.write_hdf5(root, name, precision)
    if S._file_kind == SPIN_KIND:
        root.set_fixed_text("gamma_basis", GAMMA_BASIS, "propagator")
    root.set_fixed_text("source", S._core.description, "propagator")
    root.set_integers("source_at", list(S.source_at), "propagator")
    root.set_reals("boundary_real", [p.real for p in S.boundary], "propagator")
    root.set_reals("boundary_imag", [p.imag for p in S.boundary], "propagator")
    if S.operator is not None:
        root.set_fixed_text("operator", S.operator.to_text(), "propagator")
    if S.is_sink_smeared:
        root.set_integer("sink_smeared", 1, "propagator")
    if S.report is not None:
        root.set_reals("relative_residuals", list(S.report.relative_residuals), "propagator")
    if measurement:
        root.set_fixed_text(MEASUREMENT, measurement, "propagator")
    root.set_integer("metadata_checksum", Metadata(root, path, S._file_kind).checksum, "propagator")
    file.commit()
