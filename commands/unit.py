"""Load → decide → append: decisions over one or more streams that commit together or not at all."""

import random
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from commands.effect import effects_of
from commands.ports.store import (
    Commit,
    EffectIntent,
    EventStore,
    Handled,
    Lease,
    Message,
    Sealed,
    StreamAppend,
    VersionConflict,
)
from domain.kernel.event import GENESIS_HASH, Command, Event, Head, seal
from domain.registry import decider_of

T = TypeVar("T")

MAX_CONFLICT_RETRIES: Final = 12
"""How often a decision is made again because another writer came first."""

CACHED_STREAMS: Final = 512


@dataclass(frozen=True, slots=True)
class Loaded:
    """A stream folded up to `version`; `hash` is that of its last stored bytes."""

    state: Any
    version: int
    hash: str


EMPTY: Final = Loaded(None, 0, GENESIS_HASH)


class Streams:
    """Folded streams, kept with their version so that a load reads only what is newer."""

    def __init__(self, events: EventStore) -> None:
        self._events = events
        self._cache: OrderedDict[str, Loaded] = OrderedDict()
        self._lock = threading.Lock()

    def load(self, stream: str) -> Loaded:
        """The stream as it stands in the store now. Safe to call from several threads."""
        with self._lock:
            loaded = self._cache.get(stream, EMPTY)
        evolve = decider_of(stream).evolve
        for stored in self._events.read(stream, after=loaded.version):
            loaded = Loaded(evolve(loaded.state, stored.envelope.event), stored.envelope.version, stored.hash)
        with self._lock:
            self._cache[stream] = loaded
            self._cache.move_to_end(stream)
            if len(self._cache) > CACHED_STREAMS:
                self._cache.popitem(last=False)
        return loaded


class HeldLeases:
    """The leases under which this process writes: what it appends to a stream is fenced by the stream's lease."""

    def __init__(self) -> None:
        self._leases: dict[str, Lease] = {}

    def hold(self, stream: str, lease: Lease) -> None:
        self._leases[stream] = lease

    def drop(self, stream: str) -> Lease | None:
        return self._leases.pop(stream, None)

    def get(self, stream: str) -> Lease | None:
        return self._leases.get(stream)

    def items(self) -> tuple[tuple[str, Lease], ...]:
        return tuple(self._leases.items())

    @property
    def streams(self) -> tuple[str, ...]:
        return tuple(self._leases)


class Unit:
    """One unit of work. `decide` folds what it decided at once, so that a later decision sees it."""

    def __init__(self, events: EventStore, streams: Streams, held: HeldLeases) -> None:
        self._events = events
        self._streams = streams
        self._held = held
        self._now: dict[str, Loaded] = {}
        self._first: dict[str, int] = {}
        self._sealed: dict[str, list[Sealed]] = {}
        self._effects: list[EffectIntent] = []
        self._closed: dict[str, str] = {}

    def state(self, stream: str) -> Any:
        """The stream's state with this unit's own decisions; None if it has no events."""
        return self._load(stream).state

    def head(self, stream: str) -> Head:
        """Where the stream stands with this unit's own decisions: the hash is final, because bytes are sealed."""
        loaded = self._load(stream)
        return Head(version=loaded.version, hash=loaded.hash)

    def _load(self, stream: str) -> Loaded:
        if stream not in self._now:
            self._now[stream] = self._streams.load(stream)
            self._first[stream] = self._now[stream].version
        return self._now[stream]

    def decide(self, stream: str, command: Command, run: str | None = None) -> tuple[Event, ...]:
        """Decide `command` on `stream`; its events are part of the commit.

        Raises:
            DomainError: the rules refuse it; the unit is as it was.
        """
        decider = decider_of(stream)
        before = self._load(stream)
        events = decider.decide(before.state, command)
        for event in events:
            loaded = self._now[stream]
            envelope, stored, digest = seal(stream, loaded.version + 1, loaded.hash, event, command, run)
            state = decider.evolve(loaded.state, event)
            change = effects_of(envelope, loaded.state, state)
            self._effects.extend(change.opened)
            self._closed.update(dict.fromkeys(change.closed, envelope.id))
            self._sealed.setdefault(stream, []).append(Sealed(envelope, stored, digest))
            self._now[stream] = Loaded(state, envelope.version, digest)
        return events

    def commit(
        self, handled: Iterable[Handled] = (), messages: Iterable[Message] = (), fences: Iterable[Lease] = ()
    ) -> int:
        """Append everything in one transaction, fenced by what this process holds of it; returns the log's position."""
        own = tuple(lease for stream in self._sealed if (lease := self._held.get(stream)) is not None)
        opened = tuple(effect for effect in self._effects if effect.effect_id not in self._closed)
        return self._events.commit(
            Commit(
                appends=tuple(
                    StreamAppend(stream, self._first[stream], tuple(sealed)) for stream, sealed in self._sealed.items()
                ),
                handled=tuple(handled),
                messages=tuple(messages),
                effects=opened,
                effects_closed=self._closed,
                fences=tuple(dict.fromkeys((*fences, *own))),
            )
        )


class Writer:
    """Runs units of work; a version conflict reloads and decides again, a bounded number of times, with jitter."""

    def __init__(self, events: EventStore, pause: Callable[[float], None] = time.sleep) -> None:
        self.events = events
        self.streams = Streams(events)
        self.held = HeldLeases()
        self._pause = pause

    def unit(self) -> Unit:
        return Unit(self.events, self.streams, self.held)

    def transact(self, work: Callable[[Unit], T]) -> T:
        """Run `work`, which decides and commits on the unit that it is given.

        Raises:
            VersionConflict: other writers came first every time.
            DomainError, StoreError: as `work` raises them.
        """
        for attempt in range(MAX_CONFLICT_RETRIES):
            try:
                return work(self.unit())
            except VersionConflict:
                # Jitter only spreads retries; it decides nothing.
                self._pause(random.uniform(0, 0.005 * 2 ** min(attempt, 6)))
        return work(self.unit())

    def state(self, stream: str) -> Any:
        """The stream's state now; None if it has no events."""
        return self.streams.load(stream).state
