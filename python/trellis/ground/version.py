"""This module has the versions that every result names."""

from __future__ import annotations

__version__ = "0.1.0"
#: This is the version of doc/conventions.md; it is written into every result.
conventions_version = "1"
#: This is the version of the language of run files; it is written into every result. Files of the first do
#: not name it.
run_file_language = 3
