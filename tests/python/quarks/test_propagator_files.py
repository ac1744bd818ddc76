"""These tests cover propagators in files: single and double precision, damage of numbers, norms and
lengths."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from command_line import environment

# This runs in a process of its own: this one may have h5py and its HDF5.
SCRIPT = """
import warnings
from pathlib import Path
import numpy as np
import trellis as tr
from trellis.ground.compiled_core import load

U = tr.quenched((4, 4, 4, 4), beta=6.0, seed=1, sweeps=2)
at = (1, 2, 3, 0)
S = tr.even_odd(tr.cg())(tr.WilsonClover(U, kappa=0.12)).propagator(tr.point_source(U.geometry, at))
exact = S.to_numpy()


def read(format):
    if format == "hdf5":
        return tr.read_propagator("P")
    return tr.read_scidac_propagator("P", U.geometry, source_at=at)


def refused(format, data, error, word):
    Path("P").write_bytes(data)
    try:
        read(format)
    except error as found:
        assert word in str(found), found
    else:
        raise SystemExit(f"{format}: damage was not found ({word})")


def changed(data, place):
    damaged = bytearray(data)
    damaged[place] ^= 16
    return bytes(damaged)


for format, order in (("hdf5", "<"), ("scidac", ">")):
    sizes = {}
    for precision, kind in ((32, np.complex64), (64, np.complex128)):
        S.write("P", format, precision=precision)
        assert np.array_equal(read(format).to_numpy(), exact.astype(kind).astype(complex))
        data = Path("P").read_bytes()
        sizes[precision] = len(data)
        number = np.array(exact[1, 3, 0, 2, 3, 1, 2, 0].real, f"{order}f{precision // 8}").tobytes()
        place = data.find(number)
        assert place > 0
        for byte in (place, place + precision // 8 - 1):
            refused(format, changed(data, byte), tr.ChecksumError, "checksum")
        refused(format, data[: len(data) // 2], tr.FileError, "")
        if format == "hdf5":
            Path("P").write_bytes(data)
            norm = np.float64(load().Hdf5File.open("P").root().reals("norm2", "propagator")[0])
            assert abs(norm / np.linalg.norm(exact.astype(kind)) ** 2 - 1) < 1e-6
            # what describes the array has checksums of HDF5's own
            refused(format, changed(data, data.find(norm.tobytes())), tr.FileError, "damaged")
            description = [data.find(b"source_at"), data.find(b"WilsonClover"), 9, 50]
            for place in description:
                refused(format, changed(data, place), tr.FileError, "")
    assert sizes[32] < 0.6 * sizes[64]

# what was read apart meets, and meets what was solved
S.write("P")
A, B = read("hdf5"), read("hdf5")
pion = tr.meson(S, S, "gamma5", "gamma5")
for first, second in ((A, B), (A, S), (S, B)):
    assert np.array_equal(tr.meson(first, second, "gamma5", "gamma5"), pion)
smeared = A.smear_sink(U, width=1.0, steps=2).to_numpy()
assert np.array_equal(smeared, S.smear_sink(U, width=1.0, steps=2).to_numpy())
same_links = tr.GaugeField.from_numpy(U.to_numpy())
M = tr.WilsonClover(same_links, kappa=0.12)
assert np.array_equal(tr.even_odd(tr.cg())(M).propagator(tr.point_source(U.geometry, at)).to_numpy(), exact)

# the midpoint of domain walls, and m_res from files
for Ls in (4, 3):
    D = tr.MoebiusDomainWall(U, mass=0.2, Ls=Ls)
    S5 = tr.even_odd(tr.cg())(D).propagator(tr.point_source(U.geometry, at))
    for precision, kind in ((32, np.complex64), (64, np.complex128)):
        S5.write("P", precision=precision)
        again = tr.read_propagator("P")
        assert np.array_equal(again.to_numpy(), S5.to_numpy().astype(kind).astype(complex))
        if Ls == 4:
            assert again.midpoint.source_at == at
            middle = S5.midpoint.to_numpy()
            assert np.array_equal(again.midpoint.to_numpy(), middle.astype(kind).astype(complex))
            rounding = 1e-6 if precision == 32 else 1e-14
            assert np.allclose(tr.residual_mass(again), tr.residual_mass(S5), rtol=rounding)
            number = np.array(middle[2, 1, 0, 2, 3, 1, 2, 0].real, f"<f{precision // 8}").tobytes()
            data = Path("P").read_bytes()
            assert data.find(number) > 0
            refused("hdf5", changed(data, data.find(number)), tr.ChecksumError, "checksum")
            continue
        assert again.midpoint is None
        try:
            tr.residual_mass(again)
        except tr.BadArgument as error:
            assert "midpoint" in str(error)
        else:
            raise SystemExit("m_res of an odd Ls")
    if Ls == 4:  # one propagator in a LIME file: the midpoint in a second
        S5.write("P", "scidac")
        S5.midpoint.write("Q", "scidac")
        again = read("scidac")
        assert again.midpoint is None
        again.midpoint = tr.read_scidac_propagator("Q", U.geometry, source_at=at)
        assert np.array_equal(tr.residual_mass(again), tr.residual_mass(S5))
        Path("Q").unlink()

# where the source is, in SciDAC files: as Trellis writes it, or as the caller says; they must agree
S.write("P", "scidac")
with warnings.catch_warnings():
    warnings.simplefilter("error")
    assert tr.read_scidac_propagator("P", U.geometry).source_at == at
    assert tr.read_scidac_propagator("P", U.geometry, source_at=at).source_at == at
data = Path("P").read_bytes()
# boundary, norm and operator likewise
again = tr.read_scidac_propagator("P", U.geometry)
assert again.boundary == S.boundary
assert again.operator.difference(S.operator) == ""
assert not again.is_sink_smeared
M_wall = tr.WilsonClover(U, kappa=0.12, boundary=(1, 1, 1, 0))
wall = tr.even_odd(tr.cg())(M_wall).propagator(tr.point_source(U.geometry, at))
wall.smear_sink(U, width=1.0, steps=2).write("Q.lime", precision=32)  # the format by its name
again = tr.read_scidac_propagator("Q.lime", U.geometry)
assert again.boundary == (1, 1, 1, 0)
assert again.is_sink_smeared
try:
    tr.read_scidac_propagator("Q.lime", U.geometry, boundary=(1, 1, 1, -1))
except tr.FileError as error:
    assert "expected the boundary phases ((1+0j), (1+0j), (1+0j), (-1+0j)), found" in str(error), error
else:
    raise SystemExit("a Dirichlet propagator was read as an antiperiodic one")
words = {"boundary_phases": "8 finite numbers", "norm2": "a finite number", "operator": "in JSON"}
for name, word in words.items():
    text = Path("Q.lime").read_bytes()
    place = text.index(f"<{name}>".encode()) + len(name) + 2
    Path("R.lime").write_bytes(text[:place] + b"?" + text[place + 1 :])
    try:
        tr.read_scidac_propagator("R.lime", U.geometry)
    except tr.FileError as error:
        assert word in str(error), error
    else:
        raise SystemExit(f"a damaged {name}")
place = text.index(b"<norm2>") + 7
Path("R.lime").write_bytes(text[:place] + bytes([text[place] ^ 1]) + text[place + 1 :])
try:
    tr.read_scidac_propagator("R.lime", U.geometry)
except tr.ChecksumError as error:
    assert "norm2: expected" in str(error), error
else:
    raise SystemExit("another norm")
S.write("R.scidac", "hdf5")  # what is said goes before the name
assert np.array_equal(tr.read_propagator("R.scidac").to_numpy(), exact)
for name in ("Q.lime", "R.lime", "R.scidac"):
    Path(name).unlink()
S.write("P", "scidac")
tag = b"<at>1 2 3 0</at>"
assert data.count(tag) == 1


def source_refused(data, error, word, **given):
    Path("P").write_bytes(data)
    try:
        tr.read_scidac_propagator("P", U.geometry, **given)
    except error as found:
        assert word in str(found), found
    else:
        raise SystemExit(f"not refused: {word}")


elsewhere = "expected the source at (1, 2, 3, 1), found (1, 2, 3, 0)"
source_refused(data, tr.FileError, elsewhere, source_at=(1, 2, 3, 1))
source_refused(data.replace(tag, b"<at>1 2 3 4</at>"), tr.FileError, "outside the lattice 4x4x4x4")
source_refused(data.replace(tag, b"<ot>1 2 3 0</ot>"), tr.BadArgument, "give source_at")
for changed_data, word in (
    (data.replace(b"scidac-checksum", b"scidac-chexxxum"), "no checksum"),
    (data.replace(tag, b"<at>1 2 3 x</at>"), "<at> should be four integers"),
    (data + bytes(8), "no LIME record"),
):
    Path("P").write_bytes(changed_data)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        S_again = tr.read_scidac_propagator("P", U.geometry, source_at=at)
    assert np.array_equal(S_again.to_numpy(), exact)
    assert [w.category for w in found] == [UserWarning]
    assert word in str(found[0].message), found[0]

file = load().Hdf5File.create("P")  # as older versions wrote it
root = file.root()
root.write_complex128("propagator", np.ascontiguousarray(exact))
root.set_integers("lattice", [4, 4, 4, 4])
root.set_integers("source_at", list(at), "propagator")
root.set_reals("boundary_real", [1, 1, 1, -1], "propagator")
root.set_reals("boundary_imag", [0, 0, 0, 0], "propagator")
file.commit()
with warnings.catch_warnings(record=True) as found:
    warnings.simplefilter("always")
    assert np.array_equal(read("hdf5").to_numpy(), exact)
assert "no checksum" in str(found[0].message)

huge = tr.Propagator.from_numpy(1e60 * exact, U.geometry, source_at=at, boundary=S.boundary)
for propagator, precision in ((S, 16), (huge, 32)):
    try:
        propagator.write("Q", precision=precision)
    except tr.BadArgument as error:
        assert "precision" in str(error)
    else:
        raise SystemExit(f"{precision} bits were written")
assert not list(Path().glob("Q*"))
"""


def test_precision_and_damage(tmp_path: Path) -> None:
    found = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
