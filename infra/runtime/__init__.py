"""The runtime of one process: follows the log, delivers messages, performs effects."""
