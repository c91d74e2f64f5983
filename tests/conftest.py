"""Fixtures for all tests."""

pytest_plugins = ["tests.support.app", "tests.support.own_postgres", "tests.support.postgres"]
