"""Some file systems have no locks: a library that is loaded first lets flock and fcntl fail as they do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from campaign_tools import write
from command_line import run, write_run_file
from run_file_texts import heat_bath, measurement

import trellis as tr

LIBRARY = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
static int refuse(void) { errno = atoi(getenv("NO_LOCKS_ERRNO")); return -1; }
int flock(int descriptor, int operation) { (void)descriptor, (void)operation; return refuse(); }
static int locks(int command) {
  return command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK || command == F_OFD_SETLKW;
}
#define PASS(name)                                                                      \
  int name(int descriptor, int command, ...) {                                          \
    static int (*real)(int, int, ...);                                                  \
    va_list list;                                                                       \
    va_start(list, command);                                                            \
    void* argument = va_arg(list, void*);                                               \
    va_end(list);                                                                       \
    if (locks(command)) return refuse();                                                \
    if (!real) real = (int (*)(int, int, ...))dlsym(RTLD_NEXT, #name);                  \
    return real(descriptor, command, argument);                                         \
  }
PASS(fcntl)
PASS(fcntl64)
"""


def generate(total: int) -> str:
    return heat_bath(sweeps={"total": total, "keep_every": 1, "checkpoint_every": 1})


MEASURE = measurement(
    configurations={"files": "out/*.ildg"},
    correlators={"mesons": ["pion"], "baryons": []},
    output={"directory": "measured"},
)


@pytest.fixture(scope="module")
def no_locks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the library."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler here")
    folder = tmp_path_factory.mktemp("no_locks")
    (folder / "no_locks.c").write_text(LIBRARY)
    library = folder / "no_locks.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, folder / "no_locks.c", "-ldl"], check=True)
    return library


@pytest.mark.parametrize(("number", "ranks"), [(37, 1), (95, 2), (22, 1), (524, 1)])
def test_runs_go_on_with_a_warning(tmp_path: Path, no_locks: Path, number: int, ranks: int) -> None:
    """HDF5 takes no locks, even where the environment asks for them; nothing is called damaged."""
    where = {"LD_PRELOAD": str(no_locks), "NO_LOCKS_ERRNO": str(number), "HDF5_USE_FILE_LOCKING": "TRUE"}
    folder = write_run_file(tmp_path, generate(2))
    (folder / "measure.toml").write_text(MEASURE)

    def said(*words: object) -> str:
        text = run(*words, cwd=folder, ranks=ranks, **where).stderr
        assert text.count("the file system has no locks") == 1, text
        assert "damaged" not in text
        return text

    said("generate", "run.toml")
    (folder / "run.toml").write_text(generate(3))
    said("generate", "run.toml", "--resume")
    said("measure", "measure.toml", "--last", 2)
    assert "measure.lock" in said("measure", "measure.toml", "--resume")
    assert len(list(folder.glob("measured/*.h5"))) == 3


def test_campaigns_and_analyses(tmp_path: Path, no_locks: Path) -> None:
    where = {"LD_PRELOAD": str(no_locks), "NO_LOCKS_ERRNO": "524"}
    write(tmp_path, '[[task]]\nname = "a"\ncommand = "echo x > {output}"\noutputs = ["a"]\n')
    run("campaign", "run", "campaign.toml", cwd=tmp_path, **where)
    run("campaign", "report", "campaign.toml", cwd=tmp_path, **where)
    write_run_file(tmp_path, generate(8))
    run("generate", "run.toml", cwd=tmp_path, **where)
    run("analyze", "out/stream.h5", cwd=tmp_path, **where)
    code = (
        "import trellis.ground.compiled_core\nfrom trellis.analysis.readers.hdf5_files import open_hdf5\n"
        "assert 'observables' in open_hdf5('out/stream.h5')\n"
        "trellis.ground.compiled_core.load().Hdf5File.open('out/stream.h5')\n"
    )
    words, environment = [sys.executable, "-c", code], {**os.environ, **where}
    found = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr


def test_a_result_that_cannot_be_read_is_not_called_damaged(tmp_path: Path) -> None:
    tr.weak_field((4, 4, 4, 4), seed=1).write(tmp_path / "out.1.ildg")
    (tmp_path / "run.toml").write_text(MEASURE.replace("out/*", "out.*"))
    run("measure", "run.toml", cwd=tmp_path)
    result = next(tmp_path.glob("measured/*.h5"))
    result.rename(result.with_suffix(".kept"))
    result.mkdir()  # root may read whatever has no permission
    said = run("measure", "run.toml", "--resume", cwd=tmp_path, status=1).stderr
    assert f"{result.relative_to(tmp_path)}: Is a directory" in said
    assert "damaged" not in said
