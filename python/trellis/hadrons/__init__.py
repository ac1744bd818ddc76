"""Hadrons: two-point and three-point functions, and currents in them."""
