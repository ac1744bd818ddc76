"""This module has latencies and rates of APEnet+ (INFN 2013), and the relations between them."""

from __future__ import annotations

from .rows import Row

GROUP = "apenet"
SOURCE = "INFN 2013"
#: These are microseconds between GPUs: by peer-to-peer, by way of the host, and by MVAPICH over InfiniBand.
PEER, STAGED, INFINIBAND = 8.5, 16.8, 17.4
#: A copy to or from a GPU takes the first, the network of 2012 between hosts takes the second
#: (apegate.roma1.infn.it, page 652); both are in microseconds.
COPY, HOST_TO_HOST = 10.0, 6.5
#: A request of the card to a GPU's memory has this size and takes this time.
REQUEST_BYTES, REQUEST_NS = 128, 80.0
WINDOW_BYTES = 32768
#: These are rates in GB/s from a GPU to the network by version of the card, and from the network to a GPU.
SEND_V1, SEND_V2, SEND_V3, RECEIVE = 0.3, 1.4, 1.6, 1.4
#: A translation of an address takes the first of these times, in two versions of firmware and in hardware;
#: the second number is the rate of the host in GB/s.
TRANSLATION_US = {"Nios": (2.2, 1.2), "faster Nios": (1.6, 1.6)}
HARDWARE_TRANSLATION_US, HARDWARE_GBS = 0.124, 2.2
CROSSING_BYTES = 131072
#: InfiniBand reaches these GB/s between GPUs in the breadth-first search on two and four nodes (bfs.py).
INFINIBAND_BFS_GBS = 1.54


def request_gbs() -> float:
    """Return the rate of a card that asks for 128 bytes each 80 ns."""
    return REQUEST_BYTES / REQUEST_NS


def windowed_gbs(gap_us: float) -> float:
    """Return the rate of a card that stops for so long after each window of requests."""
    return WINDOW_BYTES / (WINDOW_BYTES / request_gbs() + 1e3 * gap_us)


def window_gap_us() -> float:
    """Return the stop after a window, from the rate of the second version."""
    return 1e-3 * WINDOW_BYTES * (1 / SEND_V2 - 1 / request_gbs())


def packet_bytes() -> float:
    """Return the size of a packet, from the rate with the first firmware: a translation for each."""
    seconds_us, rate = TRANSLATION_US["Nios"]
    return 1e3 * seconds_us * rate


def crossing_bytes(infiniband_gbs: float) -> float:
    """Return the length of a message that peer-to-peer and InfiniBand move in the same time."""
    return 1e3 * (INFINIBAND - PEER) / (1 / RECEIVE - 1 / infiniband_gbs)


def crossing_gbs() -> float:
    """Return the rate of InfiniBand between GPUs that makes both ways alike at 128 kB."""
    return 1 / (1 / RECEIVE - 1e3 * (INFINIBAND - PEER) / CROSSING_BYTES)


def rows() -> list[Row]:
    """Return latencies and rates."""
    packet = packet_bytes()
    faster_us, faster_gbs = TRANSLATION_US["faster Nios"]
    hardware = 1e-3 * packet / HARDWARE_TRANSLATION_US
    return [
        Row(GROUP, "latency GPU to GPU, peer-to-peer, us", PEER, PEER, "input", SOURCE),
        Row(
            GROUP,
            "latency GPU to GPU by way of the host, us",
            STAGED,
            HOST_TO_HOST + COPY,
            "checked",
            f"{SOURCE}; 6.5 us between hosts (2012, apegate.roma1.infn.it) and one copy of about 10 us",
        ),
        Row(GROUP, "latency GPU to GPU over InfiniBand, us", INFINIBAND, INFINIBAND, "input", SOURCE),
        Row(
            GROUP,
            "crossing of peer-to-peer and InfiniBand, kB",
            128.0,
            crossing_bytes(INFINIBAND_BFS_GBS) / 1024,
            "checked",
            f"{SOURCE}; {INFINIBAND_BFS_GBS} GB/s of InfiniBand from the breadth-first search alone",
        ),
        Row(GROUP, "GPU sends, first version, GB/s", SEND_V1, SEND_V1, "input", SOURCE),
        Row(
            GROUP,
            "GPU sends, second version, GB/s",
            SEND_V2,
            windowed_gbs(window_gap_us()),
            "fitted",
            f"{SOURCE}; a stop of {window_gap_us():.1f} us after each window of 32 kB",
        ),
        Row(GROUP, "GPU sends, third version, GB/s", SEND_V3, request_gbs(), "checked", "128 B each 80 ns"),
        Row(
            GROUP,
            "host receives, first firmware, GB/s",
            TRANSLATION_US["Nios"][1],
            1e-3 * packet / TRANSLATION_US["Nios"][0],
            "fitted",
            f"{SOURCE}; a translation of 2.2 us for each packet of {packet:.0f} B",
        ),
        Row(
            GROUP,
            "host receives, faster firmware, GB/s",
            faster_gbs,
            1e-3 * packet / faster_us,
            "checked",
            "the same packet, 1.6 us a translation",
        ),
        Row(
            GROUP,
            "host receives, translation in hardware",
            "more than 2.2 GB/s",
            f"translation allows {hardware:.0f} GB/s, other parts limit",
            "checked",
            "the same packet, 124 ns a translation",
            agrees=hardware > HARDWARE_GBS,
        ),
    ]
