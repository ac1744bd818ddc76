"""This module has gauge fields: how they are read, written and made, their loops, smearing and gradient
flow."""
