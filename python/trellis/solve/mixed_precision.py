"""This module has solvers that iterate in low storage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..ground.arguments import choice, real
from ..ground.errors import BadArgument
from .multigrid import Multigrid
from .values import Solver, solver_value

InnerPrecision = Literal["float", "single", "half", "fp16"]
#: A vector of the inner solver takes this part of one in double.
INNER_SIZE = {"float": 1 / 2, "single": 1 / 2, "half": 1 / 4 + 1 / 48, "fp16": 1 / 4}
#: This is the number of vectors in double around the inner solver.
_OUTER_VECTORS = 4


@dataclass(frozen=True, repr=False)
class MixedPrecision(Solver):
    """See :func:`mixed_precision`."""

    _method = "mixed_precision"

    solver: Solver
    inner: InnerPrecision
    update_threshold: float

    def _storage(self) -> str:
        deeper = self.solver._storage()
        return self.inner if deeper == "double" else deeper

    def _work_vectors(self) -> float:
        return _OUTER_VECTORS + INNER_SIZE[self.inner] * self.solver._work_vectors()


def mixed_precision(
    solver: Solver, *, inner: InnerPrecision = "float", update_threshold: float = 0.0
) -> MixedPrecision:
    """Return a solver that iterates in low storage and corrects from residuals recomputed in double.

    Parameters
    ----------
    solver
        It iterates; its tolerance is that of the whole solve. cg keeps its direction across the corrections
        (reliable updates, made for all columns of a batch when one needs them: the last bits of a column
        depend on its batch with cg alone), other solvers begin anew with each. Inside another solver it is
        run once.
    inner
        "float" (or "single"), "half": 16-bit fixed point with a scale per site, or "fp16": 16-bit floating
        point, faster and ten times less accurate, for operators that are well conditioned. Both forms of 16
        bits are computed in float.
    update_threshold
        The residual is recomputed when it has dropped by this factor; 0 chooses by method and precision, and
        with cg follows the rounding that earlier updates have found.

    Raises
    ------
    BadArgument
        No solver, another precision, a threshold outside [0, 1), or gcr with a multigrid, which is mixed by
        itself.
    """
    choice("inner", inner, "float", "single", "half", "fp16")
    if isinstance(getattr(solver, "preconditioner", None), Multigrid):
        raise BadArgument(
            "gcr with a multigrid keeps its vectors in float by itself: take it without mixed_precision"
        )
    threshold = real("update_threshold", update_threshold, least=0, below=1)
    return MixedPrecision(solver_value("mixed_precision", solver), inner, threshold)
