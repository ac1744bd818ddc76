"""One self-contained HTML page per analysis, with its plots."""

from .page import render_page, write_report

__all__ = ["render_page", "write_report"]
