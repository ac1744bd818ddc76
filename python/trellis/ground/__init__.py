"""What every room stands on: errors, arguments, ranks, files, records. Nothing here knows a lattice field."""
