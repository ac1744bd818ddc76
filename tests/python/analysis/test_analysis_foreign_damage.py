"""Files of other programs that are damaged, doubled or out of place are refused with their names."""

import gzip

import h5py
import numpy as np
import pytest

from trellis.analysis import MeasurementFileError
from trellis.analysis.readers.foreign import read_foreign
from trellis.analysis.records.foreign_options import ForeignOptions

TIMES = 8


def read(path, format, stream=None, **options):
    return read_foreign(path, ForeignOptions(format=format, **options), stream)


def hadrons(path, values=None, **how):
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w") as file:
        group = file.create_group("meson/meson_0")
        group.attrs["gamma_src"] = group.attrs["gamma_snk"] = np.array([b"Gamma5"])
        numbers = np.arange(1, TIMES + 1) + 0j if values is None else values
        group.create_dataset("corr", data=numbers, **how)
    return path


def table(path, numbers=(1, 2), end="\n", times=TIMES):
    lines = [f"{n} {t} {n + 0.25 * t}" for n in numbers for t in range(times)]
    path.write_text("\n".join(["configuration time pion", *lines]) + end)
    return path


@pytest.mark.parametrize("format", ["hadrons", "table"])
def test_sources_do_not_lie_in_two_folders(format, tmp_path):
    """Two folders are two masses or two streams as well: an average of them would be wrong without a word."""
    for folder in ("light", "heavy"):
        (tmp_path / folder).mkdir()
        for number in (10, 20):
            if format == "hadrons":
                hadrons(tmp_path / folder / f"meson.{number}.h5")
            else:
                table(tmp_path / folder / f"{number}.txt", [number])
    if format == "table":  # tables number their sources
        with pytest.raises(MeasurementFileError, match="each source of a configuration once"):
            read(tmp_path, format)
        return
    with pytest.raises(MeasurementFileError, match=r"in one folder .* found configuration 10 in .*heavy"):
        read(tmp_path, format)
    found = read(tmp_path, format, stream="(light|heavy)")
    assert len(found.configurations) == 4


def test_a_file_that_is_named_twice_is_read_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = hadrons(tmp_path / "meson.10.h5")
    found = read([path, path.relative_to(tmp_path)], "hadrons")
    assert found.correlators["pion"].source_counts.tolist() == [1]


def test_a_link_that_leads_nowhere_is_named(tmp_path):
    """A configuration would be missing without a word."""
    hadrons(tmp_path / "meson.10.h5")
    (tmp_path / "meson.20.h5").symlink_to(tmp_path / "gone.h5")
    with pytest.raises(MeasurementFileError, match=r"meson\.20\.h5: link: expected a file behind it"):
        read(tmp_path, "hadrons")


