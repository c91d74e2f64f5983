"""Rebuilding read models from the log beside the live ones, and swapping them in one transaction.

Everything happens inside one transaction of the database, so a killed rebuild leaves nothing behind and the live
tables as they were.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from psycopg import Connection, sql
from psycopg.rows import DictRow

from commands.ports.store import EventStore
from infra.projections import statement
from infra.projections.fingerprint import fingerprint
from infra.projections.home import ModelState
from infra.projections.log import Progress, few_collections, fold_log, no_progress
from infra.projections.postgres import (
    LOCKED_STATES,
    REFUSALS,
    SCHEMA_LOCK,
    PostgresHome,
    reason_of,
    state_of,
    write,
)
from infra.projections.statement import REBUILD_SCHEMA, SCHEMA
from projections.core import ReadModel, Row, Table
from projections.fold import Appended, Failure, FanOut, Fold

STREAM_ROWS: Final = 20_000
"""Rows of append-only tables kept in memory before they are copied."""


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What came of one read model: live now up to `position` with `rows` rows, or left as it was after `failure`."""

    name: str
    position: int
    rows: int
    failure: Failure | None


def rebuild(
    store: EventStore, home: PostgresHome, models: Sequence[ReadModel], progress: Progress = no_progress
) -> list[Rebuilt]:
    """Rebuild these read models. One that fails on an event keeps its live tables; the others are swapped.

    Raises:
        StoreError: the database failed; all live tables are as they were.
    """
    home.ensure_schema()
    with home.datastore.connection() as connection, connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (SCHEMA_LOCK,))
        return _Rebuild(store, connection, models).run(progress)


def prepare(
    store: EventStore, home: PostgresHome, models: Sequence[ReadModel], progress: Progress = no_progress
) -> list[Rebuilt]:
    """At start-up: make or rebuild the read models that aren't there or were made by another definition.

    Raises:
        StoreError: the database failed.
    """
    home.ensure_schema()
    if not _outdated(home.states(), models):
        return []
    with home.datastore.connection() as connection, connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (SCHEMA_LOCK,))
        # Another process may have done it while this one waited for the lock.
        outdated = _outdated(home.states(), models)
        return _Rebuild(store, connection, outdated).run(progress) if outdated else []


def _outdated(states: dict[str, ModelState], models: Sequence[ReadModel]) -> list[ReadModel]:
    there = {name: state.definition for name, state in states.items()}
    return [model for model in models if there.get(model.name) != fingerprint(model)]


class _Target:
    """One read model on its way: its fold, and the rows of its append-only tables that wait to be copied."""

    def __init__(self, model: ReadModel) -> None:
        self.model = model
        self.appended: Appended = {}
        self.fold = Fold(model, appended=self.appended)
        self.rows = 0


