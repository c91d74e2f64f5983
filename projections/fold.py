"""Folding the log in memory: for a rebuild, a verification, the simulator and tests."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from domain.kernel.event import Envelope
from projections.core import Append, Apply, Changed, FoldIn, Handler, Key, ReadModel, Row, Table

Events = Sequence[tuple[int, Envelope]]
"""A page of the log: each event with its position, in commit order."""

Appended = dict[str, list[Row]]
"""Rows of append-only tables, by table name."""

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


Step = Callable[[Any, Envelope, int], None]
"""Takes in one event, with its envelope and its position."""

_NOWHERE: Final = -1
_EVERYWHERE: Final = sys.maxsize


class Fold:
    """The rows of one read model, growing event by event.

    position: up to which the log is folded in. until: events beyond aren't. failure: set once an event couldn't be
    folded in; nothing is after that. changed: if given, changes of rows that stay are noted there too. appended: if
    given, rows of append-only tables go there, by table name, instead of staying in `rows`; the caller empties it.
    The rows change in place: whoever keeps one copies it.
    """

    def __init__(self, model: ReadModel, until: int | None = None, appended: Appended | None = None) -> None:
        self.model = model
        self.rows: dict[Key, Row] = {}
        self.position = 0
        self.until = _EVERYWHERE if until is None else until
        self.failure: Failure | None = None
        self.changed: Changed | None = None
        self._appended = appended if appended is not None else {}
        if appended is not None:
            appended.update((table.name, []) for table in model.tables if table.append_only)

    def step(self, handler: Handler) -> Step:
        """How an event of this handler is taken in: the cheapest way that the handler knows."""
        if handler.append is not None and handler.append[0].name in self._appended:
            return self._append(*handler.append)
        return self._apply(handler.apply) if handler.fold_in is None else self._fold_in(handler.fold_in)

    def _append(self, table: Table, make: Append) -> Step:
        rows = self._appended[table.name]

        def step(event: Any, envelope: Envelope, position: int) -> None:
            rows.append(make(event, envelope, position))

        return step

    def _fold_in(self, fold_in: FoldIn) -> Step:
        rows = self.rows

        def step(event: Any, envelope: Envelope, position: int) -> None:
            key = fold_in(event, envelope, position, rows)
            if self.changed is not None and key is not None:
                self.changed[key] = rows[key]

        return step

    def _apply(self, apply: Apply) -> Step:
        rows = self.rows

        def step(event: Any, envelope: Envelope, position: int) -> None:
            for key, row in apply(event, envelope, position, rows).items():
                if row is not None and key[0] in self._appended:
                    self._appended[key[0]].append(row)
                    continue
                if row is None:
                    rows.pop(key, None)
                else:
                    rows[key] = row
                if self.changed is not None:
                    self.changed[key] = row

        return step

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
        self._routes: dict[str, list[tuple[Step, Fold]]] = {}
        for fold in folds:
            for kind, handler in fold.model.handlers.items():
                self._routes.setdefault(kind, []).append((fold.step(handler), fold))

    def feed(self, events: Events) -> None:
        """Fold a page of the log in; afterwards every fold that didn't fail stands at its end.

        Past events and those beyond a fold's `until` pass it by.
        """
        routes = self._routes
        for position, envelope in events:
            event = envelope.event
            for step, fold in routes.get(envelope.type, ()):
                if fold.position < position <= fold.until:
                    try:
                        step(event, envelope, position)
                    except Exception as error:  # noqa: BLE001 - whatever a read model does, it stops alone
                        fold.stop(Failure.of(envelope, position, error))
                    else:
                        fold.position = position
        if events:
            self.advance(events[-1][0])

    def advance(self, position: int) -> None:
        """The log up to `position` was fed."""
        for fold in self.folds:
            fold.advance(position)
