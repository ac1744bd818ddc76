"""This module runs trellis analyze for the results of trellis glass."""

from __future__ import annotations

import json as json_text
import sys
from pathlib import Path

from rich.console import Console

from ..analysis.glass.results import analyze_glass
from ..analysis.records.errors import AnalysisError
from ..ground.errors import Error


def analyze_glass_run(path: Path, output: Path, *, title: str | None, json: bool) -> int:
    """Analyse, write results.json and report.html, and print a summary.

    Returns
    -------
    int
        Exit status: 0; 1 after an error whose message went to standard error, and into the JSON.
    """
    from ..report.glass_page import shown, write_glass_report

    errors = Console(stderr=True, soft_wrap=True, emoji=False)
    try:
        results = analyze_glass(path)
        page = write_glass_report(results, output, title)
    except (AnalysisError, Error, OSError) as error:
        errors.print(f"error: {error}", style="bold red", highlight=False, markup=False)
        if json:
            print(json_text.dumps({"error": str(error)}))
        return 1
    if json:
        sys.stdout.write(results.to_text())
        return 0
    console = Console(emoji=False, markup=False, soft_wrap=True, highlight=False)
    for text in results.warnings:
        errors.print(f"warning: {text}", style="yellow", markup=False)
    for t, temperature in enumerate(results.temperatures):
        row = "  ".join(
            f"{name} {shown(of[t])}" for name, of in results.quantities.items() if of[t] is not None
        )
        console.print(f"T = {temperature:g}: {row}")
    console.print(f"report: {page}")
    return 0
