"""Connections: one small pool per store, and what to do when the database goes away for a while."""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TypeVar

import psycopg
from eventsourcing.postgres import ConnectionPool, PostgresDatastore
from psycopg import Connection, Cursor
from psycopg.rows import DictRow, dict_row

from commands.ports.store import StoreError, StoreFull
from infra.event_store.errors import StoreUnavailable, translate
from infra.postgres.errors import DiskFullError, PostgresError

T = TypeVar("T")

FIRST_BACKOFF_SECONDS: Final = 0.05
LONGEST_BACKOFF_SECONDS: Final = 2.0
RECONNECT_SECONDS: Final = 4.0


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """Bounds of a store's connections.

    max_size: connections at most; one is opened at first.
    timeout: seconds to wait for a free connection.
    patience: seconds for which a database that is away is asked again before an error is raised.
    """

    max_size: int = 4
    timeout: float = 10.0
    patience: float = 30.0


def nothing_to_do() -> None:
    """The database isn't ours to start."""


class Datastore(PostgresDatastore):
    """The library's datastore on a connection string, with our errors and reconnecting.

    on_lost: called after a lost connection before the next try, to start the embedded server again if it ended.
    """

    def __init__(self, dsn: str, settings: PoolSettings, on_lost: Callable[[], None] = nothing_to_do) -> None:
        super().__init__("", "", "", "", "", originator_id_type="text")
        self.dsn = dsn
        self.settings = settings
        self._on_lost = on_lost
        self.pool = ConnectionPool(
            dsn,
            connection_class=Connection[DictRow],
            kwargs={"row_factory": dict_row, "autocommit": True, "connect_timeout": 5},
            min_size=1,
            max_size=settings.max_size,
            timeout=settings.timeout,
            num_workers=1,
            # Short: a pool that gave up asks again at the next request, one that waits longer and longer doesn't.
            reconnect_timeout=RECONNECT_SECONDS,
            open=True,
        )

    def register_type_adapters(self) -> None:
        """Our recorder passes arrays of plain types: there is no composite type to look up."""

    @contextmanager
    def connection(self) -> Iterator[Connection[DictRow]]:
        """A connection in autocommit mode.

        Raises:
            StoreError: one of its classes, for any failure of the driver.
        """
        try:
            with self.pool.connection() as connection:
                yield connection
        except psycopg.Error as error:
            raise translate(error) from error

    @contextmanager
    def transaction_cursor(self) -> Iterator[Cursor[DictRow]]:
        """A cursor with `dict` rows in a transaction that commits at the end of the block."""
        with self.connection() as connection, connection.transaction(), connection.cursor() as cursor:
            yield cursor

    def fetch(self, query: str, parameters: Sequence[object] = ()) -> list[DictRow]:
        """The rows of one statement, asked again while the database is away.

        Of a counting statement (`attempts + 1`) whose acknowledgement got lost, one more is counted: the safe side.
        """

        def ask() -> list[DictRow]:
            with self.connection() as connection:
                return connection.execute(query.encode(), parameters).fetchall()

        return self.persistently(ask)

    def persistently(self, operation: Callable[[], T]) -> T:
        """`operation` again, with bounded back-off, as long as the database is away.

        For operations that may run twice: a read, or a write that tells its own earlier success.

        Raises:
            StoreUnavailable: it stayed away for `settings.patience` seconds.
            StoreFull: it is away because its disk is full.
        """
        deadline = time.monotonic() + self.settings.patience
        backoff = FIRST_BACKOFF_SECONDS
        while True:
            try:
                return operation()
            except StoreUnavailable:
                if time.monotonic() + backoff > deadline:
                    raise
            self._revive()
            time.sleep(backoff * random.uniform(0.5, 1.0))
            backoff = min(2 * backoff, LONGEST_BACKOFF_SECONDS)

    def _revive(self) -> None:
        try:
            self._on_lost()
        except DiskFullError as error:
            raise StoreFull(str(error)) from error
        except PostgresError as error:
            raise StoreError(str(error)) from error
        self.pool.check()
