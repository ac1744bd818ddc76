"""trellis analyze: never loads the compiled part."""

from __future__ import annotations

from pathlib import Path

from ..run_files.loading import load_run_file


def analyze(
    paths: list[Path],
    output: Path,
    *,
    companion: list[Path],
    title: str | None,
    options: Path | None,
    json: bool,
) -> int:
    """See trellis.analysis.command.run."""
    from ..analysis.command import run
    from ..analysis.options import AnalysisOptions

    chosen = None if options is None else load_run_file(options, AnalysisOptions)[0]
    return run(paths, output, json=json, options=chosen, companion=companion or None, title=title)
