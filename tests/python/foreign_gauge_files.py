"""This module makes gauge files as other programs write them, by NumPy alone: nothing of Trellis's writers is
used here."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Links = NDArray[np.complex128]  #: [t, z, y, x, mu, row, column]


def random_links(lattice: Sequence[int], seed: int = 1) -> Links:
    """Return SU(3) matrices near one, by Gram-Schmidt."""
    rng = np.random.default_rng(seed)
    shape = (*lattice[::-1], 4, 3, 3)
    matrices = np.eye(3) + 0.25 * (rng.normal(size=shape) + 1j * rng.normal(size=shape))

    def unit(v):
        return v / np.sqrt((abs(v) ** 2).sum(-1))[..., None]

    u, v = unit(matrices[..., 0, :]), matrices[..., 1, :]
    v = unit(v - u * (u.conj() * v).sum(-1)[..., None])
    return np.stack([u, v, np.cross(u, v).conj()], -2)


def plaquettes(U: Links) -> tuple[float, float, float]:
    """Return the means of Re tr / 3 over all, spatial and temporal plaquettes."""
    found = {}
    for mu in range(4):
        for nu in range(mu + 1, 4):
            right, up = np.roll(U[..., nu, :, :], -1, 3 - mu), np.roll(U[..., mu, :, :], -1, 3 - nu)
            back = np.conj(np.swapaxes(U[..., nu, :, :] @ up, -1, -2))
            loop = U[..., mu, :, :] @ right @ back
            found[mu, nu] = np.trace(loop, axis1=-2, axis2=-1).real.mean() / 3
    return (
        float(np.mean(list(found.values()))),
        float(np.mean([found[p] for p in found if p[1] < 3])),
        float(np.mean([found[p] for p in found if p[1] == 3])),
    )


def link_trace(U: Links) -> float:
    return float(np.trace(U, axis1=-2, axis2=-1).real.mean() / 3)


def raw(U: Links, bits: int, order: str = ">", rows: int = 3) -> bytes:
    reals = np.ascontiguousarray(U[..., :rows, :]).view(np.float64)
    return reals.astype(f"{order}f{bits // 8}").tobytes()


def _rotated(word: int, places: int) -> int:
    return ((word << places) | (word >> (32 - places))) & 0xFFFFFFFF


def scidac_sums(data: bytes, sites: int) -> tuple[int, int]:
    size, a, b = len(data) // sites, 0, 0
    for site in range(sites):
        crc = zlib.crc32(data[site * size : (site + 1) * size])
        a ^= _rotated(crc, site % 29)
        b ^= _rotated(crc, site % 31)
    return a, b


def record(kind: str, data: bytes | str, flags: int = 0, pad: bytes = b"\0") -> bytes:
    """Return a LIME record; its type is in Latin-1, as old programs wrote names."""
    data = data.encode() if isinstance(data, str) else data
    head = struct.pack(">IHHQ", 0x456789AB, 1, flags, len(data)) + kind.encode("latin-1").ljust(128, b"\0")
    return head + data + pad * (-len(data) % 8)


def ildg_format(U: Links, bits: int) -> str:
    t, z, y, x = U.shape[:4]
    return (
        f'<?xml version="1.0"?>\n<!-- <lx>99</lx> --><ildgFormat>\n <version> 1.0 </version>\n'
        f'<field>su3gauge</field><precision> {bits}\n</precision><lx unit="a">{x}</lx>\n'
        f"<ly>+{y}</ly><i:lz>{z}</i:lz><lt>000{t}</lt></ildgFormat>\0\0"
    )


def checksum_xml(a: int, b: int) -> str:
    return f"<scidacChecksum><suma>0x{a:08X}</suma>\n<sumb>\n {b:x} </sumb></scidacChecksum>"


def scidac_xml(U: Links, bits: int) -> tuple[str, str]:
    """Return scidac-private-file-xml and scidac-private-record-xml."""
    dims = "\n".join(map(str, U.shape[3::-1]))
    return (
        f"<scidacFile><spacetime>4</spacetime><dims>\n{dims} </dims><volfmt>0</volfmt></scidacFile>",
        f"<scidacRecord><precision>{'F' if bits == 32 else 'D'}</precision><typesize>{9 * bits // 4}"
        "</typesize><datacount>4</datacount></scidacRecord>",
    )


def nersc(
    U: Links,
    bits: int = 64,
    order: str = ">",
    rows: int = 3,
    *,
    changes: Mapping[str, object | None] | None = None,
    line_end: str = "\n",
    equals: str = " = ",
) -> bytes:
    """Return a NERSC archive; `changes` of None leave a key out."""
    data = raw(U, bits, order, rows)
    words = np.frombuffer(data, f"{order}u4").astype(np.uint64)
    keys: dict[str, object | None] = {
        "DATATYPE": "4D_SU3_GAUGE" if rows == 2 else "4D_SU3_GAUGE_3x3",
        **{f"DIMENSION_{mu + 1}": U.shape[3 - mu] for mu in range(4)},
        "CHECKSUM": f"{int(words.sum()) & 0xFFFFFFFF:x}",
        "LINK_TRACE": f"{link_trace(U):+.10g}",
        "PLAQUETTE": f"{plaquettes(U)[0]:.10g}",
        "FLOATING_POINT": f"IEEE{bits}{'BIG' if order == '>' else 'LITTLE'}",
        **(changes or {}),
    }
    lines = [f"{key}{equals}{value}" for key, value in keys.items() if value is not None]
    return line_end.join(["BEGIN_HEADER", *lines, "END_HEADER"]).encode() + b"\n" + data


def milc(U: Links, order: str = "<") -> bytes:
    """Return the bytes of MILC version 5."""
    data = raw(U, 32, order)
    words = np.frombuffer(data, f"{order}u4").astype(np.uint64)
    places = np.arange(len(words), dtype=np.uint64)

    def folded(modulus):
        by = places % np.uint64(modulus)
        turned = ((words << by) | (words >> (np.uint64(32) - by))) & np.uint64(0xFFFFFFFF)
        return int(np.bitwise_xor.reduce(turned))

    head = struct.pack(f"{order}I4i", 20103, *U.shape[3::-1]) + b"\xff" * 64
    return head + struct.pack(f"{order}III", 0, folded(29), folded(31)) + data


def milc_version_1(U: Links, order: str = "<") -> bytes:
    """Return the bytes of MILC versions 1 to 4: two couplings, and no checksum (include/io_lat.h)."""
    return struct.pack(f"{order}5i2f", 59354, *U.shape[3::-1], 5.7, 0.0) + raw(U, 32, order)


def openqcd(U: Links) -> bytes:
    t, z, y, x = U.shape[:4]
    parts = [struct.pack("<4id", t, x, y, z, 3 * plaquettes(U)[0])]
    for n in np.ndindex(t, x, y, z):
        if sum(n) % 2 == 0:
            continue
        here = (n[0], n[3], n[2], n[1])  # the order is t z y x
        for mu in (3, 0, 1, 2):
            behind = list(here)
            behind[3 - mu] = (behind[3 - mu] - 1) % U.shape[3 - mu]
            parts += [U[here][mu].astype("<c16").tobytes(), U[tuple(behind)][mu].astype("<c16").tobytes()]
    return b"".join(parts)


def bridge(U: Links, line_end: str = "\n") -> bytes:
    return "".join(f"{v:+.17E}{line_end}" for v in np.ascontiguousarray(U).view(np.float64).ravel()).encode()


def ddalphaamg(U: Links, order: str = "<") -> bytes:
    """Return DDalphaAMG's raw configuration: extents, sites and links in the order t, z, y, x (read_conf)."""
    head = struct.pack(f"{order}4id", *U.shape[:4], 3 * plaquettes(U)[0])
    return head + U[..., ::-1, :, :].astype(f"{order}c16").tobytes()


def special_unitary(lattice: Sequence[int], colours: int) -> Links:
    """Return random links of SU(colours)."""
    rng = np.random.default_rng(colours)
    shape = (*lattice[::-1], 4, colours, colours)
    Q, _ = np.linalg.qr(rng.normal(size=shape) + 1j * rng.normal(size=shape))
    return Q / np.linalg.det(Q)[..., None, None] ** (1 / colours)