def test_a_table_that_ends_within_a_line_is_doubted(tmp_path):
    assert not read(table(tmp_path / "whole.txt"), "table").warnings
    cut = read(table(tmp_path / "cut.txt", end=""), "table")
    assert "the last line has no end" in cut.warnings[0]
    packed = tmp_path / "packed.txt.gz"
    packed.write_bytes(gzip.compress((tmp_path / "whole.txt").read_bytes()))
    assert not read(packed, "table").warnings


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            "configuration time stream pion\n1 0 a|b 1\n1 1 a|b 1\n",
            "line 2: stream: expected a name of 1 to 64",
        ),
        (f"configuration time stream pion\n1 0 {'a' * 80} 1\n", "line 2: stream: expected a name of 1 to 64"),
        ("configuration time pion\n1 0 1\n1 1152921504606846975 1\n", "found none at t = 1"),
        ("x" * 2_000_000 + "\n", r"columns: .* \(2000000 characters\)$"),
        ("\0\0\0\n", r"found \\x00\\x00\\x00$"),
    ],
)
def test_tables_that_cannot_be_one(content, said, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text(content)
    with pytest.raises(MeasurementFileError, match=said) as error:
        read(path, "table")
    assert len(str(error.value)) < 1000


@pytest.mark.parametrize("stream", ["(.*)\\.txt", "(a\\|b)"])
def test_names_of_streams_in_paths(stream, tmp_path):
    folder = tmp_path / "a|b"
    folder.mkdir()
    path = table(folder / f"{'y' * 70}.txt")
    with pytest.raises(MeasurementFileError, match="stream: expected a name of 1 to 64 characters"):
        read(path, "table", stream=stream)


def test_damage_inside_of_hdf5_names_the_file(tmp_path):
    """A chunk whose bytes are not what its filter expects, and types that are no numbers."""
    path = hadrons(tmp_path / "meson.10.h5", chunks=(TIMES,), compression="gzip")
    with h5py.File(path) as file:
        at = file["meson/meson_0/corr"].id.get_chunk_info(0).byte_offset
    raw = bytearray(path.read_bytes())
    raw[at : at + 8] = b"\xff" * 8
    path.write_bytes(raw)
    with pytest.raises(MeasurementFileError, match=r"meson\.10\.h5: content: expected a whole HDF5 file"):
        read(path, "hadrons")
    words = np.array([(b"a", b"b")] * TIMES, dtype=[("re", "S4"), ("im", "S4")])
    with pytest.raises(MeasurementFileError, match="expected complex numbers"):
        read(hadrons(tmp_path / "words.10.h5", words), "hadrons")
    with pytest.raises(MeasurementFileError, match="expected two times or more, found 0"):
        read(hadrons(tmp_path / "empty.10.h5", np.zeros(0, complex)), "hadrons")
    with pytest.raises(MeasurementFileError, match="number of a configuration of 64 bits"):
        read(hadrons(tmp_path / f"long.{'9' * 20}.h5"), "hadrons")


LOG = """4x4x4x4 lattice, 4x4x4x4 local lattice
eps = {eps}
Trajectory no {number}
n =   0, t = 0.0, Wact = 1.0, Yact = {Y}, Q = -1.0
"""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"Y": "1.2.3"}, r"flow of number 10: expected a number, found '1\.2\.3'"),
        ({"eps": "2.0e-02x"}, "eps: expected a number"),
        ({"number": "9" * 20}, "expected lines"),
    ],
)
def test_logs_of_flows(change, said, tmp_path):
    path = tmp_path / "a.log"
    path.write_text(LOG.format(**({"Y": "1.0", "eps": "2.0e-02", "number": 10} | change)))
    with pytest.raises(MeasurementFileError, match=said):
        read(path, "openqcd")


def test_a_log_with_line_ends_of_windows(tmp_path):
    path = tmp_path / "a.log"
    path.write_bytes(LOG.format(Y="1.0", eps="2.0e-02", number=10).replace("\n", "\r\n").encode())
    assert read(path, "openqcd").observables["topological_charge"].values.tolist() == [1.0]


@pytest.mark.parametrize("encoding", ["foo", "utf-7"])
def test_xml_in_an_unknown_encoding(encoding, tmp_path):
    path = tmp_path / "a_10.xml"
    path.write_bytes(f'<?xml version="1.0" encoding="{encoding}"?>\n<a/>\n'.encode())
    with pytest.raises(MeasurementFileError, match="file: expected XML"):
        read(path, "chroma")


def test_a_record_of_lime_shorter_than_its_header(tmp_path):
    path = tmp_path / "a_10.lime"
    path.write_bytes(b"\x45\x67\x89\xab" + bytes(40))
    with pytest.raises(MeasurementFileError, match="expected a header of 144 bytes, found 44"):
        read(path, "chroma")


def test_the_configuration_that_lacks_a_correlator_names_its_file(tmp_path):
    for number in (10, 20):
        hadrons(tmp_path / f"mes.{number}.h5")
    hadrons(tmp_path / "other.10.h5")
    with pytest.raises(
        MeasurementFileError, match=r"mes\.20\.h5: other_pion .* none on 1 of them, the first 20"
    ):
        read(tmp_path, "hadrons")


def test_options_of_sfcf():
    with pytest.raises(ValueError, match="expected a regular expression"):
        ForeignOptions(format="sfcf", sfcf={"prefix": "a", "names": ["f_A"], "quarks": "("})
    with pytest.raises(ValueError, match=r"'2\.0c'"):
        ForeignOptions(format="sfcf", sfcf={"prefix": "a", "names": ["f_A"], "version": "3.7"})
