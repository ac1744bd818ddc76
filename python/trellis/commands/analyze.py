"""trellis analyze: never loads the compiled part."""

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
    """See trellis.commands.analysis_summary.run. Of several ranks the first does it alone."""
    if launched_rank() > 0:
        return 0
    from ..analysis.records.options import AnalysisOptions
    from .analysis_summary import run

    chosen = None if options is None else load_run_file(options, AnalysisOptions)[0]
    with naming_standard_output():
        status = run(paths, output, json=json, options=chosen, companion=companion or None, title=title)
        sys.stdout.flush()
    return status
