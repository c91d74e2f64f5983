"""`EventStore` on PostgreSQL."""

import threading
from dataclasses import replace
from typing import Any, Final, cast

from eventsourcing.domain import DomainEventProtocol

from commands.ports.store import (
    Commit,
    DuplicateCommand,
    Handled,
    Handling,
    Stored,
    VersionConflict,
)
from domain.kernel.event import Envelope
from domain.kernel.value import clean_text
from infra.event_store.contiguity import check_commit
from infra.event_store.datastore import Datastore
from infra.event_store.errors import StoreUnavailable
from infra.event_store.listener import Listener
from infra.event_store.mapper import EnvelopeMapper, SealedRow
from infra.event_store.recorder import CommitRecorder

_HANDLED: Final = "SELECT * FROM commands WHERE command_id = %s"


class PostgresEvents:
    """The log in PostgreSQL: the library's recorder and mapper, and the listening connection."""

    def __init__(self, datastore: Datastore) -> None:
        self._datastore = datastore
        self.mapper = EnvelopeMapper()
        self.recorder = CommitRecorder(datastore)
        self._listener = Listener(datastore.dsn, self.recorder.channel_name)

    def commit(self, commit: Commit) -> int:
        """See `EventStore.commit`.

        A lost acknowledgement isn't a failure: the commit is tried again, and what is then found recorded already,
        byte for byte, was ours.
        """
        check_commit(commit)
        commit = _storable(commit)
        rows = [self._row(sealed) for append in commit.appends for sealed in append.events]
        unsure = False

        def attempt() -> int:
            nonlocal unsure
            try:
                return self._insert(rows, commit)
            except (DuplicateCommand, VersionConflict):
                if unsure and self._is_recorded(rows, commit):
                    return self.recorder.last_position()
                raise
            except StoreUnavailable:
                unsure = True
                raise

        return self._datastore.persistently(attempt)

    def _insert(self, rows: list[SealedRow], commit: Commit) -> int:
        positions = self.recorder.insert_events(rows, commit=commit)
        return positions[-1] if positions else 0

    def _is_recorded(self, rows: list[SealedRow], commit: Commit) -> bool:
        return all(self.recorder.holds(row) for row in rows) and all(self._is_handled(h) for h in commit.handled)

    def _is_handled(self, handled: Handled) -> bool:
        found = self._find_handled(handled.command_id)
        # The payload comes back through JSON (a tuple as a list); the rest tells one delivery from another.
        return found is not None and replace(found, payload=None) == replace(handled, payload=None)

    def _row(self, sealed: object) -> SealedRow:
        return self.mapper.to_stored_event(cast(DomainEventProtocol[str], sealed))

    def read(self, stream: str, after: int = 0) -> tuple[Stored, ...]:
        return self.mapper.page(self._datastore.persistently(lambda: self.recorder.stream(stream, after)))

    def log(self, after: int, limit: int) -> tuple[Stored, ...]:
        return self.mapper.page(self._datastore.persistently(lambda: self.recorder.log(after, limit)))

    def envelopes(self, after: int, limit: int) -> tuple[tuple[int, Envelope], ...]:
        return self.mapper.envelopes(self._datastore.persistently(lambda: self.recorder.log(after, limit)))

    def last_position(self) -> int:
        return self._datastore.persistently(self.recorder.last_position)

    def handled(self, command_id: str) -> Handled | None:
        return self._datastore.persistently(lambda: self._find_handled(command_id))

    def _find_handled(self, command_id: str) -> Handled | None:
        with self._datastore.connection() as connection:
            row = connection.execute(_HANDLED, (command_id,)).fetchone()
        return _handled(row) if row else None

    def listen(self, wake: threading.Event) -> None:
        self._listener.listen(wake)

    def unlisten(self, wake: threading.Event) -> None:
        self._listener.unlisten(wake)

    def close(self) -> None:
        """End the listening connection."""
        self._listener.close()


def _handled(row: dict[str, Any]) -> Handled:
    return Handled(**{**row, "handling": Handling(row["handling"])})


def _storable(commit: Commit) -> Commit:
    """Reasons are free text: PostgreSQL refuses NUL and lone surrogates."""
    if all(handled.reason == "" for handled in commit.handled):
        return commit
    return replace(commit, handled=tuple(replace(h, reason=clean_text(h.reason)) for h in commit.handled))
