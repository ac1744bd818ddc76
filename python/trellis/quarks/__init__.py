"""This module has quarks: operators, sources and propagators, and the files of propagators."""
