"""This room has the `trellis` commands: cli.py has their options, and each has a file that is loaded when it
is called."""
