"""trellis analyze: never loads the compiled part."""

from __future__ import annotations

import tomllib
from pathlib import Path

from ..errors import RunFileError


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

    chosen = None
    if options is not None:
        try:
            chosen = tomllib.loads(options.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise RunFileError(f"{options}: {error}") from error
    return run(paths, output, json=json, options=chosen, companion=companion or None, title=title)
