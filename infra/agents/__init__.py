"""Agent providers: `command` (any local command-line agent) and `scripted` (answers from a file)."""
