"""The store on the eventsourcing library: in PostgreSQL, and in memory for tests and the simulator."""
