"""The object store: free text of people, models and tools, outputs of checks, logs, Work Graphs."""
