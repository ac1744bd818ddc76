"""These are the exceptions of trellis. The compiled part raises these too; importing this module does not
load it."""

from __future__ import annotations


class Error(Exception):
    """This is the root of every exception that trellis raises on purpose."""


class BadArgument(Error, ValueError):
    """An argument breaks a stated condition; the message names the quantity and prints the value."""


class RunFileError(BadArgument):
    """A run file is not valid: unknown or mistyped key, wrong type, wrong value."""


class FileError(Error, OSError):
    """A file is not what it should be: missing, truncated, wrong magic, wrong size, wrong header."""


class ChecksumError(FileError):
    """A file was read whole, but its checksum, plaquette or link trace is not the stored one."""


class OutOfMemory(Error, MemoryError):
    """A request needs more memory than there is; the message has both numbers."""


class NumericError(Error, ArithmeticError):
    """A number that must be finite is not, or a sum overflowed."""


class NotAvailable(Error):
    """The feature exists, but this build or this machine lacks it."""
