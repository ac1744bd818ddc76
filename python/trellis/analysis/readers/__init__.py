"""This module has readers of measurement files, those of Trellis and of other programs."""
