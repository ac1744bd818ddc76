"""The Python blocks of README.md and doc/ run as they stand, beside the files that they name."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from inputs_of_peers import MILC, OPENACC, OPENQCD
from run_file_texts import ENDING, trajectories

import trellis as tr
from trellis.analysis.synthetic import PION, write_synthetic_measurements
from trellis.run_files import HmcRun, parse_run_file

ROOT = Path(__file__).resolve().parents[3]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: str) -> list[str]:
    return BLOCK.findall((ROOT / page).read_text())


def configuration(folder: Path) -> None:
    """Make the first of the demo's configurations, under the name that the pages read."""
    for name in ("conf.ildg", "demo/ensemble/configuration.000220.ildg"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        tr.weak_field((4, 4, 4, 8), seed=1).write(folder / name)


def measurements(folder: Path) -> None:
    (folder / "measurements").mkdir()
    write_synthetic_measurements(folder / "measurements" / "correlators.h5")


def own_correlator(folder: Path) -> None:
    np.save(folder / "pion.npy", PION.samples(60, 16, np.random.default_rng(4)))


def inputs_of_others(folder: Path) -> None:
    for name, text in (("input", OPENACC), ("in.rhmc", MILC), ("qcd1.in", OPENQCD)):
        (folder / name).write_text(text)


def sea_quarks(folder: Path) -> None:
    """Write what a solve that failed leaves, beside inputs of other programs."""
    inputs_of_others(folder)
    (folder / "run.toml").write_text(trajectories(ENDING))
    (folder / "out").mkdir()
    for name in ("start.ildg", "ildg"):
        tr.weak_field((4, 4, 4, 4), seed=1).write(folder / "out" / f"failed_solve.000012.{name}")


def of_python(names: dict, folder: Path) -> bool:
    """Return True if a block of the page has left its measurement, configurations or propagator."""
    if "result" in names:
        return names["result"].solves == 1 and all((folder / file).exists() for file in names["result"].files)
    if "made" in names:
        return names["made"].sweeps == 20 and all(
            (folder / file).exists() for file in names["made"].configurations
        )
    return bool(names["array"].shape == (8, 4, 4, 4, 4, 4, 3, 3))


#: Each page has what makes the files that its blocks read, and what a block left that shows that it did its
#: work.
PAGES: dict[str, tuple[Callable[[Path], None], Callable[[dict, Path], object]]] = {
    "README.md": (configuration, lambda names, _: names["pion"].shape == (1, 8)),
    "doc/howto/python.md": (configuration, of_python),
    "doc/howto/gpu.md": (configuration, lambda names, _: names["array"].shape == (8, 4, 4, 4, 4, 4, 3, 3)),
    "doc/howto/analyse.md": (measurements, lambda _, folder: (folder / "analysis" / "report.html").exists()),
    "doc/howto/other_programs.md": (
        own_correlator,
        lambda names, folder: names["mass"].mass_error < 0.05 and (folder / "pion.h5").exists(),
    ),
    "doc/howto/sea_quarks.md": (
        sea_quarks,
        lambda _, folder: parse_run_file((folder / "run.toml").read_text(), HmcRun).fermions,
    ),
    "doc/campaign/README.md": (
        lambda _: None,
        lambda names, folder: (
            names["result"].counts == {"done": 5} and (folder / "squares/all").read_text() == "1\n4\n9\n16\n"
        ),
    ),
}


def test_every_page_with_python_is_tested() -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "doc").rglob("*.md"))]
    assert {str(p.relative_to(ROOT)) for p in pages if BLOCK.search(p.read_text())} == set(PAGES)


@pytest.mark.parametrize("page", PAGES)
def test_blocks_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare, check = PAGES[page]
    prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    for block in blocks(page):
        text = block
        if page.endswith("gpu.md"):
            assert 'device="cuda"' in text
            if not any_gpu():
                text = text.replace('device="cuda"', 'device="cpu"')  # a build or a machine may have none
        names: dict = {}
        exec(compile(text, page, "exec"), names)  # this repository has the documents
        assert check(names, tmp_path)


def any_gpu() -> bool:
    try:
        tr.cold((2, 2, 2, 2)).to("cuda")
    except tr.errors.NotAvailable:
        return False
    return True
