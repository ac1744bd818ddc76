"""What each `trellis` command does; cli.py has the options. Loaded one by one, when they are called."""
