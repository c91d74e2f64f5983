"""Measures: `make bench`."""
