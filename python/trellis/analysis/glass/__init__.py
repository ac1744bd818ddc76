"""The results of spin glasses are means over samples with jackknife errors, and a test of equilibrium."""
