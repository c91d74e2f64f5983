"""A PostgreSQL that somebody else runs (`DATABASE_URL`)."""

import time
from types import TracebackType
from typing import Final, Self

import psycopg
from psycopg import conninfo

from infra.postgres.errors import PostgresError

MINIMUM_VERSION: Final = 140000
READY_SECONDS: Final = 30.0
POLL_SECONDS: Final = 0.2


class ExternalPostgres:
    """The same context as `EmbeddedPostgres` for a given connection string; nothing is started or stopped.

    Raises (on entering):
        PostgresError: not a connection string, not reachable in `ready_seconds`, or too old; never names the password.
    """

    def __init__(self, dsn: str, *, ready_seconds: float = READY_SECONDS) -> None:
        self.dsn = dsn
        self._ready_seconds = ready_seconds

    def __enter__(self) -> Self:
        deadline = time.monotonic() + self._ready_seconds
        while True:
            try:
                with psycopg.connect(self.dsn, connect_timeout=5) as connection:
                    version = connection.info.server_version
                break
            except psycopg.ProgrammingError:
                # The driver's text repeats parts of the string, a password perhaps.
                raise PostgresError("DATABASE_URL isn't a PostgreSQL connection string") from None
            except psycopg.OperationalError as error:
                if time.monotonic() > deadline:
                    raise PostgresError(f"the database at {self._place()} can't be reached: {error}") from None
                time.sleep(POLL_SECONDS)
        if version < MINIMUM_VERSION:
            raise PostgresError(f"the database at {self._place()} is older than PostgreSQL {MINIMUM_VERSION // 10_000}")
        return self

    def _place(self) -> str:
        parts = conninfo.conninfo_to_dict(self.dsn)
        return f"{parts.get('host', 'localhost')}:{parts.get('port', 5432)}/{parts.get('dbname', '')}"

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing to stop."""

    def close(self) -> None:
        """Nothing to stop."""

    def ensure_running(self) -> None:
        """Its operator's business."""
