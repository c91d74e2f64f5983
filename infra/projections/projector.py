"""Following the log: one reader fans out to all read models of the process."""

import threading
import time
from collections.abc import Sequence
from typing import Final

from commands.ports.store import EventStore
from domain.kernel.event import Envelope
from infra.projections.fingerprint import fingerprint
from infra.projections.home import Home, ModelState, RowsRefused, Transaction
from infra.projections.log import read_page
from projections.core import Changed, Key, ReadModel, Row, check_names
from projections.fold import Events, Failure

BATCH: Final = 500
"""Events a transaction."""


class UndeclaredRow(Exception):
    """A read model asked for a row that its `keys` doesn't name: a rebuild would differ from following."""


class ReadModelStopped(Exception):
    """A read model that somebody waits for has stopped; the text names its event and position."""


class Projector:
    """Keeps read models at the end of the log, in steps that the caller drives. Safe to use from several threads.

    A read model that fails on an event stops alone: what came before that event is kept, the failure is recorded with
    its event and position, and only a rebuild makes it go on.
    """

    def __init__(self, store: EventStore, home: Home, models: Sequence[ReadModel], batch: int = BATCH) -> None:
        check_names(models)
        self._store = store
        self._home = home
        self._models = tuple(models)
        self._batch = batch
        self._lock = threading.Lock()
        self._moved = threading.Condition()
        self._ours = {model.name: fingerprint(model) for model in self._models}
        self._states = self._own_states()

    def _own_states(self) -> dict[str, ModelState]:
        """Without read models that other code made: a process of an older version leaves them alone."""
        return {n: s for n, s in self._home.states().items() if self._ours.get(n) == s.definition}

    def step(self) -> bool:
        """Apply the next events to all read models in one transaction; False if there is nothing to do.

        Raises:
            StoreError: the database failed; nothing of this step is there, and the next one repeats it.
        """
        with self._lock:
            after = self._next_position()
            if after is None:
                return False
            events = read_page(self._store, after, self._batch)
            if not events:
                return False
            with self._home.transaction(self._models) as transaction:
                if _contains(transaction.states, after):
                    _follow(transaction, self._models, events)
            return self._note(transaction.states)

    def _next_position(self) -> int | None:
        """The lowest position of those that go on; None if all have stopped."""
        return min((s.position for s in self._states.values() if s.failure is None), default=None)

    def _note(self, states: dict[str, ModelState]) -> bool:
        with self._moved:
            progressed = states != self._states
            self._states = states
            self._moved.notify_all()
        return progressed

    def refresh(self) -> None:
        """Read the positions again, after another process or a rebuild moved them."""
        self._note(self._own_states())

    def position(self, name: str) -> int:
        """Up to where the read model contains the log."""
        return self._states[name].position

    def failures(self) -> dict[str, Failure]:
        """The read models that have stopped, and on what."""
        missing = Failure(0, "", "made by another version of the code, or not at all: restart or rebuild")
        failures = {n: missing for n in self._ours if n not in self._states}
        return failures | {n: s.failure for n, s in self._states.items() if s.failure is not None}

    def catch_up(self, position: int | None = None) -> None:
        """Drive steps until every read model that goes on contains the log up to `position` (default: its end).

        Any process may do so to read its own writes: positions are locked for each step.
        """
        self.refresh()
        end = self._store.last_position()
        target = end if position is None else min(position, end)
        while (behind := self._next_position()) is not None and behind < target:
            if not self.step():
                self.refresh()

    def wait_until(self, position: int, names: Sequence[str], timeout: float) -> bool:
        """Wait, while another thread drives the steps, until these read models contain `position`; False: in vain.

        Raises:
            ReadModelStopped: one of them never will.
        """
        deadline = time.monotonic() + timeout
        with self._moved:
            while not self._contain(position, names):
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                self._moved.wait(left)
            return True

    def _contain(self, position: int, names: Sequence[str]) -> bool:
        failures = self.failures()
        for name in names:
            if name in failures and (name not in self._states or self._states[name].position < position):
                stop = failures[name]
                raise ReadModelStopped(f"{name} stopped at {stop.position} ({stop.event or 'no event'}): {stop.reason}")
        return all(self._states[name].position >= position for name in names)


