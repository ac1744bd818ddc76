"""trellis measure: propagators and correlators on a set of configurations, saved and continued."""
