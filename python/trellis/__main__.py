"""This module makes `python -m trellis` the same as `trellis`."""

import sys


def main() -> None:
    """Run the `trellis` program, which takes Ctrl-C while it still imports, too."""
    try:
        from .commands.terminal import forget_odd_sizes, open_closed_streams

        open_closed_streams()
        forget_odd_sizes()
        from .commands.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("error: interrupted\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
