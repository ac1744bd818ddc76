"""Chromium lays the report out on a phone, on a screen, and as on paper: nothing is cut."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import trellis as tr
from trellis.analysis import analyze
from trellis.analysis.synthetic import write_synthetic_measurements
from trellis.commands.cli import app

#: These are the widths of a phone, of a screen, and of A4 between margins of 14 mm.
PHONE, SCREEN, PAPER = 390, 1200, 688
MEASURE = """
function sizes(frame) {
  const page = frame.contentDocument, wide = page.documentElement.scrollWidth;
  const right = (element) => Math.ceil(element.getBoundingClientRect().right);
  return {
    width: frame.contentWindow.innerWidth, scroll: wide,
    tables: [...page.querySelectorAll("table")].map(right),
    scrolls: [...page.querySelectorAll(".scroll, .plot")].map(right),
    plots: [...page.querySelectorAll("figure svg")].map((svg) => svg.getBoundingClientRect().width),
    body: parseFloat(getComputedStyle(page.body).fontSize),
  };
}
window.onload = () => document.body.setAttribute(
  "data-sizes", JSON.stringify([...document.querySelectorAll("iframe")].map(sizes)));
"""


def laid_out(pages: list[tuple[str, int]], folder: Path) -> list[dict[str, Any]]:
    """Return the sizes of each page at its width; all pages share one browser, since its start is what takes
    time."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        assert os.environ.get("TRELLIS_REQUIRE_SLURM") != "1", "no chromium"
        pytest.skip("no chromium here (tests/support/slurm/install.sh --browser)")
    frames = "".join(
        f'<iframe srcdoc="{html.escape(text)}" style="width:{width}px;height:4000px;border:0"></iframe>'
        for text, width in pages
    )
    probe = folder / "probe.html"
    probe.write_text(f"<!doctype html><meta charset=utf-8><body>{frames}<script>{MEASURE}</script></body>")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    command = [browser, *options, f"--user-data-dir={folder}/b", "--dump-dom", probe.as_uri()]
    dom = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout
    found = re.search(r'data-sizes="([^"]+)"', dom)
    assert found is not None
    return json.loads(html.unescape(found[1]))


def on_paper(page: str) -> str:
    """Return the page with the rules of paper on a screen, and all that is folded opened."""
    page = page.replace("<details>", "<details open>")
    return page.replace("@media print", "@media screen").replace("@media screen and", "@media none and")


def test_the_report_on_a_phone_a_screen_and_paper(tmp_path: Path) -> None:
    write_synthetic_measurements(tmp_path / "c.h5", configurations=range(100, 300, 10), seed=5)
    analyze(tmp_path / "c.h5", output=tmp_path / "out", title="Masses")
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    pages = [(page, PHONE), (page, SCREEN), (on_paper(page), PAPER)]
    phone, screen, paper = laid_out(pages, tmp_path)
    for found, (_, width) in zip((phone, screen, paper), pages, strict=True):
        assert found["width"] == width
        assert found["scroll"] == width, "nothing is wider than the page"
        assert len(found["plots"]) == page.count("<svg")
        assert all(right <= width for right in found["scrolls"])
    assert min(phone["plots"]) > 300
    assert max(phone["plots"]) >= 640, "wide figures scroll, so that their texts can be read"
    assert all(right <= SCREEN for right in screen["tables"])
    assert all(right <= PAPER for right in paper["tables"]), "a cut table"
    assert paper["body"] < screen["body"]


def test_forecasts_and_multigrids_on_a_phone(tmp_path: Path) -> None:
    run = str(Path(__file__).parents[3] / "examples" / "quenched.toml")
    words = ["-m", "daint_gh200", "--nodes", "1,2,4", "--page", str(tmp_path / "forecast.html")]
    assert CliRunner().invoke(app, ["model", "forecast", run, *words]).exit_code == 0
    M = tr.WilsonClover(tr.quenched((4, 4, 4, 8), beta=6.0, seed=1, sweeps=2), kappa=0.12, csw=1.0)
    mg = tr.multigrid(M, vectors=4, block=(2, 2, 2, 2), sweeps=0)
    tr.gcr(tolerance=1e-2, preconditioner=mg)(M).solve(np.ones((8, 4, 4, 4, 4, 3), dtype=complex))
    mg.write_page(tmp_path / "levels.html")
    texts = [(tmp_path / name).read_text(encoding="utf-8") for name in ("forecast.html", "levels.html")]
    assert all('name="viewport"' in text.replace("'", '"') for text in texts)
    for found in laid_out([(text, PHONE) for text in texts], tmp_path):
        assert found["scroll"] == PHONE, "nothing is wider than the page"
        assert len(found["plots"]) > 0
        assert all(right <= PHONE for right in found["scrolls"])
