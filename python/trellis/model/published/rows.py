"""This is a row of the table of published figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: The kind says what a row is worth: an input shows nothing, a fitted row little; checked
#: and predicted rows count.
Kind = Literal["input", "fitted", "checked", "predicted"]


@dataclass(frozen=True)
class Row:
    """This is a published figure beside that of the model.

    Attributes
    ----------
    group
        The part of the table.
    figure
        The quantity, with its unit.
    published
        The published value, or words; None: not known here, the model predicts it.
    model
        The model's value, or words.
    kind
        input: the model was given it; fitted: a constant was fitted to it; checked: it follows from other
        figures, and was known when the form of the model was chosen; predicted: it was not looked at.
    agrees
        True if words agree. Numbers have a deviation.
    note
        The source, and what was fitted.
    """

    group: str
    figure: str
    published: float | str | None
    model: float | str
    kind: Kind
    note: str = ""
    agrees: bool | None = None

    @property
    def deviation(self) -> float | None:
        """Return model over published value, less 1."""
        if isinstance(self.published, str) or isinstance(self.model, str) or not self.published:
            return None
        return self.model / self.published - 1
