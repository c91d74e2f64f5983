"""Read models in PostgreSQL: rows in the schema `views`, each model's position in `views.tracking`."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import psycopg
from psycopg import Connection, sql
from psycopg.rows import DictRow

from infra.event_store.datastore import Datastore
from infra.projections import statement
from infra.projections.fingerprint import fingerprint
from infra.projections.home import ModelState, RowsRefused
from projections.core import Changed, Key, ReadModel, Row, Table
from projections.fold import Failure
from projections.query import Select, Totals

SCHEMA_LOCK: Final = 7305808869229538403
"""Held exclusively by whoever makes or replaces tables of read models, shared by whoever compares them."""

STATES: Final = "SELECT name, position, definition, failed_position, failed_event, failure FROM views.tracking"
LOCKED_STATES: Final = STATES + " WHERE name = ANY(%s) ORDER BY name FOR UPDATE"
_TRACK: Final = """
UPDATE views.tracking SET position = %s, failed_position = %s, failed_event = %s, failure = %s WHERE name = ANY(%s)
"""

# What a read model's own rows can bring about; everything else is the database's state, not the model's fault.
REFUSALS: Final = (psycopg.DataError, psycopg.IntegrityError, psycopg.ProgrammingError, UnicodeError, OverflowError)


class PostgresHome:
    """`Home` on the store's own connections."""

    def __init__(self, datastore: Datastore) -> None:
        self.datastore = datastore

    def ensure_schema(self) -> None:
        """Make the schema and the table of positions if they aren't there."""
        there = self.datastore.fetch("SELECT to_regclass('views.tracking') IS NOT NULL AS there")
        if there[0]["there"]:
            return
        with self.datastore.connection() as connection, connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (SCHEMA_LOCK,))
            connection.execute(statement.TRACKING)

    def states(self) -> dict[str, ModelState]:
        return {row["name"]: state_of(row) for row in self.datastore.fetch(STATES)}

    @contextmanager
    def transaction(self, models: Sequence[ReadModel]) -> Iterator["PostgresTransaction"]:
        with self.datastore.connection() as connection, connection.transaction():
            # Rows and position go together, and the log they come from is synced: a crash only repeats some steps.
            connection.execute("SET LOCAL synchronous_commit = off")
            rows = connection.execute(LOCKED_STATES, ([model.name for model in models],)).fetchall()
            ours = {model.name: fingerprint(model) for model in models}
            states = {row["name"]: state_of(row) for row in rows}
            yield PostgresTransaction(connection, {n: s for n, s in states.items() if s.definition == ours[n]})

    def get(self, table: Table, *key: Any) -> Row | None:
        found = self.select(Select(table, dict(zip(table.key, key, strict=True)), ()))
        return found[0] if found else None

    def select(self, query: Select) -> list[Row]:
        return self._fetch(*statement.select(query))

    def totals(self, query: Totals) -> list[Row]:
        return self._fetch(*statement.totals(query))

    def _fetch(self, text: sql.Composed, parameters: list[Any]) -> list[Row]:
        def ask() -> list[Row]:
            with self.datastore.connection() as connection:
                return connection.execute(text, parameters).fetchall()

        return self.datastore.persistently(ask)


class PostgresTransaction:
    """See `Transaction`."""

    def __init__(self, connection: Connection[DictRow], states: dict[str, ModelState]) -> None:
        self._connection = connection
        self.states = states

    def load(self, model: ReadModel, keys: Collection[Key]) -> dict[Key, Row]:
        rows: dict[Key, Row] = {}
        for table in model.tables:
            wanted = [key for key in keys if key[0] == table.name]
            if wanted:
                found = self._connection.execute(statement.load(table), statement.key_arrays(wanted))
                rows.update((table.key_of(row), row) for row in found)
        return rows

    def save(self, changes: Sequence[tuple[ReadModel, Changed]]) -> None:
        if not changes:
            return
        try:
            with self._connection.transaction(), self._connection.pipeline():
                for model, changed in changes:
                    write(self._connection, model, changed, statement.SCHEMA)
        except REFUSALS as error:
            raise RowsRefused(reason_of(error)) from error

    def track(self, names: Sequence[str], position: int, failure: Failure | None = None) -> None:
        details = (failure.position, failure.event, failure.reason) if failure else (None, None, None)
        self._connection.execute(_TRACK, (position, *details, list(names)))
        for name in names:
            self.states[name] = ModelState(position, self.states[name].definition, failure)


def write(connection: Connection[DictRow], model: ReadModel, changed: Changed, schema: str) -> None:
    """Insert, update and delete what `changed` says."""
    with connection.cursor() as cursor:
        for table in model.tables:
            mine = {key: row for key, row in changed.items() if key[0] == table.name}
            encode = statement.encoder(table)
            rows = [encode(row) for row in mine.values() if row is not None]
            gone = [key[1:] for key, row in mine.items() if row is None]
            if rows:
                cursor.executemany(statement.upsert(table, schema), rows)
            if gone:
                cursor.executemany(statement.delete(table, schema), gone)


def state_of(row: DictRow) -> ModelState:
    failure = None
    if row["failed_position"] is not None:
        failure = Failure(row["failed_position"], row["failed_event"], row["failure"])
    return ModelState(row["position"], row["definition"], failure)


def reason_of(error: Exception) -> str:
    """Why the database refused rows, without their values."""
    message = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    return f"{type(error).__name__}: {message or 'the driver refused a value'}"
