"""Timelines of halos show the steps of a hop one behind the other, or side by side on a GPU."""

from __future__ import annotations

from typing import Any

import pytest

from trellis.report.halo_timeline import bars, halo_timeline


def rung(backend: str, **more: object) -> dict[str, Any]:
    return {
        "pattern": "halo",
        "way": "peer",
        "backend": backend,
        "precision": "float",
        "lattice": [8, 8, 8, 8],
        "packing_seconds": 3e-6,
        "halo_seconds": 4e-6,
        "unpacking_seconds": 2e-6,
        "interior_seconds": 5e-6,
        "border_seconds": 1e-6,
        **more,
    }


def places(backend: str) -> dict[str, tuple[str, float, float]]:
    return {
        bar.step: (bar.line, pytest.approx(bar.begin), pytest.approx(bar.end)) for bar in bars(rung(backend))
    }


def test_a_gpu_computes_beside_its_halo() -> None:
    assert places("cuda") == {
        "packing": ("faces", 0, 3),
        "inner sites": ("sites", 0, 5),
        "halo": ("faces", 3, 7),
        "unpacking": ("faces", 7, 9),
        "waiting": ("sites", 5, 9),
        "border": ("sites", 9, 10),
    }


def test_a_host_packs_before_it_computes() -> None:
    assert places("cpu") == {
        "packing": ("sites", 0, 3),
        "inner sites": ("sites", 3, 8),
        "halo": ("faces", 3, 7),
        "unpacking": ("sites", 8, 10),
        "waiting": ("sites", 8, 8),
        "border": ("sites", 10, 11),
    }


def test_a_panel_for_each_lattice_and_storage() -> None:
    rows = [rung("cuda"), rung("cuda", way="staged"), rung("cuda", precision="double")]
    rows += [{"pattern": "ping_pong", "bytes": 8}, rung("cuda", missing="no peer access")]
    figure = halo_timeline(rows)
    assert [axes.get_title() for axes in figure.axes] == ["8x8x8x8, float", "8x8x8x8, double"]
    assert [len(axes.patches) for axes in figure.axes] == [12, 6]
