"""Readers of measurement files, those of Trellis and of other programs."""