class _Rebuild:
    """One run, inside the transaction of `connection`."""

    def __init__(self, store: EventStore, connection: Connection[DictRow], models: Sequence[ReadModel]) -> None:
        self._store = store
        self._connection = connection
        self._targets = [_Target(model) for model in models]
        self._fan = FanOut([target.fold for target in self._targets])

    def run(self, progress: Progress) -> list[Rebuilt]:
        with few_collections():
            return self._run(progress)

    def _run(self, progress: Progress) -> list[Rebuilt]:
        self._create()
        fold_log(self._store, self._fan, self._store.last_position(), self._flush_full, progress)
        for target in self._targets:
            self._guarded(target, self._fill)
        # What was written meanwhile, then under the lock what was written since: the lock is held for little.
        self._catch_up(self._store.last_position())
        live = self._lock_live()
        self._catch_up(max([self._store.last_position(), *(state.position for state in live.values())]))
        results = [self._finish(target, live.get(target.model.name)) for target in self._targets]
        self._connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(REBUILD_SCHEMA)))
        return results

    def _create(self) -> None:
        self._connection.execute("SET LOCAL maintenance_work_mem = '128MB'")
        self._connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(REBUILD_SCHEMA)))
        for target in self._targets:
            for table in target.model.tables:
                self._connection.execute(statement.create(table, REBUILD_SCHEMA))

    def _guarded(self, target: _Target, action: Callable[[_Target], None]) -> None:
        """Do something with the rows of one read model; rows that the database refuses stop that one alone."""
        try:
            with self._connection.transaction():
                action(target)
        except REFUSALS as error:
            if target.fold.failure is None:
                target.fold.stop(Failure(target.fold.position, "", reason_of(error)))

    def _flush_full(self) -> None:
        for target in self._targets:
            if sum(map(len, target.appended.values())) >= STREAM_ROWS:
                self._guarded(target, self._flush)

    def _flush(self, target: _Target) -> None:
        """Copy the waiting rows of append-only tables."""
        for table in target.model.tables:
            if table.append_only:
                rows = target.appended[table.name]
                target.rows += len(rows)
                self._copy(table, rows)
                rows.clear()

    def _fill(self, target: _Target) -> None:
        """Copy all rows, then make the primary key and the indexes."""
        self._flush(target)
        for table in target.model.tables:
            if not table.append_only:
                rows = [row for key, row in target.fold.rows.items() if key[0] == table.name]
                target.rows += len(rows)
                self._copy(table, rows)
            for index in statement.indexes(table, REBUILD_SCHEMA):
                self._connection.execute(index)

    def _copy(self, table: Table, rows: Sequence[Row]) -> None:
        encode = statement.encoder(table)
        with (
            self._connection.cursor() as cursor,
            cursor.copy(statement.copy_in(table, REBUILD_SCHEMA)) as copy,
        ):
            copy.set_types(statement.copy_types(table))
            for row in rows:
                copy.write_row(encode(row))

    def _catch_up(self, until: int) -> None:
        """Fold what came since, and write what that changed."""
        for target in self._targets:
            target.fold.changed = {}
        fold_log(self._store, self._fan, until, self._flush_full)
        for target in self._targets:
            self._guarded(target, self._write_changed)

    def _write_changed(self, target: _Target) -> None:
        self._flush(target)
        write(self._connection, target.model, target.fold.changed or {}, REBUILD_SCHEMA)

    def _lock_live(self) -> dict[str, ModelState]:
        names = [target.model.name for target in self._targets]
        rows = self._connection.execute(LOCKED_STATES, (names,)).fetchall()
        return {row["name"]: state_of(row) for row in rows}

    def _finish(self, target: _Target, live: ModelState | None) -> Rebuilt:
        """Swap the read model in; one that failed only where there is no live one, and marked so."""
        name, failure = target.model.name, target.fold.failure
        if failure is None or live is None:
            self._swap(target)
            return Rebuilt(name, target.fold.position, target.rows, failure)
        if live.definition != fingerprint(target.model):
            self._connection.execute(_MARK, (failure.position, failure.event, failure.reason, name))
        return Rebuilt(name, live.position, 0, failure)

    def _swap(self, target: _Target) -> None:
        model, failure = target.model, target.fold.failure
        found = self._connection.execute(_TABLES, (model.name,)).fetchone()
        old = set(found["tables"] if found else ()) | {table.name for table in model.tables}
        for name in sorted(old):
            self._connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(sql.Identifier(SCHEMA, name)))
        for table in model.tables:
            self._connection.execute(
                sql.SQL("ALTER TABLE {} SET SCHEMA {}").format(
                    statement.qualified(table, REBUILD_SCHEMA), sql.Identifier(SCHEMA)
                )
            )
        details = (failure.position, failure.event, failure.reason) if failure else (None, None, None)
        names = [table.name for table in model.tables]
        self._connection.execute(_PUT, (model.name, target.fold.position, fingerprint(model), names, *details))


_TABLES: Final = "SELECT tables FROM views.tracking WHERE name = %s"
_MARK: Final = "UPDATE views.tracking SET failed_position = %s, failed_event = %s, failure = %s WHERE name = %s"
_PUT: Final = """
INSERT INTO views.tracking (name, position, definition, tables, failed_position, failed_event, failure)
VALUES (%s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (name) DO UPDATE SET position = EXCLUDED.position, definition = EXCLUDED.definition,
    tables = EXCLUDED.tables, failed_position = EXCLUDED.failed_position, failed_event = EXCLUDED.failed_event,
    failure = EXCLUDED.failure
"""
