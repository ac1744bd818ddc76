"""Ctrl-C is not lost in libraries that catch all exceptions."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from trellis.ground.swallowed_interrupts import interrupts_kept


@pytest.fixture(autouse=True)
def handler_of_python() -> Iterator[None]:
    """Give SIGINT Python's own handler: workers of pytest ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def press() -> None:
    signal.raise_signal(signal.SIGINT)


def test_what_is_swallowed_comes_at_the_end() -> None:
    went_on = []

    @interrupts_kept()
    def library() -> None:
        try:
            press()
        except:  # noqa: E722
            went_on.append(True)

    with pytest.raises(KeyboardInterrupt):
        library()
    assert went_on
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_that_it_became_does_not_hide_it() -> None:
    @interrupts_kept()
    def library() -> None:
        try:
            press()
        except KeyboardInterrupt:
            raise ValueError("a fit failed") from None

    with pytest.raises(KeyboardInterrupt):
        library()


def test_it_comes_at_once_where_nobody_swallows_it() -> None:
    reached = []

    @interrupts_kept()
    def library() -> None:
        press()
        reached.append(True)

    with pytest.raises(KeyboardInterrupt):
        library()
    assert not reached


def test_errors_and_handlers_of_others_stay() -> None:
    with pytest.raises(ValueError, match="other"), interrupts_kept():
        raise ValueError("other")
    pressed = []
    before = signal.signal(signal.SIGINT, lambda *_: pressed.append(True))
    try:
        with interrupts_kept():
            press()
    finally:
        signal.signal(signal.SIGINT, before)
    assert pressed == [True]
