"""The library's in-memory recorder, held to the commit protocol of `commit_events`."""

import threading
from collections.abc import Sequence
from typing import Any

from eventsourcing.persistence import StoredEvent
from eventsourcing.popo import POPOApplicationRecorder

from commands.ports.store import Commit, StreamAppend, VersionConflict
from domain.kernel.value import sha256_hex
from infra.event_store.contiguity import head_hash
from infra.event_store.mapper import Page
from infra.event_store.memory_tables import Tables


class MemoryRecorder(POPOApplicationRecorder):
    """Events in a list; the tables beside them change in the same step, or nothing does."""

    def __init__(self, tables: Tables) -> None:
        super().__init__()
        self._database_lock = tables.lock
        self._tables = tables

    def _assert_uniqueness(self, stored_events: Sequence[StoredEvent], **kwargs: Any) -> None:
        commit: Commit = kwargs["commit"]
        self._tables.check(commit)
        for append in commit.appends:
            self._check_head(append)
        super()._assert_uniqueness(stored_events)

    def _check_head(self, append: StreamAppend) -> None:
        index = self._stored_events_index[append.stream]
        if len(index) != append.expected_version:
            raise VersionConflict(f"{append.stream} is at version {len(index)}, not {append.expected_version}")
        expected = head_hash(append)
        if index and expected and sha256_hex(self._stored_events[index[len(index)]].state) != expected:
            raise VersionConflict(f"{append.stream} has another history up to version {append.expected_version}")

    def _update_table(self, stored_events: Sequence[StoredEvent], **kwargs: Any) -> Sequence[int] | None:
        super()._update_table(stored_events)
        self._tables.apply(kwargs["commit"])
        return [len(self._stored_events)]

    def page(self, after: int, limit: int) -> Page:
        """A page of the log."""
        with self._database_lock:
            rows = self._stored_events[after : after + limit]
            return [(position, row.topic, row.state) for position, row in enumerate(rows, after + 1)]

    def stream(self, stream: str, after: int) -> Page:
        """Events of one stream."""
        with self._database_lock:
            index = self._stored_events_index.get(stream, {})
            places = [index[version] for version in range(after + 1, len(index) + 1)]
            return [(p + 1, self._stored_events[p].topic, self._stored_events[p].state) for p in places]

    def listen(self, event: threading.Event) -> None:
        with self._database_lock:
            self._listeners = {*self._listeners, event}

    def unlisten(self, event: threading.Event) -> None:
        with self._database_lock:
            self._listeners = self._listeners - {event}

    def notify(self) -> None:
        """Wake those who listen, for a change that isn't a commit of events."""
        self._notify_listeners()
