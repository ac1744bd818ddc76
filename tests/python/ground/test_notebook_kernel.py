"""A real kernel of Jupyter shows bars, and its stop button ends what the core computes.

These tests run where nbclient and ipykernel are installed (pip install nbclient ipykernel tqdm); the core has
no need of them.
"""

from __future__ import annotations

import asyncio
import importlib.util
import threading
import time

import pytest
from command_line import environment

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")

HAS_TQDM = importlib.util.find_spec("tqdm") is not None
#: A stop takes a second, or one application of the operator.
LATE = 2.0


def client_of(*cells: str) -> nbclient.NotebookClient:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    return nbclient.NotebookClient(notebook, timeout=40, kernel_name="python3", allow_errors=True)


def test_bars_of_solves_sweeps_and_flows() -> None:
    """Each bar is in the cell's output, and ends at 100 %."""
    client = client_of(
        "import trellis as tr\nU = tr.quenched((4, 4, 4, 8), beta=6.0, seed=1, sweeps=5, progress=True)",
        "S = tr.cg(tolerance=1e-8)(tr.WilsonClover(U, kappa=0.12)).propagator("
        "tr.point_source(U.geometry, (0, 0, 0, 0)), progress=True)",
        "found = tr.flow_history(U, time=0.2, step=0.02, progress=True)",
    )
    client.execute(env=environment())
    for cell, word in zip(client.nb.cells, ("sweeps", "solve", "flow"), strict=True):
        assert not [out for out in cell.outputs if out.output_type == "error"], cell.outputs
        shown = "".join(out.text for out in cell.outputs if out.get("name") == "stderr")
        widgets = [out for out in cell.outputs if out.output_type == "display_data"]
        assert widgets or (word in shown and "100" in shown), cell.outputs
        assert widgets or ("|" in shown.rsplit("\r", 1)[-1]) == HAS_TQDM


@pytest.mark.parametrize(
    "work",
    [
        "tr.mr(tolerance=1e-10, relaxation=1e-7, max_iterations=10**9, fallback=False)(M).propagator(source)",
        "U.stout(rho=0.01, steps=10**9)",
        "[tr.multigrid(M, block=(2, 2, 2, 2), vectors=8) for _ in range(10**6)]",
    ],
)
def test_the_stop_button(work: str) -> None:
    """The kernel gets SIGINT after half a second; the cell ends with KeyboardInterrupt, and work goes on."""
    client = client_of(
        "import trellis as tr\nU = tr.weak_field((4, 4, 4, 8), seed=3)\n"
        "M = tr.WilsonClover(U, mass=0.3, csw=1.0)\nsource = tr.point_source(U.geometry, (0, 0, 0, 0))",
        work,
        "print(round(U.plaquette, 3))",
    )
    sent: list[float] = []

    def press() -> None:
        sent.append(time.monotonic())
        asyncio.run(client.km.interrupt_kernel())

    with client.setup_kernel(env=environment()):
        first, second, third = client.nb.cells
        client.execute_cell(first, 0)
        timer = threading.Timer(0.5, press)
        timer.start()
        client.execute_cell(second, 1)
        late = time.monotonic() - sent[0]
        client.execute_cell(third, 2)
    assert [out.ename for out in second.outputs if out.output_type == "error"] == ["KeyboardInterrupt"]
    assert late < LATE
    assert "".join(out.text for out in third.outputs).startswith("0.")
