"""Says hello from the command line."""