class _Loaded(dict[Key, Row]):
    """The rows that exist among those named; asking for others is an error of the read model."""

    def __init__(self, named: set[Key], rows: dict[Key, Row]) -> None:
        super().__init__(rows)
        self._named = named

    def get(self, key: Key, default: Row | None = None) -> Row | None:  # type: ignore[override]
        if key not in self._named:
            raise UndeclaredRow(f"row {' '.join(map(str, key))} isn't among the keys of the event")
        return super().get(key, default)

    def merge(self, changed: Changed) -> None:
        self._named.update(changed)
        for key, row in changed.items():
            if row is None:
                self.pop(key, None)
            else:
                self[key] = row


def _contains(states: dict[str, ModelState], after: int) -> bool:
    """Whether the log up to `after` is in all that go on.

    What is committed here isn't synced, so a database that comes back after a crash may be behind what it had told.
    """
    return all(state.failure is not None or state.position >= after for state in states.values())


def _follow(transaction: Transaction, models: Sequence[ReadModel], events: Events) -> None:
    """Bring the read models through a page of the log, each as far as it gets."""
    end = events[-1][0]
    changes: list[tuple[ReadModel, Changed]] = []
    through: list[ReadModel] = []
    for model in models:
        state = transaction.states.get(model.name)
        if state is None or state.failure is not None or state.position >= end:
            continue
        changed, reached, failure = _applied(transaction, model, _after(events, state.position), state.position)
        if failure is not None:
            _save_one(transaction, model, events, (changed, reached, failure))
            continue
        through.append(model)
        if changed:
            changes.append((model, changed))
    try:
        transaction.save(changes)
    except RowsRefused:
        # One of them made rows that the home refuses: each by itself, so that it stops alone.
        for model in through:
            position = transaction.states[model.name].position
            _save_one(transaction, model, events, _applied(transaction, model, _after(events, position), position))
        return
    if through:
        transaction.track([model.name for model in through], end)


def _after(events: Events, position: int) -> Events:
    return events if events[0][0] > position else [event for event in events if event[0] > position]


def _save_one(
    transaction: Transaction, model: ReadModel, events: Events, applied: tuple[Changed, int, Failure | None]
) -> None:
    """Write what one read model made of the events; if it is refused, as far as it is accepted."""
    changed, reached, failure = applied
    try:
        transaction.save([(model, changed)])
    except RowsRefused:
        position = transaction.states[model.name].position
        reached, failure = _one_by_one(transaction, model, _after(events, position), position)
    transaction.track([model.name], reached, failure)


def _applied(
    transaction: Transaction, model: ReadModel, events: Events, position: int
) -> tuple[Changed, int, Failure | None]:
    """The rows changed by `events`, the position reached, and what stopped it."""
    handled, named, failure = _keyed(model, events)
    rows = _Loaded(named, transaction.load(model, named))
    changed: Changed = {}
    for place, envelope in handled:
        try:
            new = model.apply(envelope, place, rows)
        except Exception as error:  # noqa: BLE001 - whatever a read model does, it stops alone and says where
            failure = Failure.of(envelope, place, error)
            break
        rows.merge(new)
        changed.update(new)
    if failure is None:
        return changed, events[-1][0], None
    stopped = failure.position
    return changed, max((place for place, _ in events if place < stopped), default=position), failure


def _keyed(model: ReadModel, events: Events) -> tuple[list[tuple[int, Envelope]], set[Key], Failure | None]:
    """The events that concern the read model, and the keys that they touch; up to one whose keys can't be told."""
    handled: list[tuple[int, Envelope]] = []
    named: set[Key] = set()
    for place, envelope in events:
        if envelope.type not in model.handlers:
            continue
        try:
            named.update(model.keys(envelope))
        except Exception as error:  # noqa: BLE001 - as in `_applied`
            return handled, named, Failure.of(envelope, place, error)
        handled.append((place, envelope))
    return handled, named, None


def _one_by_one(
    transaction: Transaction, model: ReadModel, events: Events, position: int
) -> tuple[int, Failure | None]:
    """Apply event by event, to find the one whose rows the home refuses."""
    for place, envelope in events:
        changed, reached, failure = _applied(transaction, model, [(place, envelope)], position)
        if failure is None:
            try:
                transaction.save([(model, changed)])
            except RowsRefused as error:
                failure = Failure.of(envelope, place, error)
        if failure is not None:
            return position, failure
        position = reached
    return position, None
