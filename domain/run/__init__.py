"""A Run: one attempt of one agent on one Task. Its ID is the attempt's fencing token."""
