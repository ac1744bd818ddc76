"""The analysis of the stream that trellis generate writes."""
