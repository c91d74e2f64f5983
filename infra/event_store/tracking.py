"""Positions of followers, advanced in the same transaction as what they derive.

with store.transaction() as cursor:
    …rows of the view, written with cursor…
    store.tracking.advance(cursor, "changes", position)
"""

from typing import Final, Protocol, TypeVar

from eventsourcing.persistence import IntegrityError, Tracking
from eventsourcing.postgres import PostgresTrackingRecorder
from psycopg import Cursor
from psycopg.rows import DictRow

from infra.event_store.datastore import Datastore
from infra.event_store.errors import TrackingConflict

C = TypeVar("C", contravariant=True)

_SET: Final = """
    INSERT INTO notification_tracking VALUES (%s, %s)
        ON CONFLICT (application_name) DO UPDATE SET notification_id = excluded.notification_id"""


class FollowerPositions(Protocol[C]):
    """Where each follower (projection, router, relay) is in the log. `C` is what `store.transaction()` yields."""

    def position(self, name: str) -> int:
        """The position of the last event that `name` has taken in; 0 at the beginning."""
        ...

    def advance(self, cursor: C, name: str, position: int) -> None:
        """Move on to `position` when the transaction commits.

        Raises:
            TrackingConflict: another of that name is there or further already; the transaction must not commit.
        """
        ...

    def set(self, cursor: C, name: str, position: int) -> None:
        """Put `name` at `position`, also back (a rebuild that swaps its rows)."""
        ...


class PostgresPositions(PostgresTrackingRecorder):
    """On the library's tracking recorder and its table `notification_tracking`."""

    def __init__(self, datastore: Datastore) -> None:
        super().__init__(datastore)
        self._store = datastore

    def position(self, name: str) -> int:
        rows = self._store.fetch(
            "SELECT notification_id FROM notification_tracking WHERE application_name = %s", (name,)
        )
        return int(rows[0]["notification_id"]) if rows else 0

    def advance(self, cursor: Cursor[DictRow], name: str, position: int) -> None:
        try:
            self._insert_tracking(cursor, Tracking(name, position))
        except IntegrityError as error:
            raise TrackingConflict(f"{name} is at position {position} or further already") from error

    def set(self, cursor: Cursor[DictRow], name: str, position: int) -> None:
        cursor.execute(_SET, (name, position))
