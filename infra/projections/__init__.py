"""Read models in PostgreSQL and in memory: following the log, rebuilding, verifying."""
