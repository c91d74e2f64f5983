"""Where the causal router keeps its view: in the database, and in memory for tests and the simulator."""

from collections.abc import Iterable
from typing import Final, Protocol

from commands.ports.store import FenceLost, Lease, Message
from infra.event_store.memory import MemoryStore
from infra.event_store.postgres import PostgresStore
from routers.causal.view import ChangeView

FOLLOWER: Final = "router"


class RouterHome(Protocol):
    """View rows, outbox rows and position, committed together."""

    def position(self) -> int: ...

    def load(self, change: str) -> ChangeView | None: ...

    def open_of(self, project: str) -> tuple[ChangeView, ...]:
        """The views of the project's Changes that haven't ended."""
        ...

    def commit(
        self, views: Iterable[ChangeView], messages: Iterable[Message], position: int, lease: Lease | None
    ) -> None:
        """All or nothing.

        Raises:
            FenceLost: `lease` is held by another.
            TrackingConflict: another router is there already.
        """
        ...


class PostgresRouterHome:
    def __init__(self, store: PostgresStore) -> None:
        self._store = store

    def position(self) -> int:
        return self._store.tracking.position(FOLLOWER)

    def load(self, change: str) -> ChangeView | None:
        with self._store.transaction() as cursor:
            row = cursor.execute("SELECT view FROM router_changes WHERE change = %s", (change,)).fetchone()
        return None if row is None else ChangeView.model_validate(row["view"])

    def open_of(self, project: str) -> tuple[ChangeView, ...]:
        with self._store.transaction() as cursor:
            rows = cursor.execute(
                "SELECT view FROM router_changes WHERE project = %s AND open ORDER BY change", (project,)
            ).fetchall()
        return tuple(ChangeView.model_validate(row["view"]) for row in rows)

    def commit(
        self, views: Iterable[ChangeView], messages: Iterable[Message], position: int, lease: Lease | None
    ) -> None:
        with self._store.transaction() as cursor:
            if lease is not None:
                held = cursor.execute(
                    "SELECT 1 FROM leases WHERE name = %s AND holder = %s AND epoch = %s FOR SHARE",
                    (lease.name, lease.holder, lease.epoch),
                ).fetchone()
                if held is None:
                    raise FenceLost(f"the lease {lease.name} is held by another")
            cursor.executemany(
                "INSERT INTO router_changes (change, project, open, view) VALUES (%s, %s, %s, %s)"
                " ON CONFLICT (change) DO UPDATE SET open = excluded.open, view = excluded.view",
                [(v.change, v.project, not v.terminal, v.model_dump_json()) for v in views],
            )
            self._store.outbox.insert(cursor, messages)
            self._store.tracking.advance(cursor, FOLLOWER, position)


class MemoryRouterHome:
    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._views: dict[str, ChangeView] = {}

    def position(self) -> int:
        return self._store.tracking.position(FOLLOWER)

    def load(self, change: str) -> ChangeView | None:
        return self._views.get(change)

    def open_of(self, project: str) -> tuple[ChangeView, ...]:
        return tuple(v for _, v in sorted(self._views.items()) if v.project == project and not v.terminal)

    def commit(
        self, views: Iterable[ChangeView], messages: Iterable[Message], position: int, lease: Lease | None
    ) -> None:
        kept = tuple(views)
        with self._store.transaction() as transaction:
            self._store.outbox.insert(transaction, messages)
            self._store.tracking.advance(transaction, FOLLOWER, position)
            transaction.steps.append(lambda: self._views.update({view.change: view for view in kept}))
