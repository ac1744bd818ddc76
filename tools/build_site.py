"""Build the site of doc/ with Sphinx: pages of doc/, and those made from schemas, parsers and docstrings.

usage: tools/build_site [--output FOLDER]

Its source is put together in build/site/source, as the repository lies, so that links need no change. Every
warning is an error. The package is taken from python/ of this tree, without the compiled part.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tools")]

import site_commands  # noqa: E402
import site_keys  # noqa: E402
import site_names  # noqa: E402
import site_notebooks  # noqa: E402

#: Pages of doc/ lead to these pages and files of the root.
OF_ROOT = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE", "CITATION.cff")
LINK = re.compile(r"\]\(([^)\s#]+)")


def stage(source: Path) -> None:
    """Put the source of the site together."""
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(
        ROOT / "doc", source / "doc", ignore=shutil.ignore_patterns("site", "*.py", "__pycache__")
    )
    for name in OF_ROOT:
        shutil.copy(ROOT / name, source / name)
    shutil.copy(ROOT / "doc" / "site" / "index.md", source / "index.md")
    for page in list(source.rglob("*.md")):
        without_folders(page, source)
        for target in files_linked(page, source):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / target.relative_to(source), target)
            if target.suffix == ".md":  # no table of contents has it
                target.write_text(f"---\norphan: true\n---\n\n{target.read_text()}")
    made = {
        "doc/reference/keys": site_keys.pages(),
        "doc/reference/python": site_names.pages(),
        "doc/reference": {"commands": site_commands.page()},
        "doc/tutorials": site_notebooks.pages(ROOT / "doc" / "tutorials"),
    }
    for folder, pages in made.items():
        (source / folder).mkdir(parents=True, exist_ok=True)
        for name, text in pages.items():
            (source / folder / f"{name}.md").write_text(text)


def files_linked(page: Path, source: Path) -> Iterator[Path]:
    """Yield the files outside doc/ that a page leads to, at their place in the source of the site."""
    for target in LINK.findall(page.read_text()):
        if "://" in target:
            continue
        place = (page.parent / target).resolve()
        if (
            place.is_relative_to(source)
            and not place.exists()
            and (ROOT / place.relative_to(source)).is_file()
        ):
            yield place


def without_folders(page: Path, source: Path) -> None:
    """Leave the text alone of a link that leads to a folder of the tree, which is no part of the site."""

    def kept(link: re.Match[str]) -> str:
        place = (page.parent / link[2]).resolve()
        is_folder = place.is_relative_to(source) and (ROOT / place.relative_to(source)).is_dir()
        return f"`{link[1]}`" if is_folder else link[0]

    page.write_text(re.sub(r"\[([^\]]+)\]\(([^)\s#]+)\)", kept, page.read_text()))


def main() -> int:
    """Build the site; the status is 1 where there was a warning."""
    parser = argparse.ArgumentParser(prog="tools/build_site", description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--output", type=Path, default=ROOT / "build" / "site" / "html", help="default: build/site/html"
    )
    output = parser.parse_args().output.resolve()
    start = time.monotonic()
    source = ROOT / "build" / "site" / "source"
    stage(source)
    from sphinx.cmd.build import build_main

    # A build that is stopped leaves the site before it in its place.
    part = output.with_name(f"{output.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    status = build_main(
        [
            *(
                "-b",
                "html",
                "-c",
                str(ROOT / "doc" / "site"),
                "-d",
                str(ROOT / "build" / "site" / "doctrees"),
            ),
            *("-W", "--keep-going", "-n", "-q", "-E", "-j", "2", str(source), str(part)),
        ]
    )
    if part.is_dir():
        shutil.rmtree(output, ignore_errors=True)
        part.replace(output)
    pages = len(list(output.rglob("*.html")))
    print(
        f"site: {pages} pages in {time.monotonic() - start:.0f} s, status {status}: {output / 'index.html'}"
    )
    return 1 if status else 0


if __name__ == "__main__":
    sys.exit(main())
