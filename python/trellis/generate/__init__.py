"""trellis generate: chains of gauge fields by heat bath or by trajectories, saved and continued."""
