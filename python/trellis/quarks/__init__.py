"""Quarks: operators, sources and propagators, and the files of propagators."""
