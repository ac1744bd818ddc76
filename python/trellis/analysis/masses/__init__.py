"""Masses from two-point functions: series, models, windows and their fits."""
