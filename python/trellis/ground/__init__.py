"""Every room stands on this one: errors, arguments, ranks, files, records. It knows no lattice field."""
