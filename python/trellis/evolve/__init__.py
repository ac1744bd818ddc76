"""This module has Markov chains of gauge fields: heat bath, molecular dynamics, on-line measurements, and
states."""
