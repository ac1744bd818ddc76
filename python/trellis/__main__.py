"""This module makes `python -m trellis` the same as `trellis`."""

import sys


def main() -> None:
    """Run the `trellis` program, which takes Ctrl-C while it still imports, too."""
    try:
        from .commands.terminal import forget_odd_sizes, open_closed_streams

        open_closed_streams()
        forget_odd_sizes()
        try:
            from .commands.cli import main as run
        except ModuleNotFoundError as missing:
            name = missing.name or ""
            if name.partition(".")[0] == __package__:
                raise
            sys.stderr.write(
                f"error: {sys.executable} has no package {name}; requirements.txt lists what trellis needs\n"
            )
            sys.exit(1)

        run()
    except KeyboardInterrupt:
        sys.stderr.write("error: interrupted\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
