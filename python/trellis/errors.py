"""This module has the exceptions of trellis by the name from which programs, and the compiled part, import
them."""

from .ground.errors import (
    BadArgument,
    ChecksumError,
    Error,
    FileError,
    NotAvailable,
    NumericError,
    OutOfMemory,
    RunFileError,
)
from .ground.solve_report import NotConverged

__all__ = [
    "BadArgument",
    "ChecksumError",
    "Error",
    "FileError",
    "NotAvailable",
    "NotConverged",
    "NumericError",
    "OutOfMemory",
    "RunFileError",
]
