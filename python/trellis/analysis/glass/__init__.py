"""Results of spin glasses: means over samples with jackknife errors, and a test of equilibrium."""
