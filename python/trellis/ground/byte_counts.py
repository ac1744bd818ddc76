"""This module shows numbers of bytes as texts for people."""

from __future__ import annotations


def show_bytes(count: float) -> str:
    """Return "1.50 GiB", or "163.8 MiB" below one GiB: a statement is not rounded below what a run takes."""
    return f"{count / 2**30:.2f} GiB" if count >= 2**30 else f"{count / 2**20:.1f} MiB"
