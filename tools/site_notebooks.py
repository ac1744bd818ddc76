"""This module makes notebooks pages of the site, and programs: their text and code, without outputs.

usage: .venv/bin/python tools/site_notebooks.py NOTEBOOK...      removes the outputs of notebooks
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def cells(path: Path) -> list[tuple[str, str]]:
    """Return the kind ("markdown" or "code") and the text of each cell.

    Raises
    ------
    ValueError
        The file holds outputs, or cells of another kind.
    """
    found = []
    for number, cell in enumerate(json.loads(path.read_text())["cells"], 1):
        if cell["cell_type"] not in ("markdown", "code"):
            raise ValueError(f"{path}: cell {number}: expected markdown or code, found {cell['cell_type']}")
        if cell.get("outputs") or cell.get("execution_count") is not None:
            raise ValueError(
                f"{path}: cell {number} holds outputs; tools/site_notebooks.py FILE removes them"
            )
        found.append((cell["cell_type"], "".join(cell["source"])))
    return found


def program(path: Path) -> str:
    """Return the code of a notebook as one program."""
    return "\n\n".join(text for kind, text in cells(path) if kind == "code") + "\n"


def page(path: Path) -> str:
    """Return the Markdown of a notebook: the file to download stands below its title."""
    blocks = [f"```python\n{text}\n```" if kind == "code" else text for kind, text in cells(path)]
    return (
        "\n\n".join([blocks[0], f"This page is a notebook: {{download}}`{path.name}`.", *blocks[1:]]) + "\n"
    )


def pages(folder: Path) -> dict[str, str]:
    """Return the name and the Markdown of each notebook of a folder."""
    return {path.stem: page(path) for path in sorted(folder.glob("*.ipynb"))}


def stripped(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return a notebook without outputs, numbers of executions and what the editor noted."""
    kept = [
        {key: cell[key] for key in ("cell_type", "id", "source") if key in cell}
        | {"metadata": {}}
        | ({"outputs": [], "execution_count": None} if cell["cell_type"] == "code" else {})
        for cell in notebook["cells"]
    ]
    return notebook | {"cells": kept}


def main(words: list[str]) -> int:
    """Remove the outputs of the notebooks that are named."""
    for path in map(Path, words):
        path.write_text(
            json.dumps(stripped(json.loads(path.read_text())), indent=1, ensure_ascii=False) + "\n"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
