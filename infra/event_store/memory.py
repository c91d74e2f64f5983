"""The store in memory: the same promises within one process, for tests and the simulator."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Self, cast
from uuid import uuid4

from eventsourcing.domain import DomainEventProtocol

from commands.ports.store import (
    Commit,
    Effect,
    Handled,
    Lease,
    Message,
    OpenMessage,
    Stored,
)
from domain.kernel.event import Envelope
from domain.kernel.value import clean_text
from infra.event_store.contiguity import check_commit
from infra.event_store.errors import TrackingConflict
from infra.event_store.mapper import EnvelopeMapper
from infra.event_store.memory_leases import MemoryLeases, MemorySlots
from infra.event_store.memory_recorder import MemoryRecorder
from infra.event_store.memory_tables import OutboxRow, Tables
from infra.event_store.pause import is_due
from infra.event_store.process import ProcessIdentity
from infra.event_store.watch import DEFAULT_TTL_SECONDS, Clock, HeartbeatWatch


class MemoryTransaction:
    """What `transaction()` yields: steps that are done together at the end of the block, or never."""

    def __init__(self) -> None:
        self.steps: list[Callable[[], None]] = []


class MemoryEvents:
    """`EventStore` on the library's in-memory recorder."""

    def __init__(self, recorder: MemoryRecorder, tables: Tables) -> None:
        self.mapper = EnvelopeMapper()
        self.recorder = recorder
        self._tables = tables

    def commit(self, commit: Commit) -> int:
        check_commit(commit)
        sealed = [cast(DomainEventProtocol[str], event) for append in commit.appends for event in append.events]
        rows = [self.mapper.to_stored_event(event) for event in sealed]
        positions = self.recorder.insert_events(rows, commit=commit)
        return positions[-1] if positions else 0

    def read(self, stream: str, after: int = 0) -> tuple[Stored, ...]:
        return self.mapper.page(self.recorder.stream(stream, after))

    def log(self, after: int, limit: int) -> tuple[Stored, ...]:
        return self.mapper.page(self.recorder.page(after, limit))

    def envelopes(self, after: int, limit: int) -> tuple[tuple[int, Envelope], ...]:
        return self.mapper.envelopes(self.recorder.page(after, limit))

    def last_position(self) -> int:
        return self.recorder.max_notification_id() or 0

    def handled(self, command_id: str) -> Handled | None:
        with self._tables.lock:
            return self._tables.commands.get(command_id)

    def listen(self, wake: threading.Event) -> None:
        self.recorder.listen(wake)

    def unlisten(self, wake: threading.Event) -> None:
        self.recorder.unlisten(wake)


class MemoryOutbox:
    """`Outbox` in memory."""

    def __init__(self, tables: Tables, notify: Callable[[], None]) -> None:
        self._tables = tables
        self._notify = notify

    def insert(self, cursor: MemoryTransaction, messages: Iterable[Message]) -> None:
        """Insert messages when the transaction of `cursor` commits; one with a known ID is ignored."""
        for message in messages:
            cursor.steps.append(lambda message=message: self._tables.send(message))  # type: ignore[misc]
        cursor.steps.append(self._notify)

    def due(self, now: datetime, limit: int, changes: Sequence[str] | None = None) -> tuple[OpenMessage, ...]:
        with self._tables.lock:
            found = [
                _open_message(row)
                for row in self._tables.outbox.values()
                if row.is_open
                and is_due(row.message.not_before, now)
                and (changes is None or row.message.change in changes)
            ]
        return tuple(found[:limit])

    def dead(self, limit: int) -> tuple[OpenMessage, ...]:
        with self._tables.lock:
            rows = [row for row in self._tables.outbox.values() if row.dead_at is not None and row.handled_at is None]
            return tuple(_open_message(row) for row in rows[:limit])

    @contextmanager
    def _opened(self, message_id: str) -> Iterator[OutboxRow | None]:
        with self._tables.lock:
            row = self._tables.outbox.get(message_id)
            yield row if row is not None and row.is_open else None

    def defer(self, message_id: str, not_before: datetime) -> None:
        with self._opened(message_id) as row:
            if row is not None:
                row.message = replace(row.message, not_before=not_before)

    def failed(self, message_id: str, error: str, not_before: datetime) -> int:
        with self._opened(message_id) as row:
            if row is None:
                return 0
            row.message = replace(row.message, not_before=not_before)
            row.last_error = clean_text(error)
            row.attempts += 1
            return row.attempts

    def bury(self, message_id: str, error: str, at: datetime) -> None:
        with self._opened(message_id) as row:
            if row is not None:
                row.dead_at, row.last_error = at, clean_text(error)

    def revive(self, message_id: str) -> bool:
        with self._tables.lock:
            row = self._tables.outbox.get(message_id)
            if row is None or row.dead_at is None or row.handled_at is not None:
                return False
            row.dead_at, row.attempts = None, 0
            row.message = replace(row.message, not_before=None)
        self._notify()
        return True


