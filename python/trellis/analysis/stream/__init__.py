"""This package analyses the stream that `trellis generate` writes."""
