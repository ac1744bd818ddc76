"""Runs are watched from their files alone: a run under way is never disturbed, and nothing is written."""

from .look import Watcher

__all__ = ["Watcher"]
