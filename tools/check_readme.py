#!/usr/bin/env python3
"""Check that README.md says what is true: its commands exist, with the options that it shows, its links
lead somewhere, its Python compiles, and the two commands a new user needs stand on its first screen."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

FIRST_SCREEN_LINES = 40
REQUIRED = ("./bootstrap demo", "./bootstrap test")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
OPTION = re.compile(r"(?<!\S)(--[a-z][a-z0-9-]*)")

Run = Callable[[list[str]], tuple[int, str]]


def run(command: list[str]) -> tuple[int, str]:
    # The terminal is wide and has no colours: option names are neither wrapped nor cut.
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
    except FileNotFoundError:
        return 127, f"{command[0]} is not there; ./bootstrap setup makes it"
    return done.returncode, done.stdout + done.stderr


def commands(text: str) -> Iterator[list[str]]:
    """Return the words of each line of the shell blocks, without comments and prompts; continued lines
    joined."""
    for language, block in BLOCK.findall(text):
        if language not in ("sh", "bash", "console", "shell"):
            continue
        for line in block.replace("\\\n", " ").splitlines():
            words = re.sub(r"\s+#.*$", "", line.strip().removeprefix("$ ")).split()
            if words and not words[0].startswith("#"):
                yield words


def check_first_screen(text: str) -> Iterator[str]:
    screen = "\n".join(text.splitlines()[:FIRST_SCREEN_LINES])
    for command in REQUIRED:
        if command not in screen:
            yield f"'{command}' is not in the first {FIRST_SCREEN_LINES} lines"


def check_links(text: str, root: Path) -> Iterator[str]:
    for target in LINK.findall(text):
        if "://" not in target and not (root / target).exists():
            yield f"link to {target}, which does not exist"


def check_python(text: str) -> Iterator[str]:
    for language, block in BLOCK.findall(text):
        if language == "python":
            try:
                compile(block, "README.md", "exec")
            except SyntaxError as error:
                yield f"a Python block does not compile: {error}"


def check_commands(text: str, root: Path, execute: Run = run) -> Iterator[str]:
    for words in commands(text):
        while words and words[0] in ("mpirun", "srun"):  # the line is mpirun -n 8 trellis ...
            words = words[3:] if len(words) > 2 and words[1] == "-n" else words[1:]
        if not words:
            continue
        words = [words[0].removeprefix(".venv/bin/"), *words[1:]]
        if words[0] not in ("./bootstrap", "trellis"):
            continue
        status, help_text = help_of(words, root, execute)
        shown = " ".join(words)
        if status != 0:
            yield f"`{shown}`: its help fails: {help_text.strip()[-200:]}"
        else:
            for option in OPTION.findall(shown):
                if option not in help_text:
                    yield f"`{shown}`: the help does not know {option}"


def help_of(words: list[str], root: Path, execute: Run) -> tuple[int, str]:
    """Return the exit status (not 0 also where the help does not know the subcommand) and the text of the
    help."""
    subcommand = words[1] if len(words) > 1 and not words[1].startswith("-") else ""
    if words[0] == "./bootstrap":
        status, text = execute([str(root / "bootstrap"), "help"])
        return (status if f"./bootstrap {subcommand}" in text else 2), text
    program = str(root / ".venv/bin/trellis")
    status, text = execute([program, *([subcommand] if subcommand else []), "--help"])
    if subcommand == "bench" and len(words) > 2 and status == 0:  # each benchmark has its own options
        known = words[2] in re.split(r"[\s,]+", text)
        return (0 if known else 2), text + execute([program, "bench", words[2], "--help"])[1]
    return status, text


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    root = parser.parse_args().root
    text = (root / "README.md").read_text()
    problems = [
        *check_first_screen(text),
        *check_links(text, root),
        *check_python(text),
        *check_commands(text, root),
    ]
    for problem in problems:
        print(f"README.md: {problem}")
    print(f"README.md: {sum(1 for _ in commands(text))} commands, {len(problems)} violations")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
