"""The applications share this room: the set-up of a run, the lock of its folder, its output, and its stop."""
