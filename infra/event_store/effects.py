"""`Effects` on PostgreSQL."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from commands.ports.store import Effect, Lease
from domain.kernel.value import clean_text
from infra.event_store.datastore import Datastore
from infra.event_store.pause import DUE, waiting

_OPEN: Final = "SELECT * FROM effects WHERE closed_by IS NULL"
_BEGIN: Final = "UPDATE effects SET attempts = attempts + 1 WHERE effect_id = %s AND closed_by IS NULL"
_POSTPONE: Final = "UPDATE effects SET last_error = %s, not_before = %s WHERE effect_id = %s AND closed_by IS NULL"
# The row lock keeps a takeover out until the statement is done.
_HELD: Final = " AND EXISTS (SELECT 1 FROM leases WHERE name = %s AND holder = %s AND epoch = %s FOR SHARE)"


class PostgresEffects:
    """Open rows of the table `effects`; a closed one stays, with the event that closed it."""

    def __init__(self, datastore: Datastore) -> None:
        self._datastore = datastore

    def open(self, now: datetime, changes: Sequence[str] | None = None) -> tuple[Effect, ...]:
        query = f"{_OPEN} AND {DUE}"
        if changes is None:
            return self._select(f"{query} ORDER BY seq", waiting(now))
        return self._select(f"{query} AND change = ANY(%s) ORDER BY seq", (*waiting(now), list(changes)))

    def of_change(self, change: str) -> tuple[Effect, ...]:
        return self._select(f"{_OPEN} AND change = %s ORDER BY seq", (change,))

    def _select(self, query: str, parameters: Sequence[object]) -> tuple[Effect, ...]:
        return tuple(_effect(row) for row in self._datastore.fetch(query, parameters))

    def begin(self, effect_id: str, fence: Lease | None = None) -> int:
        rows = self._fenced(_BEGIN, (effect_id,), fence)
        return int(rows[0]["attempts"]) if rows else 0

    def postpone(self, effect_id: str, error: str, not_before: datetime, fence: Lease | None = None) -> None:
        self._fenced(_POSTPONE, (clean_text(error), not_before, effect_id), fence)

    def _fenced(self, update: str, parameters: tuple[object, ...], fence: Lease | None) -> list[dict[str, Any]]:
        if fence is None:
            return self._datastore.fetch(f"{update} RETURNING attempts", parameters)
        held = (fence.name, fence.holder, fence.epoch)
        return self._datastore.fetch(f"{update}{_HELD} RETURNING attempts", (*parameters, *held))


def _effect(row: dict[str, Any]) -> Effect:
    return Effect(
        effect_id=row["effect_id"],
        kind=row["kind"],
        change=row["change"],
        project=row["project"],
        payload=row["payload"],
        opened_by=row["opened_by"],
        attempts=row["attempts"],
        not_before=row["not_before"],
        last_error=row["last_error"],
    )
