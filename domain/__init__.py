"""Pure decisions: no I/O, no clock, no randomness, no imports from the other folders."""
