"""Folding the log in memory: for a rebuild, a verification, the simulator and tests."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from domain.kernel.event import Envelope
from projections.core import Apply, Changed, Key, ReadModel, Row

Events = Sequence[tuple[int, Envelope]]
"""A page of the log: each event with its position, in commit order."""

ReadLog = Callable[[int, int], Events]
"""Events with a position greater than the first argument, at most as many as the second."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A read model stopped: the event that it failed on, its position, and why."""

    position: int
    event: str
    reason: str

    @classmethod
    def of(cls, envelope: Envelope, position: int, error: Exception) -> "Failure":
        return cls(position, envelope.id, f"{type(error).__name__}: {error}")


_NOWHERE: Final = -1
_EVERYWHERE: Final = sys.maxsize


class Fold:
    """The rows of one read model, growing event by event.

    position: up to which the log is folded in. until: events beyond aren't. failure: set once an event couldn't be
    folded in; nothing is after that. changed: if given, changes of rows that stay are noted there too. appended: if
    given, rows of append-only tables go there instead of staying in `rows`; the caller empties it.
    """

    def __init__(
        self, model: ReadModel, until: int | None = None, appended: list[tuple[Key, Row]] | None = None
    ) -> None:
        self.model = model
        self.rows: dict[Key, Row] = {}
        self.position = 0
        self.until = _EVERYWHERE if until is None else until
        self.failure: Failure | None = None
        self.changed: Changed | None = None
        self.appended = appended
        self._streams = frozenset(t.name for t in model.tables if t.append_only and appended is not None)

    def keep(self, changed: Changed) -> None:
        """Take over what an event changed."""
        rows, streams = self.rows, self._streams
        for key, row in changed.items():
            if row is None:
                rows.pop(key, None)
            elif streams and key[0] in streams and self.appended is not None:
                self.appended.append((key, row))
                continue
            else:
                rows[key] = row
            if self.changed is not None:
                self.changed[key] = row

    def stop(self, failure: Failure) -> None:
        """Fold nothing any more."""
        self.failure = failure
        self.until = _NOWHERE

    def advance(self, position: int) -> None:
        """Everything up to `position` was offered."""
        self.position = max(self.position, min(position, self.until))


class FanOut:
    """Feeds one stream of events to several folds: each event is decoded once and reaches only who handles it."""

    def __init__(self, folds: Sequence[Fold]) -> None:
        self.folds = folds
        self._routes: dict[str, list[tuple[Apply, Fold]]] = {}
        for fold in folds:
            for kind, handler in fold.model.handlers.items():
                self._routes.setdefault(kind, []).append((handler.apply, fold))

    def feed(self, events: Events) -> None:
        """Fold a page of the log in; afterwards every fold that didn't fail stands at its end.

        Past events and those beyond a fold's `until` pass it by.
        """
        routes = self._routes
        for position, envelope in events:
            event = envelope.event
            for apply, fold in routes.get(envelope.type, ()):
                if fold.position < position <= fold.until:
                    try:
                        changed = apply(event, envelope, position, fold.rows)
                    except Exception as error:  # noqa: BLE001 - whatever a read model does, it stops alone
                        fold.stop(Failure.of(envelope, position, error))
                        continue
                    fold.position = position
                    fold.keep(changed)
        if events:
            self.advance(events[-1][0])

    def advance(self, position: int) -> None:
        """The log up to `position` was fed."""
        for fold in self.folds:
            fold.advance(position)
