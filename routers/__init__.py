"""Everything that turns something from outside into a command: the command line, events, later HTTP and timers."""
