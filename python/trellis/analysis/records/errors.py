"""This module has exceptions of the analysis.

Every message names the file or the quantity, what was expected and what was found.
"""

from __future__ import annotations

from pathlib import Path

from ...ground.errors import Error, FileError

#: Messages quote no more of what was found.
_QUOTED = 300


def in_one_line(found: object) -> str:
    """Return the text of what was found, in one line that can be printed, and cut where it is long."""
    text = str(found)
    cut = f"{text[:_QUOTED]} ... ({len(text)} characters)" if len(text) > 2 * _QUOTED else text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in " ".join(cut.split()))


class AnalysisError(Error):
    """This error stops an analysis, for whatever reason."""


class MeasurementFileError(AnalysisError, FileError):
    """A measurement file is not what it should be.

    Parameters
    ----------
    path
        The file.
    what
        The object inside the file that is wrong (dataset, attribute, ...).
    expected, found
        The reader looked for the first, and the second is there.
    """

    def __init__(self, path: Path | str, what: str, *, expected: object, found: object) -> None:
        self.path = Path(path)
        self.what = what
        self.expected = expected
        self.found = found
        super().__init__(f"{path}: {what}: expected {expected}, found {in_one_line(found)}")


class TooFewConfigurations(AnalysisError):
    """The number of configurations does not carry the requested statement.

    Parameters
    ----------
    option
        The option of the analysis that has the number, if there is one.
    """

    def __init__(self, purpose: str, *, needed: int, found: float, option: str = "") -> None:
        self.purpose = purpose
        self.needed = needed
        self.found = found
        self.option = option
        super().__init__(
            f"{purpose} needs at least {needed} independent configurations"
            f"{f' ({option})' if option else ''}, found {found:g}"
        )


class FitFailed(AnalysisError):
    """No acceptable fit of a correlator was found."""
