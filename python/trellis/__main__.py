"""`python -m trellis` is `trellis`."""

from .cli import main

if __name__ == "__main__":
    main()
