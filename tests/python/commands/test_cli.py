"""These tests cover the commands that take no run file, and what all commands share."""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from command_line import command, environment, run, sha256
from typer.testing import CliRunner

import trellis as tr
from trellis.commands.cli import app
from trellis.commands.schema import KINDS, schema_text

KEYS = {
    "format",
    "lattice",
    "precision_bits",
    "plaquette",
    "plaquette_spatial",
    "plaquette_temporal",
    "rectangle",
    "link_trace",
    "polyakov_loop",
    "polyakov_loops_spatial",
    "unitarity_violation",
    "checksums",
    "values",
    "warnings",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("files")
    tr.quenched((4, 4, 4, 8), beta=6.0, seed=1, sweeps=5).write(path / "conf.ildg")
    return path


@pytest.mark.parametrize(
    ("options", "both"), [([], False), (["--json"], False), ([], True), (["--json"], True)]
)
def test_a_full_disk_behind_the_output(folder: Path, options: list[str], both: bool) -> None:
    """The file /dev/full takes nothing: there is one sentence and status 1, and no traceback of what cannot
    be told."""
    with open("/dev/full", "w") as full:
        found = subprocess.run(
            command("info", "conf.ildg", *options),
            cwd=folder,
            env=environment(),
            stdout=full,
            stderr=full if both else subprocess.PIPE,
            text=True,
            check=False,
        )
    assert found.returncode == 1
    if not both:
        assert found.stderr == "error: standard output: cannot be written: No space left on device\n"


def test_info(folder: Path) -> None:
    found = json.loads(run("info", "conf.ildg", "--json", cwd=folder).stdout)
    assert set(found) == KEYS
    U = tr.read_gauge_field(folder / "conf.ildg")
    loops = U.loops()
    assert found["format"] == "ildg"
    assert found["lattice"] == [4, 4, 4, 8]
    assert found["precision_bits"] == 64
    for name in ("plaquette", "plaquette_spatial", "plaquette_temporal", "rectangle", "link_trace"):
        assert found[name] == loops[name]
    assert complex(*found["polyakov_loop"]) == loops["polyakov_loop"]
    spatial = [complex(*loop) for loop in found["polyakov_loops_spatial"]]
    assert spatial == [U.polyakov_loop_along(direction) for direction in ("x", "y", "z")]
    assert len({loops["polyakov_loop"], *spatial}) == 4
    assert found["unitarity_violation"] < 1e-14
    assert [c["kind"] for c in found["checksums"]] == ["scidac_a", "scidac_b"]
    assert all(c["ok"] and c["stored"] == c["computed"] for c in found["checksums"])
    assert [(v["name"], v["ok"]) for v in found["values"]] == [("unitarity", True)]
    assert found["warnings"] == []
    text = run("info", "conf.ildg", cwd=folder).stdout
    assert "4x4x4x8" in text
    assert f"{loops['plaquette']}" in text
    assert f"polyakov_loop_y      {spatial[1].real}" in text


def test_info_of_a_damaged_file(folder: Path) -> None:
    data = bytearray((folder / "conf.ildg").read_bytes())
    data[len(data) // 2] ^= 1
    (folder / "flipped.ildg").write_bytes(data)
    found = run("info", "flipped.ildg", "--json", cwd=folder, status=1)
    checks = json.loads(found.stdout)["checksums"]
    assert [c["ok"] for c in checks] == [False, False]
    for check in checks:  # the reason stands on standard error too
        text = f"checksum {check['kind']}: expected {check['stored']:08x}, found {check['computed']:08x}"
        assert text in found.stderr


@pytest.mark.parametrize("ranks", [1, 2])
def test_info_of_a_link_too_large_to_sum(folder: Path, ranks: int) -> None:
    data = bytearray((folder / "conf.ildg").read_bytes())
    size = 4 * 4 * 4 * 8 * 4 * 18 * 8
    begin = data.index(b"ildg-binary-data") - 16 + 144  # a LIME header has 144 bytes, 16 before its type
    assert begin + size < len(data)
    data[begin : begin + 8] = struct.pack(">d", 1e300)
    (folder / "large.ildg").write_bytes(data)
    found = run("info", "large.ildg", "--json", cwd=folder, ranks=ranks, status=None)
    content = json.loads(found.stdout[: found.stdout.rindex("}") + 1])
    for name in ("plaquette", "rectangle", "link_trace", "unitarity_violation"):
        assert content[name] is None
    assert [c["ok"] for c in content["checksums"]] == [False, False]
    assert "larger than 2^960" in found.stderr
    assert "None" not in found.stdout
    assert "unitarity: expected 0.0, found inf" in found.stderr


@pytest.mark.parametrize("content", [b"", b"\x45\x67\x89\xab", b"BEGIN_HEADER\n", bytes(1000)])
def test_info_of_something_else(folder: Path, content: bytes) -> None:
    (folder / "other").write_bytes(content)
    found = run("info", "other", "--json", cwd=folder, status=1)
    assert set(json.loads(found.stdout)) == {"error"}
    assert "error: " in found.stderr
    assert "Traceback" not in found.stderr


def test_info_on_two_ranks(folder: Path) -> None:
    one = run("info", "conf.ildg", "--json", cwd=folder).stdout
    assert json.loads(run("info", "conf.ildg", "--json", cwd=folder, ranks=2).stdout) == json.loads(one)


@pytest.mark.parametrize("ranks", [1, 2])
def test_an_error_is_printed_once(folder: Path, ranks: int) -> None:
    found = run("info", "missing.ildg", cwd=folder, ranks=ranks, status=None)
    assert found.stderr.count("error") - found.stderr.count("errorcode") == 1
    assert "missing.ildg" in found.stderr


ONE_RANK_FAILS = """
from trellis.commands import console
from trellis.ground.parallel import barrier, rank
console.run(lambda: 1 // 0 if rank() == 1 else barrier(), json=False)
"""


def test_an_unexpected_error_on_one_rank_ends_all(tmp_path: Path) -> None:
    line = [*command("info", ranks=2)[:-3], "-c", ONE_RANK_FAILS]
    found = subprocess.run(
        line, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=60, check=False
    )
    assert found.returncode != 0
    assert found.stderr.count("error (rank 1): ZeroDivisionError") == 1
    assert found.stderr.count("Traceback") == 1


@pytest.mark.parametrize("format", ["scidac", "nersc", "nersc-2row", "milc", "openqcd"])
def test_convert_there_and_back(folder: Path, format: str) -> None:
    run("convert", "conf.ildg", f"conf.{format}", "--format", format, cwd=folder)
    result = run("convert", f"conf.{format}", f"{format}.ildg", "--format", "ildg", "--json", cwd=folder)
    assert json.loads(result.stdout)["input"]["format"] == format
    there, back = tr.read_gauge_field(folder / "conf.ildg"), tr.read_gauge_field(folder / f"{format}.ildg")
    assert abs(there.plaquette - back.plaquette) < 1e-7
    if format in ("scidac", "nersc", "openqcd"):  # all 64 bits of all links are stored
        assert sha256(folder / f"{format}.ildg") == sha256(folder / "conf.ildg")


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_file_without_checksums_is_said_once(folder: Path, ranks: int) -> None:
    """The commands info and convert say it, and generate, which starts there; Python's warnings do not say it
    besides."""
    run("convert", "conf.ildg", "unchecked", "--format", "openqcd", cwd=folder)
    extents = list(tr.read_gauge_field(folder / "conf.ildg").geometry.extents)
    (folder / "start.toml").write_text(
        f"[lattice]\nextents = {extents}\n[action]\nbeta = 6.0\n[random]\nseed = 1\n"
        f'[sweeps]\ntotal = 1\nkeep_every = 1\n[output]\ndirectory = "started{ranks}"\n'
        '[start]\ntype = "file"\nfile = "unchecked"\n'
    )
    convert = ["convert", "unchecked", f"checked{ranks}", "--format", "ildg"]
    for words in (["info", "unchecked"], convert, ["generate", "start.toml"]):
        said = run(*words, cwd=folder, ranks=ranks)
        assert (said.stdout + said.stderr).count("the format has no checksum") == 1, words
        assert "UserWarning" not in said.stderr


@pytest.mark.parametrize("format", ["ildg", "nersc", "openqcd"])
def test_convert_lists_checksums_as_info_does(folder: Path, format: str) -> None:
    name = f"summed.{format}"
    run("convert", "conf.ildg", name, "--format", format, cwd=folder)
    said = [
        json.loads(run(*words, "--json", cwd=folder).stdout)
        for words in (("info", name), ("convert", name, f"{name}.scidac", "--format", "scidac"))
    ]
    assert said[0]["checksums"] == said[1]["input"]["checksums"]
    if format == "openqcd":
        nothing = {"kind": "none", "stored": None, "computed": None, "ok": None}
        assert said[1]["input"]["checksums"] == [nothing]


def test_convert_writes_through_a_symbolic_link(folder: Path) -> None:
    there = folder / "there"
    there.mkdir()
    (there / "old.ildg").write_text("old")
    for name, target in (("here.ildg", "there/old.ildg"), ("dangling.ildg", "there/new.ildg")):
        (folder / name).symlink_to(target)
        run("convert", "conf.ildg", name, "--format", "ildg", cwd=folder)
        assert (folder / name).readlink() == Path(target)
        assert sha256(folder / target) == sha256(folder / "conf.ildg")
    assert sorted(path.name for path in there.iterdir()) == ["new.ildg", "old.ildg"]
    (folder / "circle.ildg").symlink_to("circle.ildg")
    found = run("convert", "conf.ildg", "circle.ildg", "--format", "ildg", cwd=folder, status=1)
    assert "expected a file, found symbolic links in a circle" in found.stderr
    assert (folder / "circle.ildg").is_symlink()


def test_convert_with_words_and_byte_order(folder: Path) -> None:
    options = ("--byte-order", "little", "--ensemble-id", "E 1", "--ensemble-label", "run two")
    run("convert", "conf.ildg", "little.nersc", "--format", "nersc", *options, cwd=folder)
    header = (folder / "little.nersc").read_bytes().partition(b"END_HEADER")[0].decode()
    for line in ("FLOATING_POINT = IEEE64LITTLE", "ENSEMBLE_ID = E 1", "ENSEMBLE_LABEL = run two"):
        assert line in header
    run("convert", "conf.ildg", "little.milc", "--format", "milc", "--byte-order", "little", cwd=folder)
    assert (folder / "little.milc").read_bytes()[:4] == (20103).to_bytes(4, "little")
    for name in ("little.nersc", "little.milc"):
        links = tr.read_gauge_field(folder / name).to_numpy()
        assert np.allclose(links, tr.read_gauge_field(folder / "conf.ildg").to_numpy(), atol=1e-7)
    run("convert", "conf.ildg", "named.ildg", "--format", "ildg", "--lfn", "lfn://a/b", cwd=folder)
    metadata = dict(tr.read_gauge_field(folder / "named.ildg").report.metadata)
    assert metadata["ildg-data-lfn"] == "lfn://a/b"
    for option, format, said in (
        (("--lfn", "a"), "nersc", "logical_file_name is written to ildg files, found 'nersc'"),
        (("--ensemble-id", "a"), "ildg", "ensemble_id is written to nersc and nersc-2row files"),
        (("--byte-order", "little"), "ildg", "format ildg has one byte order only"),
        (("--byte-order", "middle"), "nersc", '--byte-order must be "big" or "little", found'),
    ):
        found = run("convert", "conf.ildg", "x", "--format", format, *option, cwd=folder, status=1)
        assert said in found.stderr
        assert "[required" not in found.stderr


def test_convert_refuses(folder: Path) -> None:
    found = run("convert", "conf.ildg", "x", "--format", "ildgg", cwd=folder, status=1)
    assert "legal are ildg, scidac, nersc" in found.stderr
    found = run("convert", "conf.ildg", "x", "--format", "ildg", "--precision", 16, cwd=folder, status=1)
    assert "expected 32 or 64, found 16" in found.stderr
    found = run("info", "conf.ildg", "--lattice", "4.4.4.4", cwd=folder, status=1)
    assert "4x4x4x8" in found.stderr
    found = run("info", "conf.ildg", "--lattice", "4,4", cwd=folder, status=1)
    assert "expected four numbers" in found.stderr
    assert not (folder / "x").exists()


@pytest.mark.parametrize(
    "kind, table",
    [
        ("measure", "fermion"),
        ("generate", "sweeps"),
        ("hmc", "molecular_dynamics"),
        ("glass", "couplings"),
        ("campaign", "task"),
        ("machine", "nodes"),
        ("analyze", "charges"),
    ],
)
def test_schema(kind: str, table: str) -> None:
    """Every key has words of its own, or is a table that has."""
    schema = json.loads(schema_text(kind))
    assert table in schema["properties"]
    tables = schema["$defs"]
    silent = [
        f"{name}.{key}"
        for name, of in {"": schema, **tables}.items()
        for key, entry in of.get("properties", {}).items()
        if not (entry.get("description") or tables.get(entry.get("$ref", "")[8:], {}).get("description"))
    ]
    assert silent == []


#: Descriptions that begin so are rests of sentences, whose beginning is the key.
RESTS = ("Of", "To", "Behind", "Default:", "Number", "Whether", "What", "How", "Per")


@pytest.mark.parametrize("kind", KINDS)
def test_descriptions_of_keys_are_sentences(kind: str) -> None:
    schema = json.loads(schema_text(kind))
    tables = {name: of for name, of in schema["$defs"].items() if "Multigrid" not in name}
    rests = [
        f"{name}.{key}: {said}"
        for name, of in {"": schema, **tables}.items()
        for key, entry in of.get("properties", {}).items()
        if (said := entry.get("description")) and (said.split()[0] in RESTS or not said.endswith("."))
    ]
    assert rests == []


def test_schemata_are_listed_and_printed_once(tmp_path: Path) -> None:
    listed = run("schema", cwd=tmp_path).stdout
    assert [line.split()[2] for line in listed.splitlines()] == list(KINDS)
    assert json.loads(run("schema", "--json", cwd=tmp_path).stdout)["kinds"].keys() == KINDS.keys()
    assert json.loads(run("schema", "hmc", cwd=tmp_path, ranks=2).stdout) == json.loads(schema_text("hmc"))
    said = run("schema", "mesure", cwd=tmp_path, status=2).stderr
    assert "expected one of measure, generate," in " ".join(said.replace("│", " ").split())
    assert "did you mean 'measure'?" in said


@pytest.mark.parametrize(
    "words, kind",
    [
        (("generate", "--schema"), "generate"),
        (("generate", "--schema-hmc"), "hmc"),
        (("measure", "--schema"), "measure"),
        (("analyze", "--schema"), "analyze"),
        (("campaign", "plan", "--schema"), "campaign"),
        (("campaign", "plan", "--schema-machine"), "machine"),
    ],
)
def test_options_that_printed_schemata_name_the_command(words: tuple[str, ...], kind: str) -> None:
    found = CliRunner().invoke(app, [*words])
    assert found.exit_code == 2
    assert f"this is a command now: trellis schema {kind}" in " ".join(found.stderr.replace("│", " ").split())


def test_acceptance_belongs_to_tune(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text("")
    said = run("generate", "run.toml", "--acceptance", 0.7, cwd=tmp_path, status=2).stderr
    assert "--acceptance belongs to --tune" in said


@pytest.mark.parametrize("module", ["typing", "typer"])  # typing is first of all, typer is one of many
def test_an_interrupt_of_the_first_imports(tmp_path: Path, module: str) -> None:
    """The first imports take a fifth of a second, in which Ctrl-C showed where Python was."""
    (tmp_path / f"{module}.py").write_text("raise KeyboardInterrupt")
    for start in (["-m", "trellis"], ["-c", "from trellis.__main__ import main; main()"]):
        is_interrupted(tmp_path, *start, "--version")


def test_an_interrupt_of_the_imports_of_a_command(tmp_path: Path) -> None:
    (tmp_path / "gvar.py").write_text("raise KeyboardInterrupt")
    is_interrupted(tmp_path, "-m", "trellis", "analyze", "c.h5")


def is_interrupted(modules: Path, *words: str) -> None:
    """Require that Python with these modules before all others ends as Ctrl-C ends a command."""
    found = subprocess.run(
        [sys.executable, *words],
        cwd=modules,
        env=environment(PYTHONPATH=str(modules)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (found.returncode, found.stderr) == (130, "error: interrupted\n")


def test_an_interpreter_without_the_packages(tmp_path: Path) -> None:
    """The trellis of a prefix may be given any interpreter (TRELLIS_PYTHON)."""
    (tmp_path / "typer.py").write_text("raise ModuleNotFoundError('no typer', name='typer')")
    found = subprocess.run(
        [sys.executable, "-m", "trellis", "--version"],
        cwd=tmp_path,
        env=environment(PYTHONPATH=os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])),
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 1
    assert (
        found.stderr
        == f"error: {sys.executable} has no package typer; requirements.txt lists what trellis needs\n"
    )


def test_help_names_tables(tmp_path: Path) -> None:
    assert "[molecular_dynamics]" in run("generate", "--help", cwd=tmp_path, COLUMNS="200").stdout
    assert "stream.h5 of trellis generate" in run("analyze", "--help", cwd=tmp_path, COLUMNS="200").stdout


def test_a_reader_that_leaves_is_no_error(tmp_path: Path) -> None:
    """`trellis schema hmc | head -c 1` leaves more text than a pipe holds."""
    process = subprocess.Popen(
        command("schema", "hmc"),
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(timeout=60) == 128 + signal.SIGPIPE


def test_threads_without_number_are_refused(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(
        "[lattice]\nextents = [4, 4, 4, 4]\n[action]\nbeta = 6.0\n[random]\nseed = 1\n"
        '[sweeps]\ntotal = 1\nkeep_every = 1\n[machine]\nthreads = 5000\n[output]\ndirectory = "out"\n'
    )
    failed = run("generate", "run.toml", cwd=tmp_path, status=1)
    assert "machine.threads: expected at most" in failed.stderr
    assert "found 5000" in failed.stderr


def test_threads_that_share_cores_are_warned_about(tmp_path: Path) -> None:
    """Two threads on one core are warned about, as under mpirun, which binds each rank to a core."""
    core = min(os.sched_getaffinity(0))
    for threads, is_warned in ((2, True), (1, False)):
        (tmp_path / "run.toml").write_text(
            "[lattice]\nextents = [4, 4, 4, 4]\n[action]\nbeta = 6.0\n[random]\nseed = 1\n"
            f'[sweeps]\ntotal = 1\nkeep_every = 1\n[output]\ndirectory = "out_{threads}"\n'
        )
        found = subprocess.run(
            command("generate", "run.toml"),
            cwd=tmp_path,
            env=environment(OMP_NUM_THREADS=str(threads)),
            capture_output=True,
            text=True,
            check=True,
            preexec_fn=lambda: os.sched_setaffinity(0, {core}),
        )
        assert ("OMP_NUM_THREADS: 2 threads of each rank share one core" in found.stderr) == is_warned


@pytest.mark.parametrize("command", ["generate", "measure"])
def test_run_files_are_checked_first(tmp_path: Path, command: str) -> None:
    (tmp_path / "run.toml").write_text("[latice]\nextents = [4, 4, 4, 4]\n")
    found = run(command, "run.toml", "--json", cwd=tmp_path, status=1)
    assert "run.toml:1: latice: unknown key" in json.loads(found.stdout)["error"]
    assert "run.toml:1: latice: unknown key" in found.stderr
    run(command, cwd=tmp_path, status=2)
    assert "cannot be read" in run(command, "missing.toml", cwd=tmp_path, status=1).stderr


def test_doctor(tmp_path: Path) -> None:
    found = json.loads(run("doctor", "--json", "--quick", "--lattice", "8.8.8.16", cwd=tmp_path).stdout)
    assert found["version"] == tr.__version__
    assert found["speed"] is None
    assert found["parallel"]["ranks"] == 1
    assert found["machine"]["cores"] >= 1
    assert found["build"]["hdf5"]
    lanes = found["lanes"]["double"]
    assert lanes["inner_fraction"] == 1.0
    assert 0.0 <= lanes["crossing_fraction"] <= 1.0
    assert lanes["lanes"] == found["build"]["lanes_double"]
    text = run("doctor", cwd=tmp_path).stdout
    for word in ("compiler", "instructions", "MPI", "HDF5", "CUDA", "huge pages", "GB/s", "GF/s"):
        assert word in text


def test_doctor_tells_what_a_gpu_leaves_to_the_host(tmp_path: Path) -> None:
    words = ("doctor", "--quick", "--device", "cuda")
    found = json.loads(run(*words, "--json", cwd=tmp_path).stdout)
    assert "set-up of multigrid" in [work["what"] for work in found["host_work"]]
    text = " ".join(run(*words, cwd=tmp_path).stdout.split())
    for work in found["host_work"]:
        assert f"{work['what']}; {work['when']}: {work['copies']}" in text
    assert "the host still does" not in run("doctor", "--quick", cwd=tmp_path).stdout


def test_doctor_tells_the_surface_between_nodes(tmp_path: Path) -> None:
    """Twelve ranks lie on three nodes: with time fastest these are no boxes (ground/test_rank_map.py)."""
    words = ("doctor", "--json", "--quick", "--lattice", "8.8.16.24")
    pretended = {"TRELLIS_NODES": "3", "TRELLIS_RANK_ORDER": "time_fastest", "TRELLIS_MESSAGE_DELAY": "10"}
    found = json.loads(run(*words, cwd=tmp_path, ranks=12, **pretended).stdout)
    placement, parallel = found["between_nodes"], found["parallel"]
    assert placement["nodes"] == parallel["nodes"] == 3
    assert placement["grid"] == [1, 1, 2, 6]
    assert parallel["rank_order"] == "time_fastest"
    assert parallel["pretended_nodes"] == "3"
    assert parallel["message_delay_us"] == "10"
    # Local lattices are 8.8.8.4: a box has four faces in t, and in the order of time a node has such in z.
    assert placement["box"] == {"sites": 4 * 512, "is_box": True}
    assert not placement["time_fastest"]["is_box"]
    assert placement["now"] == placement["time_fastest"]["sites"] > 4 * 512
    del pretended["TRELLIS_MESSAGE_DELAY"]
    text = run(*words[:1], *words[2:], cwd=tmp_path, ranks=12, **pretended).stdout
    assert "TRELLIS_NODES=3 is set, a switch for tests" in " ".join(text.split())
    assert "TRELLIS_MESSAGE_DELAY" not in text
    assert f"box {4 * 512}," in " ".join(text.split())


def test_no_nodes_that_do_not_divide_the_ranks(tmp_path: Path) -> None:
    found = run("doctor", "--quick", cwd=tmp_path, ranks=4, status=None, TRELLIS_NODES="3")
    assert "TRELLIS_NODES: expected a divisor of the 4 ranks, found 3" in found.stderr


def test_the_former_name_of_a_variable_is_refused(tmp_path: Path) -> None:
    found = run("doctor", "--quick", cwd=tmp_path, status=None, TRELLIS_GPU_MESSAGES="peer")
    assert "TRELLIS_GPU_MESSAGES=peer: the variable is TRELLIS_EXCHANGE" in found.stderr


@pytest.mark.parametrize("ranks, cores, expected", [(4, 1, "2 threads of each rank on 1 core: "), (4, 2, "")])
def test_doctor_counts_the_threads_of_a_rank(ranks: int, cores: int, expected: str) -> None:
    """Each rank has cores of its own under mpirun."""
    from trellis.commands.doctor import _advice

    found = {
        "machine": {"cores": cores, "transparent_huge_pages": "always", "gpus": [], "cuda_failure": ""},
        "parallel": {"ranks": ranks, "threads_per_rank": 2},
        "build": {"cuda": False, "build_type": "Release"},
        "lanes": {p: {"split": [1, 1, 1, 1], "lanes": 1} for p in ("double", "float")},
    }
    advice = _advice(found)
    assert [text[: len(expected)] for text in advice] == ([expected] if expected else [])


def test_bench_has_help_without_programs(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    from trellis.commands import bench

    monkeypatch.setattr(bench, "programs", dict)
    assert bench.bench(["--help"]) == 0
    assert "WHAT: none in this build" in capsys.readouterr().out
    with pytest.raises(tr.NotAvailable):
        bench.bench([])


def test_bench_says_what_there_is(tmp_path: Path) -> None:
    from trellis.commands.bench import programs

    if not programs():
        pytest.skip("this build has no benchmark programs")
    assert "wilson" in run("bench", cwd=tmp_path, status=2).stderr
    arguments = ("wilson", "--lattice=4.4.4.4", "--precision", "float", "--seconds", "0.01")
    for words in ((*arguments, "--json"), ("--json", *arguments)):
        found = json.loads(run("bench", *words, cwd=tmp_path).stdout)
        assert set(found) == {"machine", "results"}
        assert found["results"][0]["lattice"] == [4, 4, 4, 4]
    said = run("bench", "--help", cwd=tmp_path).stdout
    assert "WHAT: costs, domain_wall" in said
    assert "--link-reals 18|12|8" in said
    for words, text in {
        (
            "--json",
            "wlson",
        ): "expected one of costs, domain_wall, domain_wall_solver, exchange, gauge, glass, halo, "
        "multigrid, schwarz, solver, staggered, staggered_solver, wilson behind trellis bench, found wlson",
        ("--lattice", "4.4.4.4", "wilson", "--json"): "trellis bench, found --lattice",
    }.items():
        refused = run("bench", *words, cwd=tmp_path, status=2)
        assert text in json.loads(refused.stdout)["error"]
        assert text in refused.stderr


def test_bench_halo_of_one_process(tmp_path: Path) -> None:
    """Faces go to the process itself by each way; the scaling model takes the messages."""
    from trellis.campaign.hardware_tables import LinkTable
    from trellis.commands.bench import programs
    from trellis.model.calibrate import Calibration, add_exchange

    if not programs():
        pytest.skip("this build has no benchmark programs")
    words = ("halo", "--lattice", "4.4.4.8", "--precision", "float", "--device", "cpu", "--seconds", "0.001")
    times = ("--rounds", "1", "--bytes", "8,65536")
    found = json.loads(
        run("bench", *words, *times, "--partition", "1.1.2.4", "--self", "--json", cwd=tmp_path).stdout
    )
    rungs = [row for row in found["results"] if row["pattern"] == "halo"]
    assert [row["way"] for row in rungs] == ["persistent", "copied", "shared"]
    for row in rungs:
        if "missing" in row:
            continue
        # z is shared by two ranks and has one message, t has two; half spinors of 12 floats.
        assert row["messages"] == 3
        assert row["bytes"] == 2 * 12 * 4 * (4 * 4 * 8 + 4 * 4 * 4) / 2
        assert row["seconds"] > 0
    calibration = Calibration("one process", 1, 1.0)
    add_exchange(calibration, found)
    assert calibration.exchange is not None
    assert calibration.exchange.values["gbs"] > 0
    links = [LinkTable.model_validate(link) for link in found["links"]]
    assert {(link.between, link.path) for link in links} == {("device-device", "shared")}
    picture = ("--plot", "steps.svg")
    run("bench", *words, *times, "--partition", "1.1.2.4", "--self", *picture, cwd=tmp_path)
    assert (tmp_path / "steps.svg").stat().st_size > 0
    for wrong, text in {
        (): "halos travel between two or more ranks, and this is one",
        ("--self",): "--self needs a partition that cuts a direction",
        ("--device", "tpu"): "expected cpu or cuda, found 'tpu'",
    }.items():
        refused = run("bench", "halo", *wrong, "--lattice=4.4.4.4", "--json", cwd=tmp_path, status=2)
        assert text in json.loads(refused.stdout)["error"]


def test_analyze(tmp_path: Path) -> None:
    from trellis.analysis.synthetic import write_synthetic_measurements

    write_synthetic_measurements(tmp_path / "data.h5", configurations=range(20))
    (tmp_path / "options.toml").write_text('particles = ["pion"]\n')
    arguments = ("analyze", "data.h5", "--output", "out", "--options", "options.toml", "--json")
    found = json.loads(run(*arguments, cwd=tmp_path).stdout)
    assert list(found["particles"]) == ["pion"]
    assert (tmp_path / "out" / "report.html").exists()
    (tmp_path / "options.toml").write_text('particle = ["pion"]\n[charges]\nt_max = "7"\n')
    printed = run(*arguments, cwd=tmp_path, status=1)
    for text in (printed.stderr, json.loads(printed.stdout)["error"]):
        assert "options.toml:1: particle: unknown key; did you mean 'particles'?" in text
        assert "options.toml:3: charges.t_max: Input should be a valid integer; found '7'" in text
        assert "pydantic" not in text
    assert "max_states" in json.loads(schema_text("analyze"))["properties"]
    run("analyze", cwd=tmp_path, status=2)


@pytest.mark.parametrize(
    "launcher",
    [
        ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
        ("PMI_SIZE", "PMI_RANK"),
        ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID"),
    ],
)
def test_analyze_runs_on_one_rank(tmp_path: Path, launcher: tuple[str, str]) -> None:
    """The environment is that of rank 1 of 2, then of rank 0."""
    from trellis.analysis.synthetic import write_synthetic_measurements

    write_synthetic_measurements(tmp_path / "data.h5", configurations=range(20))
    (tmp_path / "options.toml").write_text('particles = ["pion"]\n')
    arguments = ("analyze", "data.h5", "--output", "out", "--options", "options.toml")
    size, rank = launcher
    found = run(*arguments, cwd=tmp_path, **{size: "2", rank: "1"})
    assert (found.stdout, found.stderr) == ("", "")
    assert not (tmp_path / "out").exists()
    assert "report: " in run(*arguments, cwd=tmp_path, **{size: "2", rank: "0"}).stdout


def test_analyze_under_mpirun(tmp_path: Path) -> None:
    """There is one summary, and the command has its status where nothing is fitted."""
    from trellis.analysis.synthetic import write_synthetic_measurements

    write_synthetic_measurements(tmp_path / "data.h5", configurations=range(20))
    (tmp_path / "options.toml").write_text('particles = ["pion"]\nminimum_configurations = 30\n')
    arguments = ("analyze", "data.h5", "--options", "options.toml")
    found = run(*arguments, cwd=tmp_path, ranks=2, status=1).stderr
    assert found.count("error: ") == 1
    assert "needs at least 30 independent configurations (options.minimum_configurations = 30)" in found
    (tmp_path / "options.toml").write_text('particles = ["pion"]\n')
    with h5py.File(tmp_path / "data.h5", "r+") as file:
        pion = file["correlators/pion"]
        pion[...] = pion[:1]
    found = run(*arguments, cwd=tmp_path, ranks=2, status=4)
    assert found.stdout.count("report: ") == 1
    assert "error: none of the correlators could be fitted" in found.stderr
    assert (tmp_path / "analysis" / "report.html").exists()


FULL = """
import resource, sys
from trellis.commands.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (4 << 10, 4 << 10))
sys.argv = ["trellis", "analyze", "data.h5", "--options", "options.toml", "--json"]
main()
"""


def test_analyze_on_a_full_disk(tmp_path: Path) -> None:
    """The file that could not be written is named, and so is standard output."""
    from trellis.analysis.synthetic import write_synthetic_measurements

    write_synthetic_measurements(tmp_path / "data.h5", configurations=range(20))
    (tmp_path / "options.toml").write_text('particles = ["pion"]\n')
    found = subprocess.run(
        [sys.executable, "-c", FULL],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    assert found.returncode == 1
    said = json.loads(found.stdout)["error"]
    assert said.startswith("analysis/")
    assert said.endswith(": cannot be written: File too large")
    if Path("/dev/full").exists():
        with open("/dev/full", "w") as full:
            full_output = subprocess.run(
                command("analyze", "data.h5", "--options", "options.toml"),
                cwd=tmp_path,
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                env=environment(),
                check=False,
            )
        assert full_output.returncode == 1
        assert "standard output: cannot be written: No space left on device" in full_output.stderr


def test_version(tmp_path: Path) -> None:
    assert run("--version", cwd=tmp_path).stdout.strip() == f"trellis {tr.__version__}"
