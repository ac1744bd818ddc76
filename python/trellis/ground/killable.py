"""LAPACK takes no signal: long work of it is done by a process of its own, which Ctrl-C ends on all ranks."""

from __future__ import annotations

import os
import pickle
import select
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar

from .compiled_core import load
from .parallel import broadcast, on_root

T = TypeVar("T")

#: Ctrl-C is looked for after so many seconds.
_BETWEEN_LOOKS = 0.05
_SERVE = "from trellis.ground.killable import serve; serve()"


def on_root_killable(function: Callable[..., T], *arguments: Any) -> T:
    """Return the result of a function on every rank; a process that rank 0 starts calls it. Collective.

    The function is one of a module, and it and its arguments can be pickled. What it raises is raised as
    :func:`on_root` does. Ctrl-C ends the process, and KeyboardInterrupt is raised on all ranks together.
    """
    core = load()
    process = _started(function, arguments) if core.rank() == 0 else None
    try:
        while True:
            core.stop_together()
            if broadcast(process is not None and _has_answered(process)):
                return on_root(lambda: _answer(process))
            if process is None:
                time.sleep(_BETWEEN_LOOKS)
    finally:
        if process is not None:
            _end(process)


def _started(function: Callable[..., Any], arguments: tuple[Any, ...]) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        start_new_session=True,  # a terminal's Ctrl-C comes to this process alone, which ends the other one
    )
    try:
        assert process.stdin is not None
        pickle.dump((function, arguments), process.stdin, protocol=pickle.HIGHEST_PROTOCOL)
        process.stdin.flush()
    except BrokenPipeError:  # it has ended, and its answer says so
        pass
    except BaseException:
        _end(process)
        raise
    return process


def _has_answered(process: subprocess.Popen[bytes]) -> bool:
    assert process.stdout is not None
    return bool(select.select([process.stdout], [], [], _BETWEEN_LOOKS)[0])


def _answer(process: subprocess.Popen[bytes] | None) -> Any:
    assert process is not None
    assert process.stdout is not None
    try:
        result, error = pickle.load(process.stdout)
    except EOFError:
        raise MemoryError(f"the process of LAPACK ended with status {process.wait()}") from None
    if error is not None:
        raise error
    return result


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except BrokenPipeError:
                pass
    process.wait()


def serve() -> None:
    """Call the function that stands on standard input, and write its result to standard output."""
    answers = os.dup(1)
    os.dup2(2, 1)  # what the function prints does not mix with its answer
    function, arguments = pickle.load(sys.stdin.buffer)
    result, failure = None, None
    try:
        result = function(*arguments)
    except Exception as error:  # it is raised where the caller waits
        failure = error
    with os.fdopen(answers, "wb") as out:
        pickle.dump((result, failure), out, protocol=pickle.HIGHEST_PROTOCOL)
