"""The versions that every result names."""

from __future__ import annotations

__version__ = "0.1.0"
#: Version of doc/conventions.md; written into every result.
conventions_version = "1"
#: Version of the language of run files; written into every result. Those of the first do not name it.
run_file_language = 3
