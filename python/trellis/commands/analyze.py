"""This module runs trellis analyze, and never loads the compiled part."""

from __future__ import annotations

import sys
from pathlib import Path

from ..ground.launched_ranks import launched_rank
from ..run_files.loading import load_run_file
from .output import naming_standard_output


def analyze(
    paths: list[Path],
    output: Path,
    *,
    companion: list[Path],
    title: str | None,
    options: Path | None,
    json: bool,
) -> int:
    """See trellis.commands.analysis_summary.run. The first of several ranks does it alone."""
    if launched_rank() > 0:
        return 0
    from ..analysis.records.options import AnalysisOptions
    from .analysis_summary import run

    if (glass := _only_glass(paths)) is not None:
        from .glass_analysis import analyze_glass_run

        return analyze_glass_run(glass, output, title=title, json=json)
    chosen = None if options is None else load_run_file(options, AnalysisOptions)[0]
    with naming_standard_output():
        status = run(paths, output, json=json, options=chosen, companion=companion or None, title=title)
        sys.stdout.flush()
    return status


def _only_glass(paths: list[Path]) -> Path | None:
    """Return the file of the one spin glass that the paths name; None where they name something else."""
    if len(paths) != 1:
        return None
    from ..analysis.glass.reader import glass_file

    try:
        return glass_file(paths[0])
    except OSError:  # the readers of measurements say what is wrong with it
        return None
