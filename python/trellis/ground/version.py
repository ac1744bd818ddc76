"""The versions that every result names."""

from __future__ import annotations

__version__ = "0.1.0"
#: Version of doc/conventions.md; written into every result.
conventions_version = "1"
