"""An analysis has one self-contained HTML page, with its plots."""

from .page import render_page, write_report

__all__ = ["render_page", "write_report"]