def _open_message(row: OutboxRow) -> OpenMessage:
    return OpenMessage(row.message, row.attempts, row.last_error)


class MemoryEffects:
    """`Effects` in memory."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def open(self, now: datetime, changes: Sequence[str] | None = None) -> tuple[Effect, ...]:
        return tuple(
            effect
            for effect in self._all_open()
            if is_due(effect.not_before, now) and (changes is None or effect.change in changes)
        )

    def of_change(self, change: str) -> tuple[Effect, ...]:
        return tuple(effect for effect in self._all_open() if effect.change == change)

    def _all_open(self) -> list[Effect]:
        with self._tables.lock:
            return [row.effect for row in self._tables.effects.values() if row.closed_by is None]

    def begin(self, effect_id: str, fence: Lease | None = None) -> int:
        with self._tables.lock:
            row = self._tables.effects.get(effect_id)
            if row is None or row.closed_by is not None or not self._is_held(fence):
                return 0
            row.effect = replace(row.effect, attempts=row.effect.attempts + 1)
            return row.effect.attempts

    def postpone(self, effect_id: str, error: str, not_before: datetime, fence: Lease | None = None) -> None:
        with self._tables.lock:
            row = self._tables.effects.get(effect_id)
            if row is not None and row.closed_by is None and self._is_held(fence):
                row.effect = replace(row.effect, last_error=clean_text(error), not_before=not_before)

    def _is_held(self, fence: Lease | None) -> bool:
        return fence is None or self._tables.holds(fence)


class MemoryPositions:
    """`FollowerPositions` in memory."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def position(self, name: str) -> int:
        with self._tables.lock:
            return self._tables.positions.get(name, 0)

    def advance(self, cursor: MemoryTransaction, name: str, position: int) -> None:
        if self.position(name) >= position:
            raise TrackingConflict(f"{name} is at position {position} or further already")
        self.set(cursor, name, position)

    def set(self, cursor: MemoryTransaction, name: str, position: int) -> None:
        cursor.steps.append(lambda: self._tables.positions.__setitem__(name, position))


class _Shared:
    """What all stores on one content have in common."""

    def __init__(self) -> None:
        self.tables: Tables = Tables(threading.RLock())
        self.recorder: MemoryRecorder = MemoryRecorder(self.tables)
        self.installation: str = str(uuid4())


class MemoryStore:
    """The same parts as `PostgresStore`. Further stores on `beside` share its contents, as processes share a database.

    clock: monotonic seconds, for expiring leases.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        lease_ttl: float = DEFAULT_TTL_SECONDS,
        holder: str | None = None,
        beside: Self | None = None,
    ) -> None:
        self._shared: _Shared = beside._shared if beside else _Shared()
        self._tables, recorder = self._shared.tables, self._shared.recorder
        watch = HeartbeatWatch(clock, lease_ttl)
        holder = holder or str(ProcessIdentity.current())
        self.events = MemoryEvents(recorder, self._tables)
        self.outbox = MemoryOutbox(self._tables, recorder.notify)
        self.effects = MemoryEffects(self._tables)
        self.leases = MemoryLeases(self._tables, holder, watch)
        self.slots = MemorySlots(self._tables, holder, watch)
        self.tracking = MemoryPositions(self._tables)

    @contextmanager
    def transaction(self) -> Iterator[MemoryTransaction]:
        """Steps that are done together at the end of the block, or not at all if it raises; others wait meanwhile."""
        with self._tables.lock:
            transaction = MemoryTransaction()
            yield transaction
            for step in transaction.steps:
                step()

    def installation_id(self) -> str:
        """The ID that store, home and repositories of one installation carry."""
        return self._shared.installation

    def close(self) -> None:
        """Nothing to close."""
