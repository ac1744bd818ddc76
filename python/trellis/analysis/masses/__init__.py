"""Masses come from two-point functions by series, models, windows and their fits."""
