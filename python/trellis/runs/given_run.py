"""This module has the run that a caller of `measure`, `generate` or `glass` gives: the path of a run file, or
a model."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path

from ..ground.errors import BadArgument
from ..run_files.writing import model_to_toml
from .setup import Run, load_run


def given_run(
    run: object, *kinds: type[Run], kind_of: Callable[[Path], type[Run]] | None = None
) -> tuple[Run, str, Path | None]:
    """Return the model of a run, the text of its run file, and the path where one was given. Collective.

    Parameters
    ----------
    run
        The argument of the caller.
    kinds
        The models that a run may be.
    kind_of
        Says which of them a file has; without it a file has the first one.

    Raises
    ------
    RunFileError
        The run file cannot be read or is not valid.
    BadArgument
        The argument is neither a path nor one of the models.
    """
    if isinstance(run, kinds):
        return run, model_to_toml(run), None
    if not isinstance(run, str | PathLike):
        legal = ["the path of a run file", *(f"a trellis.run_files.{kind.__name__}" for kind in kinds)]
        raise BadArgument(f"run: expected {', '.join(legal[:-1])} or {legal[-1]}, found {run!r}")
    path = Path(run)
    model, text = load_run(path, kinds[0] if kind_of is None else kind_of(path))
    return model, text, path
