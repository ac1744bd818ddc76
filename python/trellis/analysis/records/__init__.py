"""What an analysis reads, is asked for, and finds: measurements, options and results."""
