"""The read models: one file each with its tables, how events change them, and its queries."""

from projections.models import ALL as MODELS

__all__ = ["MODELS"]
