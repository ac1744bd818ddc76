"""Every analysis shares these statistics: autocorrelations, weights, and averages over models."""
