"""The causal router: `react(event, view) → commands` (seed 002). Rules first; it never calls a model."""
