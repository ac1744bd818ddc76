"""This module has charges from Feynman-Hellmann correlators and from three-point functions."""
