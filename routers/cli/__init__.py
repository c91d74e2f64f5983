"""The command line: `rhumb`."""
