"""These tests cover devices: "cpu" and "cuda", and what is said where there is no GPU."""

from __future__ import annotations

import numpy as np
import pytest

import trellis as tr
from trellis.errors import BadArgument, NotAvailable
from trellis.ground.compiled_core import load

no_gpu = pytest.mark.skipif(load().why_no_gpu() == "", reason="a GPU can be used here")
needs_gpu = pytest.mark.skipif(load().why_no_gpu() != "", reason="no GPU can be used here")


def test_links_are_on_the_cpu_unless_told_otherwise() -> None:
    U = tr.cold((4, 4, 4, 4))
    assert U.device == "cpu"
    assert U.to("cpu") is U
    assert tr.WilsonClover(U, kappa=0.12).device == "cpu"


@pytest.mark.parametrize("device", ["gpu", "gpu_emulated", "CUDA", ""])
def test_an_unknown_device_is_refused_with_the_legal_ones(device: str) -> None:
    with pytest.raises(BadArgument, match='must be "cpu" or "cuda"'):
        tr.cold((4, 4, 4, 4)).to(device)


@no_gpu
def test_without_a_gpu_the_reason_is_said() -> None:
    with pytest.raises(NotAvailable, match=r"no CUDA backend|no NVIDIA GPU|driver"):
        tr.cold((4, 4, 4, 4)).to("cuda")
    with pytest.raises(NotAvailable, match='device "cuda"'):
        tr.quenched((4, 4, 4, 4), beta=6.0, seed=1, sweeps=1, device="cuda")
    assert load().gpus() == [] or load().build()["cuda"]


@needs_gpu
def test_a_chain_on_the_gpu_equals_that_on_the_cpu() -> None:
    results = []
    for device in ("cpu", "cuda"):
        U = tr.quenched((4, 4, 4, 8), beta=6.0, seed=3, sweeps=4, device=device)
        M = tr.WilsonClover(U, kappa=0.12, csw=1.0)
        S = tr.even_odd(tr.mixed_precision(tr.cg(tolerance=1e-9)))(M).propagator(
            tr.point_source(U.geometry, (0, 0, 0, 0))
        )
        assert S.device == device
        results.append((U.plaquette, tr.meson(S, S, "gamma5", "gamma5"), S.to("cpu").to_numpy()))
    assert results[0][0] == pytest.approx(results[1][0], rel=1e-10)
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-7)
    np.testing.assert_allclose(results[0][2], results[1][2], atol=1e-7)
