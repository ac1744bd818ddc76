"""Statistics that every analysis shares: autocorrelations, weights, and averages over models."""
