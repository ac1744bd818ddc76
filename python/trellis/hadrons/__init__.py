"""This module has hadrons: two-point and three-point functions, and currents in them."""
