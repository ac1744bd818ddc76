"""Markov chains of gauge fields: heat bath, molecular dynamics, what is measured on the way, and states."""
