"""The store on PostgreSQL, put together."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Self

from psycopg import Cursor
from psycopg.rows import DictRow

from commands.ports.store import StoreError
from infra.event_store.datastore import Datastore, PoolSettings, nothing_to_do
from infra.event_store.effects import PostgresEffects
from infra.event_store.events import PostgresEvents
from infra.event_store.leases import PostgresLeases, PostgresSlots
from infra.event_store.outbox import PostgresOutbox
from infra.event_store.process import ProcessIdentity
from infra.event_store.tracking import PostgresPositions
from infra.event_store.watch import DEFAULT_TTL_SECONDS, Clock, HeartbeatWatch


class PostgresStore:
    """Everything in one database that `migrate` has prepared.

    dsn: a libpq connection string. pool: bounds of its connections (one more listens, once `events.listen` was
    called). clock: monotonic seconds, for expiring leases. holder: who we are in leases and slots (this process).
    on_lost: called when the connection got lost, before it is tried again; `EmbeddedPostgres.ensure_running`.
    """

    def __init__(
        self,
        dsn: str,
        *,
        pool: PoolSettings | None = None,
        clock: Clock = time.monotonic,
        lease_ttl: float = DEFAULT_TTL_SECONDS,
        holder: str | None = None,
        on_lost: Callable[[], None] = nothing_to_do,
    ) -> None:
        self._datastore = Datastore(dsn, pool or PoolSettings(), on_lost)
        watch = HeartbeatWatch(clock, lease_ttl)
        holder = holder or str(ProcessIdentity.current())
        self.events = PostgresEvents(self._datastore)
        self.outbox = PostgresOutbox(self._datastore)
        self.effects = PostgresEffects(self._datastore)
        self.leases = PostgresLeases(self._datastore, holder, watch)
        self.slots = PostgresSlots(self._datastore, holder, watch)
        self.tracking = PostgresPositions(self._datastore)

    @property
    def datastore(self) -> Datastore:
        """The connections, for read models in the same database."""
        return self._datastore

    def transaction(self) -> AbstractContextManager[Cursor[DictRow]]:
        """A cursor with `dict` rows; what the block does commits at its end, or not at all if it raises.

        Raises:
            StoreUnavailable: the database went away; whether the block is committed shows in what it wrote.
        """
        return self._datastore.transaction_cursor()

    def installation_id(self) -> str:
        """The ID that store, home and repositories of one installation carry."""
        rows = self._datastore.fetch("SELECT id FROM installation")
        if not rows:
            raise StoreError("the database has no installation ID: it wasn't made by `rhumb migrate`")
        return str(rows[0]["id"])

    def close(self) -> None:
        """Close all connections. Idempotent."""
        self.events.close()
        self._datastore.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
