"""PostgreSQL as this installation has it: embedded under its home, or one that somebody else runs."""

from infra.postgres.embedded import EmbeddedPostgres
from infra.postgres.errors import PostgresError
from infra.postgres.external import ExternalPostgres

__all__ = ["EmbeddedPostgres", "ExternalPostgres", "PostgresError"]
