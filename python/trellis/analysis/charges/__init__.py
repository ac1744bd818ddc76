"""Charges from Feynman-Hellmann correlators and from three-point functions."""
