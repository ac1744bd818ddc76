"""Make the small gauge fields of this folder and print their numbers.

The script writes one field of links near the unit matrix on 2 x 4 x 2 x 6 (x y z t). It uses NumPy alone and
writes ILDG, NERSC (two rows, single precision, little-endian) and openQCD: the C++ readers are tested against
files and numbers that they did not make.
"""

import json
import struct
import zlib
from pathlib import Path

import numpy as np

LATTICE = (2, 4, 2, 6)  # these are x y z t
FOLDER = Path(__file__).parent


def make_links():
    """Return links [t, z, y, x, mu, row, column]: 1 + 0.35 times a Gaussian matrix, brought back to SU(3)."""
    rng = np.random.default_rng(20260801)
    shape = (*LATTICE[::-1], 4, 3, 3)
    q, r = np.linalg.qr(np.eye(3) + 0.35 * (rng.normal(size=shape) + 1j * rng.normal(size=shape)))
    diagonal = np.einsum("...ii->...i", r)
    q = q * (diagonal / abs(diagonal))[..., None, :]
    return q / (np.linalg.det(q)[..., None, None] ** (1 / 3))


def mean_trace(links, path):
    """Return the mean of Re tr / 3 of the loop whose steps are +-(mu + 1)."""
    product, offset = np.eye(3), [0, 0, 0, 0]
    for step in path:
        mu = abs(step) - 1
        if step < 0:
            offset[mu] -= 1
        link = links[..., mu, :, :]
        for nu in range(4):
            link = np.roll(link, -offset[nu], axis=3 - nu)
        if step < 0:
            link = np.conj(np.swapaxes(link, -1, -2))
        else:
            offset[mu] += 1
        product = product @ link
    return np.einsum("...ii->...", product).real.mean() / 3


def measure(links):
    def plaquettes(planes):
        return np.mean([mean_trace(links, [m, n, -m, -n]) for m, n in planes])

    spatial = plaquettes([(1, 2), (1, 3), (2, 3)])
    temporal = plaquettes([(1, 4), (2, 4), (3, 4)])
    pairs = [(m, n) for m in range(1, 5) for n in range(1, 5) if m != n]
    line = np.eye(3)
    for t in range(LATTICE[3]):
        line = line @ links[t, ..., 3, :, :]
    polyakov = np.einsum("...ii->...", line).mean() / 3
    return {
        "plaquette": (spatial + temporal) / 2,
        "plaquette_spatial": spatial,
        "plaquette_temporal": temporal,
        "rectangle": np.mean([mean_trace(links, [m, m, n, -m, -m, -n]) for m, n in pairs]),
        "link_trace": np.einsum("...ii->...", links).real.mean() / 3,
        "polyakov_loop": [polyakov.real, polyakov.imag],
    }


def rotate(value, bits):
    return ((value << bits) | (value >> (32 - bits))) & 0xFFFFFFFF if bits else value


def write_ildg(reals, path):
    data = reals.astype(">f8").tobytes()
    sums = [0, 0]
    for site in range(len(data) // 576):
        crc = zlib.crc32(data[576 * site : 576 * (site + 1)])
        sums = [sums[0] ^ rotate(crc, site % 29), sums[1] ^ rotate(crc, site % 31)]

    def record(kind, text, flags):
        head = struct.pack(">IHHQ", 0x456789AB, 1, flags, len(text)) + kind.encode().ljust(128, b"\0")
        return head + text + b"\0" * (-len(text) % 8)

    xml = '<?xml version="1.0" encoding="UTF-8"?>'
    extents = "".join(f"<l{name}>{extent}</l{name}>" for name, extent in zip("xyzt", LATTICE, strict=True))
    form = (
        f"{xml}<ildgFormat><version>1.0</version><field>su3gauge</field>"
        f"<precision>64</precision>{extents}</ildgFormat>"
    )
    checksum = (
        f"{xml}<scidacChecksum><version>1.0</version><suma>{sums[0]:08x}</suma>"
        f"<sumb>{sums[1]:08x}</sumb></scidacChecksum>"
    )
    path.write_bytes(
        record("ildg-format", form.encode(), 0x8000)
        + record("ildg-binary-data", data, 0)
        + record("scidac-checksum", checksum.encode(), 0x4000)
    )
    return [f"{s:08x}" for s in sums]


def write_nersc(reals, numbers, path):
    data = reals[..., :2, :, :].astype("<f4").tobytes()
    checksum = int(np.frombuffer(data, "<u4").astype(np.uint64).sum()) % 2**32
    lines = ["BEGIN_HEADER", "HDR_VERSION = 1.0", "DATATYPE = 4D_SU3_GAUGE", "STORAGE_FORMAT = 1.0"]
    lines += [f"DIMENSION_{i} = {extent}" for i, extent in enumerate(LATTICE, 1)]
    lines += [f"LINK_TRACE = {numbers['link_trace']:.10f}", f"PLAQUETTE = {numbers['plaquette']:.10f}"]
    lines += [f"BOUNDARY_{i} = PERIODIC" for i in range(1, 5)]
    lines += [f"CHECKSUM = {checksum:8x}", "FLOATING_POINT = IEEE32LITTLE", "END_HEADER", ""]
    path.write_bytes("\n".join(lines).encode() + data)
    return f"{checksum:08x}"


def write_openqcd(reals, numbers, path):
    lx, ly, lz, lt = LATTICE
    data = [struct.pack("<4id", lt, lx, ly, lz, 3 * numbers["plaquette"])]
    for t, x, y, z in np.ndindex(lt, lx, ly, lz):
        if (t + x + y + z) % 2 == 0:
            continue
        for mu in (3, 0, 1, 2):
            behind = [x, y, z, t]
            behind[mu] = (behind[mu] - 1) % LATTICE[mu]
            for site in ([x, y, z, t], behind):
                data.append(reals[(*site[::-1], mu)].astype("<f8").tobytes())
    path.write_bytes(b"".join(data))


def main():
    links = make_links()
    reals = np.stack([links.real, links.imag], axis=-1)
    numbers = measure(links)
    numbers["scidac_checksums"] = write_ildg(reals, FOLDER / "small.ildg")
    numbers["nersc_checksum"] = write_nersc(reals, numbers, FOLDER / "small.nersc")
    write_openqcd(reals, numbers, FOLDER / "small.openqcd")
    print(json.dumps(numbers, indent=2))


if __name__ == "__main__":
    main()
