"""What judges a change, and what in a change needs a person: pure rules over the paths that differ."""

from domain.judge.plan import ChangedPath, defining_files, verification_plan
from domain.judge.tier import tier_raises

__all__ = ["ChangedPath", "defining_files", "tier_raises", "verification_plan"]
