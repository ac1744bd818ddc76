"""This module starts `trellis` as the fork of a process that has imported its packages.

An interpreter imports for nearly a second before a command does anything, which is most of what small runs
take. A process of pytest has one server, which imports once and then forks for every command and every rank.
A fork executes the program from its `__main__.py` on, with environment, folder and streams of its own, and
ends like any other process. mpirun starts this file as its ranks, each of which stands for its fork.
"""

import array
import json
import os
import select
import signal
import socket
import sys

_NAMES = """
commands.cli commands.generate commands.measure commands.info commands.convert commands.analyze
commands.terminal evolve.heatbath evolve.online_measurements evolve.rational generate.memory generate.sweeps
generate.trajectories measure.application
"""
#: These modules are imported beforehand: they import what commands need. The second list takes as long again.
MODULES = {"small": ["typer._adapters", *(f"trellis.{name}" for name in _NAMES.split())]}
MODULES["analysis"] = [*MODULES["small"], "trellis.commands.analysis_summary"]


def start(
    server: str, arguments: list[str], streams: list[int], cwd: str, environment: dict[str, str]
) -> socket.socket:
    """Have the server start `trellis` with these arguments; return the connection that tells how it ends."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(server)
    request = json.dumps([os.getpgrp(), arguments, cwd, environment]).encode()
    files = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", streams))]
    connection.sendmsg([len(request).to_bytes(8, "little")], files)
    connection.sendall(request)
    return connection


def status_of(connection: socket.socket) -> int:
    """Wait for the end; return the exit status, or minus the number of the signal, as subprocess has it."""
    with connection:
        return int(connection.recv(16))


def _serve(listener: socket.socket) -> None:
    """Fork for each request; return in the fork, whose interpreter is to end as if it were not one.

    Standard input ends with the process of pytest, however that ends, and then the server ends too.
    """
    while True:
        if 0 in select.select([listener, 0], [], [])[0]:
            os._exit(0)
        connection, _ = listener.accept()
        if os.fork() == 0:
            break
        connection.close()
        while _has_reaped():
            pass
    listener.close()
    length, files, _, _ = socket.recv_fds(connection, 8, 3)
    group, arguments, cwd, environment = json.loads(_received(connection, int.from_bytes(length, "little")))
    os.setpgid(0, group)  # a signal to the ranks of mpirun reaches their forks
    ended, lives = os.pipe()  # the fork has the second end while it lives
    pid = os.fork()
    if pid != 0:
        os.close(lives)
        for file in files:
            os.close(file)
        _tell_the_end(pid, ended, connection)
    os.close(ended)
    connection.close()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[0] = cwd  # as `python -m` has it
    sys.argv = ["trellis", *arguments]


def _has_reaped() -> bool:
    try:
        return os.waitpid(-1, os.WNOHANG)[0] != 0
    except ChildProcessError:
        return False


def _received(connection: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        found += connection.recv(size - len(found))
    return found


def _tell_the_end(pid: int, ended: int, connection: socket.socket) -> None:
    """Wait for a process, tell its status, and exit; kill it if who asked for it is killed."""
    if connection in select.select([ended, connection], [], [])[0]:
        os.kill(pid, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    try:
        connection.sendall(str(status).encode())
    finally:
        os._exit(0)


def _be_the_server(modules: list[str], path: str) -> None:
    import gc
    import importlib
    import runpy

    for name in modules:
        importlib.import_module(name)
    importlib.import_module("trellis.ground.compiled_core").load()
    importlib.import_module("trellis.commands.cli").program()
    gc.collect()
    gc.freeze()  # a fork that collects garbage need not copy what is older
    # Signals to the terminal's processes and to those of a rank are for the forks.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{path}.made")
    listener.listen(64)
    os.rename(f"{path}.made", path)
    _serve(listener)
    runpy.run_module("trellis", run_name="__main__", alter_sys=True)


def _be_a_rank(server: str, arguments: list[str]) -> None:
    status = status_of(start(server, arguments, [0, 1, 2], os.getcwd(), dict(os.environ)))
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        _be_the_server(MODULES[sys.argv[2]], sys.argv[3])
    else:
        _be_a_rank(sys.argv[1], sys.argv[2:])
