"""Command handlers: load, decide, append; and the effects (plan, run an agent, compose, verify, export)."""
