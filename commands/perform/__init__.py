"""Performers of effects: what takes seconds to hours, begun after its intent is stored, ended by its outcome."""
