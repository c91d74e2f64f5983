"""Fixtures of the command line's tests."""

from tests.routers.cli.house import house, rhumb

__all__ = ["house", "rhumb"]
