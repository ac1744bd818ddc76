"""This module has adaptive multigrid for Wilson, clover and twisted-mass quarks.

>>> import trellis as tr
>>> mg = tr.multigrid(M)                                                        # doctest: +SKIP
>>> solve = tr.gcr(tolerance=1e-10, preconditioner=mg)                          # doctest: +SKIP
>>> S = solve(M).propagator(tr.point_source(U.geometry, (0, 0, 0, 0)))          # doctest: +SKIP
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from ..gauge.geometry import in_four_directions
from ..ground.arguments import choice, file_path, instance, integer, integers, real
from ..ground.arguments import seed as seed_of
from ..ground.compiled_core import load
from ..ground.copies_and_pickles import NoArray, SharedByCopies
from ..ground.crash_safe_files import write_text
from ..ground.errors import BadArgument
from ..ground.operator_records import OperatorRecord
from ..quarks.operators import WilsonClover, multigrid_operator
from .multigrid_output import write_multigrid
from .multigrid_report import draw_report, report_in_words, report_page
from .multigrid_table import MultigridLevel, levels_of, trials_of

if TYPE_CHECKING:
    from .. import _core

_MOST_VECTORS = 96
#: More sources change no choice.
_MOST_SOURCES = 1_000_000
#: A coarse operator follows these parameters exactly, without a new set-up.
_MASSES = ("mass", "kappa", "twisted_mass")


def difference_beside_masses(record: OperatorRecord, M: WilsonClover) -> str:
    """Say in what a set-up for one operator does not serve M; the text is empty where it does."""
    return record.with_parameters_of(M._record, _MASSES).difference(M._record)


class Multigrid(SharedByCopies, NoArray):
    """It has the test vectors and the coarse operator of an adaptive multigrid, made by :func:`multigrid`.

    It belongs to the links, the clover coefficient and the boundary of its operator. Operators with another
    mass or twisted mass on the same links take it as it is: their coarse operator is shifted exactly.

    Attributes
    ----------
    operator : object
        Name, parameters and plaquette of the operator.
    block : tuple of int
        Sites of an aggregate in x, y, z, t.
    coarse_lattice : tuple of int
        Extents of the second lattice.
    coarse_ranks : int
        Ranks that have the coarsest lattice; the others sleep while these solve on it.
    vectors : int
        Test vectors on the finest lattice.
    levels : int
        Lattices, the finest one included.
    coarse_blocks, coarse_vectors : tuple
        Blocks and test vectors of the levels between the finest and the coarsest.
    smoother : str
        "sap", the Schwarz method on blocks, or "mr", even-odd minimal residual on the lattice.
    residuals : list of float
        Mean |M v| / |v| of the test vectors before the first sweep and after each sweep.
    sweeps : int
        Sweeps of the set-up.
    trials : list of MultigridTrial
        The choice of the sweeps rests on these, one trial for each number of sweeps; empty where they were
        given.
    seconds : float
        The set-up cost so much wall time.
    bytes : int
        Memory of test vectors and coarse operator on this rank.
    notes : list of str
        The set-up mended this on its way, a sentence each: test vectors that depended on each other.
    """

    _no_array = "solvers take it as their preconditioner: tr.gcr(preconditioner=mg)"
    _what = "multigrid"
    _instead = "mg.write(path) keeps it, and tr.read_multigrid(path, M) takes it back"

    def __init__(self, core: _core.Multigrid, operator: OperatorRecord) -> None:
        self._core = core
        self.operator = operator
        self.block = in_four_directions(core.block)
        self.coarse_lattice = in_four_directions(core.coarse_lattice)
        self.coarse_ranks: int = core.coarse_ranks
        self.vectors: int = core.vectors
        self.levels: int = core.levels
        self.coarse_blocks = tuple(in_four_directions(block) for block in core.params.coarse_blocks)
        self.coarse_vectors: tuple[int, ...] = tuple(core.params.coarse_vectors)
        self.smoother: str = core.smoother
        self.residuals: list[float] = list(core.residuals)
        self.sweeps: int = core.params.sweeps
        self.trials = trials_of(core)
        self.seconds: float = core.seconds
        self.bytes: int = core.bytes
        self.notes: list[str] = list(core.notes)

    @property
    def table(self) -> tuple[MultigridLevel, ...]:
        """Return the levels, the finest one first, with what set-up and the solves so far did on each."""
        return levels_of(self._core)

    def at(self, M: WilsonClover) -> Multigrid:
        """Return the same test vectors for another mass or twisted mass, of either sign. Collective.

        The coarse operator is shifted exactly, and nothing is set up. Solvers do this by themselves. The
        result keeps the shifted operators for many solves, and shares the test vectors.

        Parameters
        ----------
        M
            An operator on the same links, with the same clover coefficient, anisotropy and boundary.

        Raises
        ------
        BadArgument
            The operator differs in more than its masses.
        NumericError
            The shifted coarse operator is singular on some block.
        """
        self._require_operator(M, "none")
        return Multigrid(self._core.at(M._core), M._record)

    def write(self, path: str | os.PathLike, *, run_file: str = "") -> None:
        """Write the columns of the prolongator to an HDF5 file, as they are kept. Collective.

        :func:`read_multigrid` builds the coarse operator from them. The file appears whole or not at all.

        Parameters
        ----------
        path
            The file; one that is there is replaced.
        run_file
            The text of the run file, which is kept in the file.

        Raises
        ------
        FileError
            The file cannot be written.
        """
        write_multigrid(self, path, run_file=run_file)

    def update(self, M: WilsonClover) -> Multigrid:
        """Make it anew for links that have moved a little: one sweep from the present vectors. Collective.

        Parameters
        ----------
        M
            An operator on the same lattice.

        Raises
        ------
        BadArgument
            The operator is of another kind or lives on another lattice.
        NumericError
            As for :func:`multigrid`.
        """
        multigrid_operator(M)
        found = self._core.updated(M._core, "none")
        return Multigrid(cast("_core.Multigrid", found), M._record)

    def _require_operator(self, M: object, form: str) -> None:
        """Raise BadArgument unless M differs in its masses alone, and is solved on all sites."""
        if form != "none":
            raise BadArgument(
                "multigrid stands outside of even_odd, which its smoother has inside: "
                "tr.gcr(preconditioner=mg)(M)"
            )
        difference = difference_beside_masses(self.operator, multigrid_operator(M))
        if difference:
            raise BadArgument(f"the multigrid does not belong to {M!r}: it is that of {difference}")

    def __repr__(self) -> str:
        blocks = "x".join(map(str, self.block))
        return f"<Multigrid with {self.vectors} vectors on blocks of {blocks} for {self.operator}>"

    def __str__(self) -> str:
        return f"{self!r}\n{report_in_words(self)}"

    def plot(self, path: str | os.PathLike | None = None) -> Any:
        """Draw what the set-up and the cycles of all solves so far took, and the residuals of the sweeps.

        Parameters
        ----------
        path
            The picture is saved there (PNG, PDF or SVG, by the ending); without it nothing is saved.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        BadArgument
            The path is no path.
        """
        figure = draw_report(self)
        if path is not None:
            figure.savefig(file_path(path))
        return figure

    def write_page(self, path: str | os.PathLike, *, title: str = "Multigrid") -> None:
        """Write the report as a page in HTML: tables of the levels and of all cycles so far, and the picture.

        Call it on one rank; seconds and bytes are those of that rank. The page appears whole or not at all.

        Parameters
        ----------
        path
            The file; one that is there is replaced.
        title
            The page has it.

        Raises
        ------
        BadArgument
            The path is no path.
        FileError
            A folder, device or pipe has that name.
        OSError
            No room, or no permission.
        """
        write_text(Path(file_path(path)), report_page(self, instance("title", title, str)))


def multigrid(
    M: WilsonClover,
    *,
    levels: int | None = None,
    vectors: int | Sequence[int] = 20,
    block: Sequence[int] | Sequence[Sequence[int]] | None = None,
    cycle: Literal["k", "v"] = "k",
    sweeps: int | None = None,
    sources: int = 12,
    smoother: Literal["sap", "mr"] | None = None,
    smoothing: int | None = None,
    coarse_tolerance: float = 0.05,
    coarse_solver: Literal["gcr", "schwarz"] = "gcr",
    coarse_ranks: int = 0,
    prolongator_storage: Literal["half", "single"] = "half",
    seed: int = 1,
) -> Multigrid:
    """Set up an adaptive multigrid for M (Frommer et al., arXiv:1303.1377). Collective.

    Test vectors are made of noise by smoothing and improved by the cycle that they make. The result is a
    preconditioner for ``tr.gcr``, whose vectors are then kept in float; residuals are true ones in double.
    The same seed gives the same bits on any ranks, threads and lanes.

    Parameters
    ----------
    M
        Wilson, clover or twisted-mass operator, also anisotropic.
    levels
        Lattices, the finest one included: 2 or more. Default: as many as `vectors` or `block` list; else
        three where the second lattice has more than 4096 sites, which blocks of 8 or more divide, else two.
    vectors
        Test vectors, 1 to 96; or a list, of each level but the coarsest. More of them mean fewer iterations,
        which cost more each. Default of a coarse level: 1.4 times those of the level above.
    block
        Sites of an aggregate in x, y, z, t, or a list of blocks, of each level but the coarsest; default:
        legal extents near 4, and near 2 on coarse lattices. A lattice must have an even number of blocks in
        each direction, and each rank whole blocks.
    cycle
        Levels between the finest and the coarsest do this with a residual: "k", flexible GCR with their cycle
        as preconditioner, to 0.1; or "v", one cycle.
    sweeps
        Each sweep replaces the test vectors by one cycle of them. Default: as many as pay for the sources, by
        counted flops and bytes of trials, at most 10 (:attr:`Multigrid.trials`).
    sources
        Right-hand sides that will be solved for, by which the sweeps are chosen: 12 for each propagator.
    smoother
        It follows the coarse correction: "sap", the Schwarz method on blocks of even extents (on CPUs), or
        "mr", even-odd minimal residual on the whole lattice. Default: sap on CPUs where the lattice has such
        blocks, else mr.
    smoothing
        Cycles of sap, or steps of mr; default: 3 of those, 6 of these.
    coarse_tolerance
        The coarse operator is solved to this in a cycle of a solve; it is 0.2 in those of the set-up.
    coarse_solver
        "gcr", or "schwarz": gcr preconditioned by the additive Schwarz method on boxes of 2^4 coarse sites,
        which are solved for exactly. It has fewer steps, and with them fewer messages and sums, and more
        work in a step: for coarse lattices on many nodes.
    coarse_ranks
        Ranks that have the coarse lattice, at most; the others sleep while these solve on it. 0: all ranks,
        or as many as have 8 coarse sites each where a rank would have less than 4, or parts of boxes. No
        bit depends on it.
    prolongator_storage
        Cycles read P in it: "half", 16-bit fixed point, or "single", from twice the memory.
    seed
        The noise depends on it.

    Raises
    ------
    BadArgument
        A value outside its range, another kind of operator, or a lattice that blocks do not divide; the
        message names the legal ones.
    NumericError
        Test vectors depended on each other in some block, or made a singular coarse operator, and so did the
        noise that replaced them three times.
    """
    multigrid_operator(M)
    core = load()
    params = core.MultigridParams()
    if levels is not None:
        params.levels = integer("levels", levels, least=2)
    first, *others = _numbers_of_vectors(vectors)
    params.vectors, params.coarse_vectors = first, others
    if block is not None:
        first_block, *coarse_blocks = _blocks(block)
        params.block, params.coarse_blocks = first_block, coarse_blocks
    params.cycle = choice("cycle", cycle, "k", "v")
    params.sources = min(integer("sources", sources, least=1), _MOST_SOURCES)
    if sweeps is not None:
        params.sweeps, params.sources = integer("sweeps", sweeps, least=0), 0
    if smoother is not None:
        params.smoother = choice("smoother", smoother, "sap", "mr")
    if smoothing is not None:
        params.smoothing = integer("smoothing", smoothing, least=1)
    params.coarse_tolerance = real("coarse_tolerance", coarse_tolerance, above=0, below=1)
    params.coarse_solver = choice("coarse_solver", coarse_solver, "gcr", "schwarz")
    params.coarse_ranks = integer("coarse_ranks", coarse_ranks, least=0)
    params.prolongator_storage = choice("prolongator_storage", prolongator_storage, "half", "single")
    params.seed = seed_of("seed", seed)
    return Multigrid(core.multigrid(M._core, params), M._record)


def _numbers_of_vectors(vectors: object) -> list[int]:
    """Return the test vectors of the finest level, and those of others where they are given."""
    given = [vectors] if isinstance(vectors, int) or not isinstance(vectors, Sequence) else list(vectors)
    numbers = [integer("vectors", number, least=1) for number in given]
    for number in numbers:
        if number > _MOST_VECTORS:
            raise BadArgument(f"multigrid takes 1 to {_MOST_VECTORS} vectors, found {number}")
    if not numbers:
        raise BadArgument("vectors: expected a number, or one for each level, found an empty list")
    return numbers


def _blocks(block: Sequence[Any]) -> list[tuple[int, int, int, int]]:
    """Return the block of the finest level, and those of others where they are given."""
    if len(block) > 0 and all(isinstance(one, Sequence) for one in block):
        first, *others = block
        found = [integers("block", first, 4, least=2)]
        found += [integers("block", one, 4, least=1) for one in others]
    else:
        found = [integers("block", block, 4, least=2)]
    return [in_four_directions(one) for one in found]
