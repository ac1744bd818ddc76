"""With cmake/ccache_launcher the cache gives back the precompiled header of these sources, not of others."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

LAUNCHER = Path(__file__).resolve().parents[3] / "cmake" / "ccache_launcher"


needs_ccache = pytest.mark.skipif(
    not (shutil.which("ccache") and shutil.which("g++")), reason="needs ccache and g++"
)


@needs_ccache
def test_a_changed_comment_is_another_precompiled_header(tmp_path: Path) -> None:
    """The compiler tells headers apart by all of their text: with the old one it reads part.hpp twice."""
    header, source, program = tmp_path / "all.hxx", tmp_path / "all.hxx.cxx", tmp_path / "program.cpp"
    header.write_text('#include "part.hpp"\n')
    source.touch()
    environment = {k: v for k, v in os.environ.items() if not k.startswith("CCACHE_")}
    environment["CCACHE_DIR"] = str(tmp_path / "cache")
    command = [LAUNCHER, "ccache", "g++", "-fpch-preprocess", "-include", header]
    for comment in ("one", "the number one"):
        text = f"#pragma once\n// Returns {comment}.\ninline int one() {{ return 1; }}\n"
        (tmp_path / "part.hpp").write_text(text)
        program.write_text(f'#include "part.hpp"\nint main() {{ return one() + {len(comment)}; }}\n')
        for arguments in (
            ["-x", "c++-header", "-o", "all.hxx.gch", "-c", source],
            ["-o", "program.o", "-c", program],
        ):
            subprocess.run([*command, *arguments], cwd=tmp_path, env=environment, check=True)


@needs_ccache
def test_the_sources_of_another_checkout_are_not_taken(tmp_path: Path) -> None:
    """A state is built clean, changed, built clean again, and changed in another way."""
    header, source, made = tmp_path / "all.hxx", tmp_path / "all.hxx.cxx", tmp_path / "all.hxx.gch"
    header.write_text('#include "part.hpp"\n')
    source.touch()
    command = [LAUNCHER, "ccache", "g++", "-fpch-preprocess", "-x", "c++-header", "-include", header]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("CCACHE_")}
    environment["CCACHE_DIR"] = str(tmp_path / "cache")
    for name in ("first_state", "second_state", "first_state", "third_state"):
        if name == "first_state":
            made.unlink(missing_ok=True)
        (tmp_path / "part.hpp").write_text(f"inline int {name}() {{ return 1; }}\n")
        subprocess.run([*command, "-o", made.name, "-c", source], cwd=tmp_path, env=environment, check=True)
        assert name.encode() in made.read_bytes(), name
    said = subprocess.run(
        ["ccache", "--print-stats"], env=environment, check=True, capture_output=True, text=True
    ).stdout
    counts = dict(line.split("\t") for line in said.splitlines())
    hits = int(counts["direct_cache_hit"]) + int(counts["preprocessed_cache_hit"])
    assert hits == 1, "the second clean build takes the first one's"
