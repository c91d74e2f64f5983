"""`Outbox` on PostgreSQL."""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

from psycopg import Cursor
from psycopg.rows import DictRow

from commands.ports.store import Message, OpenMessage
from domain.kernel.value import clean_text
from infra.event_store.datastore import Datastore
from infra.event_store.pause import DUE, waiting
from infra.event_store.recorder import message_row

_OPEN: Final = "handled_at IS NULL AND dead_at IS NULL"
_DUE: Final = f"SELECT * FROM outbox WHERE {_OPEN} AND {DUE}"
_DEAD: Final = "SELECT * FROM outbox WHERE handled_at IS NULL AND dead_at IS NOT NULL ORDER BY seq LIMIT %s"
_INSERT: Final = """
    INSERT INTO outbox (message_id, topic, name, project, change, payload, causation, correlation, actor, created_at,
            not_before)
        SELECT %(message_id)s, %(topic)s, %(name)s, %(project)s, %(change)s, %(payload)s, %(causation)s,
            %(correlation)s, %(actor)s, %(created_at)s, %(not_before)s
        WHERE NOT EXISTS (SELECT 1 FROM commands WHERE command_id = %(message_id)s)
        ON CONFLICT DO NOTHING"""
_REVIVE: Final = """
    UPDATE outbox SET dead_at = NULL, not_before = NULL, attempts = 0
        WHERE message_id = %s AND dead_at IS NOT NULL AND handled_at IS NULL"""


class PostgresOutbox:
    """Messages in the table `outbox`; a handled row stays, closed."""

    def __init__(self, datastore: Datastore) -> None:
        self._datastore = datastore

    def insert(self, cursor: Cursor[DictRow], messages: Iterable[Message]) -> None:
        """Insert messages in the transaction of `cursor`; one with a known ID is ignored."""
        rows = [{**message_row(message), "payload": json.dumps(message.payload)} for message in messages]
        if rows:
            cursor.executemany(_INSERT, rows)
            cursor.execute("NOTIFY stored_events")

    def due(self, now: datetime, limit: int, changes: Sequence[str] | None = None) -> tuple[OpenMessage, ...]:
        if changes is None:
            return self._select(f"{_DUE} ORDER BY seq LIMIT %s", (*waiting(now), limit))
        return self._select(f"{_DUE} AND change = ANY(%s) ORDER BY seq LIMIT %s", (*waiting(now), list(changes), limit))

    def dead(self, limit: int) -> tuple[OpenMessage, ...]:
        return self._select(_DEAD, [limit])

    def _select(self, query: str, parameters: Sequence[object]) -> tuple[OpenMessage, ...]:
        rows = self._datastore.fetch(query, parameters)
        return tuple(_open_message(row) for row in rows)

    def defer(self, message_id: str, not_before: datetime) -> None:
        self._datastore.fetch(
            f"UPDATE outbox SET not_before = %s WHERE message_id = %s AND {_OPEN} RETURNING 1", (not_before, message_id)
        )

    def failed(self, message_id: str, error: str, not_before: datetime) -> int:
        rows = self._datastore.fetch(
            "UPDATE outbox SET attempts = attempts + 1, last_error = %s, not_before = %s"
            f" WHERE message_id = %s AND {_OPEN} RETURNING attempts",
            (clean_text(error), not_before, message_id),
        )
        return int(rows[0]["attempts"]) if rows else 0

    def bury(self, message_id: str, error: str, at: datetime) -> None:
        self._datastore.fetch(
            f"UPDATE outbox SET dead_at = %s, last_error = %s WHERE message_id = %s AND {_OPEN} RETURNING 1",
            (at, clean_text(error), message_id),
        )

    def revive(self, message_id: str) -> bool:
        with self._datastore.transaction_cursor() as cursor:
            revived = cursor.execute(_REVIVE, (message_id,)).rowcount == 1
            cursor.execute("NOTIFY stored_events")
        return revived


def _open_message(row: dict[str, Any]) -> OpenMessage:
    message = Message(
        message_id=row["message_id"],
        topic=row["topic"],
        name=row["name"],
        project=row["project"],
        change=row["change"],
        payload=row["payload"],
        causation=row["causation"],
        correlation=row["correlation"],
        actor=row["actor"],
        created_at=row["created_at"],
        not_before=row["not_before"],
    )
    return OpenMessage(message, row["attempts"], row["last_error"])
