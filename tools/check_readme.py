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
    # A wide terminal, without colours: option names are neither wrapped nor cut.
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    return done.returncode, done.stdout + done.stderr


def commands(text: str) -> Iterator[list[str]]:
    """The words of each line of the shell blocks, without comments and prompts; continued lines joined."""
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
        while words and words[0] in ("mpirun", "srun"):  # mpirun -n 8 trellis ...
            words = words[3:] if len(words) > 2 and words[1] == "-n" else words[1:]
        if not words:
            continue
        program = words[0].removeprefix(".venv/bin/")
        if program == "./bootstrap":
            subcommand, help_command = words[1:2], [str(root / "bootstrap"), "help"]
        elif program == "trellis":
            subcommand = [word for word in words[1:2] if not word.startswith("-")]
            help_command = [str(root / ".venv/bin/trellis"), *subcommand, "--help"]
        else:
            continue
        status, help_text = execute(help_command)
        if words[1:2] == ["bench"] and len(words) > 2 and status == 0:
            if words[2] not in help_text.split(": ")[-1]:
                status = 2
            help_text += execute([*help_command[:-1], words[2], "--help"])[
                1
            ]  # each benchmark has its own options
        shown = " ".join(words)
        if status != 0:
            yield f"`{shown}`: {' '.join(help_command)} fails: {help_text.strip()[-200:]}"
        elif program == "./bootstrap" and f"./bootstrap {' '.join(subcommand)}".strip() not in help_text:
            yield f"`{shown}`: ./bootstrap help does not know it"
        else:
            for option in OPTION.findall(shown):
                if option not in help_text:
                    yield f"`{shown}`: the help does not know {option}"


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
