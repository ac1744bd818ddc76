"""The list of what the host does for fields on a GPU agrees with the sources and the page about GPUs."""

from __future__ import annotations

import re
from pathlib import Path

from trellis.ground.host_work import HOST_WORK

ROOT = Path(__file__).parents[3]
SOURCES = ROOT / "src" / "trellis"
#: These are images of fields on the host (field/storage/on_host.hpp), conversions there, and links read as
#: arrays.
HOST = re.compile(
    r"(?<![\w>])(?:on_host|add_on_host|convert_on_host)\(|\.on\(Backend::cpu\)|(?:\.|->)to_canonical\("
)
#: Other files are left out: they define these functions, or are formats of files, which are those of the
#: host.
NOT_WORK = re.compile(
    r"^(?:comm|device|io)/|^field/storage/(?:on_host|gauge_field|site_field|host_conversion)\.cpp"
)


def files_with_host_work() -> set[str]:
    found = set()
    for path in SOURCES.rglob("*.cpp"):
        name = path.relative_to(SOURCES).as_posix()
        if not NOT_WORK.search(name) and HOST.search(path.read_text()):
            found.add(name)
    return found


def test_all_work_of_the_host_is_listed() -> None:
    listed = {name for work in HOST_WORK for name in work.sources}
    assert files_with_host_work() == listed


def test_the_page_about_gpus_has_the_list() -> None:
    page = (ROOT / "doc" / "howto" / "gpu.md").read_text()
    rows = "".join(f"| {work.what} | {work.when} | {work.copies} |\n" for work in HOST_WORK)
    assert rows in page
