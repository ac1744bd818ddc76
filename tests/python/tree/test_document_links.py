"""Relative links of the documents, and sections that documents and sources name, are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
#: The front page of the site leads to pages that are made with it; Sphinx checks it.
PAGES = sorted({*ROOT.glob("*.md"), *(ROOT / "doc").rglob("*.md")} - {ROOT / "doc" / "site" / "index.md"})
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
#: The texts look like (doc/conventions.md, Name; Other name) or doc/conventions.md "Name".
SECTION = re.compile(r'(doc/[\w/]+\.md)(?:,? \(?"([^"]+)"|, ([A-Z][^).:|]*))')
SOURCES = ("doc", "src", "bindings", "python", "reference", "tests")


def headings(page: Path) -> list[str]:
    return re.findall(r"^#+ +(.*?) *$", CODE.sub("", page.read_text()), re.MULTILINE)


def anchor(heading: str) -> str:
    """Return the anchor that GitHub makes of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_lead_somewhere(page: Path) -> None:
    wrong = []
    for target in LINK.findall(CODE.sub("", page.read_text())):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, section = target.partition("#")
        found = (page.parent / path).resolve() if path else page
        is_there = found.exists() and (not section or section in map(anchor, headings(found)))
        if not is_there:
            wrong.append(target)
    assert wrong == []


def sections_named() -> set[tuple[str, str]]:
    """Return (page, section) of all sources; comments that go over lines are put together."""
    found = set()
    for folder in SOURCES:
        for path in (ROOT / folder).rglob("*"):
            if path.suffix not in {".md", ".py", ".hpp", ".cpp", ".cu"} or path == Path(__file__).resolve():
                continue
            text = re.sub(r"\s*\n\s*(?:///?|#)?\s*", " ", path.read_text())
            for page, quoted, plain in SECTION.findall(text):
                found |= {(page, name) for name in re.split(r"; |, and ", quoted or plain)}
    return found


def test_sections_that_are_named_exist() -> None:
    """A part of a heading is enough: Algebra stands for Algebra, momenta and forces."""
    named = sections_named()
    assert ("doc/conventions.md", "Staggered fermions") in named
    assert ("doc/conventions.md", "Correlators") in named
    assert {
        (page, name)
        for page, name in named
        if not (ROOT / page).exists() or not any(name in heading for heading in headings(ROOT / page))
    } == set()
