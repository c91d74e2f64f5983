"""The store: events, handled commands, effects, the outbox, leases and slots, in one database.

A `Commit` is one transaction. Whatever a decision implies (its command is handled, an effect is due, an effect is
done) commits together with its events or not at all.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, Protocol

from domain.kernel.event import Envelope

LONGEST_PAUSE: Final = timedelta(minutes=10)
"""How far ahead `not_before` may lie.

The wall clock says when a pause is over, because it outlives the process. What waits for longer than any pause was
written before the clock went back, and is due: it's at most tried too early. So this is no place for timers.
"""


class StoreError(Exception):
    """The store refused or failed; nothing of the commit is there."""


class VersionConflict(StoreError):
    """Another writer appended to the stream first: read again and decide again."""


class DuplicateCommand(StoreError):
    """The command's ID is recorded already: what it wanted is done, or was refused, once and for all."""


class FenceLost(StoreError):
    """The writer's lease is held by another (a higher epoch): it must stop."""


class ChangeBusy(Exception):
    """Another process works on the Change: it has that person's PATH and environment."""


class StoreFull(StoreError):
    """The disk has no room; the text says where. Nothing is lost, and it goes on when there is room."""


@dataclass(frozen=True, slots=True)
class Stored:
    """An event as read back: its position in the whole log, its envelope, and the hash of its stored bytes."""

    position: int
    envelope: Envelope
    hash: str


@dataclass(frozen=True, slots=True)
class Sealed:
    """An event ready to be stored: envelope, stored bytes, and their hash (see `domain.kernel.event.seal`)."""

    envelope: Envelope
    stored: bytes
    hash: str


@dataclass(frozen=True, slots=True)
class StreamAppend:
    """Events for one stream, contiguous from `expected_version` + 1."""

    stream: str
    expected_version: int
    events: tuple[Sealed, ...]


class Handling(StrEnum):
    """How a command ended."""

    DONE = "done"
    ALREADY = "already"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Handled:
    """A command that is handled now: recorded once, with the reason if it was refused.

    `payload` is kept for a command that no event derives (a person's, a timer's); None otherwise.
    """

    command_id: str
    name: str
    actor: str
    at: datetime
    handling: Handling
    reason: str = ""
    causation: str | None = None
    correlation: str | None = None
    payload: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class EffectIntent:
    """Something to be performed outside of the store, inserted with the event that intends it.

    effect_id is derived from the intent (`run:run_…`, `check:cand_…:tests`), so it can exist once only.
    """

    effect_id: str
    kind: str
    change: str | None
    project: str
    payload: dict[str, Any]
    opened_by: str


@dataclass(frozen=True, slots=True)
class Effect:
    """An open effect as read back; `attempts` counts how often its performance was begun."""

    effect_id: str
    kind: str
    change: str | None
    project: str
    payload: dict[str, Any]
    opened_by: str
    attempts: int
    not_before: datetime | None
    last_error: str


@dataclass(frozen=True, slots=True)
class Message:
    """A command on its way to its handler. `message_id` is the command's ID and derives from what caused it.

    topic is `rhumbline.agent-wakeups` or `rhumbline.integration`; name a dotted command name (`agent.wake`).
    """

    message_id: str
    topic: str
    name: str
    project: str
    change: str | None
    payload: dict[str, Any]
    causation: str | None
    correlation: str | None
    actor: str
    created_at: datetime
    not_before: datetime | None = None


@dataclass(frozen=True, slots=True)
class OpenMessage:
    """A message of the outbox that isn't handled yet; `attempts` counts failed deliveries."""

    message: Message
    attempts: int
    last_error: str


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease that this process holds: every takeover raises `epoch`; writes under it are fenced by it."""

    name: str
    holder: str
    epoch: int


@dataclass(frozen=True, slots=True)
class Commit:
    """One transaction.

    effects_closed maps an effect's ID to the ID of the event that closed it. `fences` are leases that must still be
    held at commit.
    """

    appends: tuple[StreamAppend, ...] = ()
    handled: tuple[Handled, ...] = ()
    messages: tuple[Message, ...] = ()
    effects: tuple[EffectIntent, ...] = ()
    effects_closed: dict[str, str] = field(default_factory=dict)
    fences: tuple[Lease, ...] = ()


class EventStore(Protocol):
    """The log: append in one transaction, read a stream, read everything in commit order."""

    def commit(self, commit: Commit) -> int:
        """Do it all or nothing; returns the position of the last event in the log (0 for an empty log).

        A message in `handled` that lies in the outbox is closed there in the same transaction.

        Raises:
            VersionConflict, DuplicateCommand, FenceLost, StoreFull
            StoreError: a version gap within an append, or the database failed.
        """
        ...

    def read(self, stream: str, after: int = 0) -> tuple[Stored, ...]:
        """The stream's events with a version greater than `after`, in order."""
        ...

    def log(self, after: int, limit: int) -> tuple[Stored, ...]:
        """Events of all streams with a position greater than `after`, in commit order, without late gaps."""
        ...

    def envelopes(self, after: int, limit: int) -> tuple[tuple[int, Envelope], ...]:
        """What `log` gives, each envelope with its position but without its hash: for whoever folds the whole log."""
        ...

    def last_position(self) -> int: ...

    def handled(self, command_id: str) -> Handled | None: ...

    def listen(self, wake: threading.Event) -> None:
        """Have `wake` set after each commit by any process (also spuriously)."""
        ...

    def unlisten(self, wake: threading.Event) -> None: ...


class Outbox(Protocol):
    """Messages between the router and the handlers. A row stays open until it is handled."""

    def due(self, now: datetime, limit: int, changes: Sequence[str] | None = None) -> tuple[OpenMessage, ...]:
        """Open messages whose `not_before` has passed or is beyond `LONGEST_PAUSE`, oldest first.

        With `changes`, only those of these Changes.
        """
        ...

    def defer(self, message_id: str, not_before: datetime) -> None:
        """No slot yet, an open review: not a failure, nothing is recorded."""
        ...

    def failed(self, message_id: str, error: str, not_before: datetime) -> int:
        """Count a failed delivery and its back-off; returns the count."""
        ...

    def bury(self, message_id: str, error: str, at: datetime) -> None:
        """Dead-letter the message: open no more, kept with its reason until an operator retries it."""
        ...

    def dead(self, limit: int) -> tuple[OpenMessage, ...]: ...

    def revive(self, message_id: str) -> bool:
        """Open a dead-lettered message again with a fresh count; False if there is none."""
        ...


class Effects(Protocol):
    """Effects that were intended and not closed yet."""

    def open(self, now: datetime, changes: Sequence[str] | None = None) -> tuple[Effect, ...]:
        """Open effects whose `not_before` has passed or is beyond `LONGEST_PAUSE`, oldest first.

        With `changes`, only those of these Changes.
        """
        ...

    def begin(self, effect_id: str, fence: Lease | None = None) -> int:
        """Count a performance that begins now; returns the count. 0: perform nothing.

        It is 0 when the effect is closed, or `fence` is held by another: that one performs, and the count tells it
        whether an earlier performance was cut off.
        """
        ...

    def postpone(self, effect_id: str, error: str, not_before: datetime, fence: Lease | None = None) -> None:
        """Not before then again; nothing happens when the effect is closed, or `fence` is held by another."""
        ...

    def of_change(self, change: str) -> tuple[Effect, ...]:
        """All open effects of one Change, due or not."""
        ...


class Leases(Protocol):
    """Who may lead, work on a Change, or move a project's ref. One table: holder, epoch, heartbeat counter.

    A lease expires only after this process saw its counter unchanged for the whole TTL on its own monotonic clock, or
    at once when its holder is a process of this machine that is gone.
    """

    @property
    def holder(self) -> str:
        """This process: host, boot, process ID and start time, so that it can be told dead without waiting."""
        ...

    def acquire(self, name: str) -> Lease | None:
        """The lease if it is free, expired or ours already; None if another holds it. A takeover raises the epoch."""
        ...

    def renew(self, lease: Lease) -> bool:
        """Count a heartbeat; False when the lease was taken over: stop what runs under it."""
        ...

    def release(self, lease: Lease) -> None: ...

    def release_gone(self) -> None:
        """Release what processes of this machine hold that are gone. They are free without it, too; it tidies up."""
        ...

    def holder_of(self, name: str) -> str | None: ...

    def is_silent(self, name: str) -> bool:
        """Whether another holds it whose end couldn't be seen: of another machine, or stopped. Only its beat tells."""
        ...


class Slots(Protocol):
    """The one pool of the installation: a row for each agent or check at work, bound across processes."""

    def take(self, owner: str, bound: int) -> bool:
        """Take a slot for `owner` (a run or check ID); True if it has one already; False when `bound` are taken.

        Slots of processes that are gone are freed first, and those that a process which is stopped or on another
        machine didn't renew for the leases' time.
        """
        ...

    def renew(self, owner: str) -> None:
        """Count a heartbeat of this process's slot."""
        ...

    def free(self, owner: str) -> None:
        """Give the slot back, if it is this process's: another may have taken the owner's work over."""
        ...

    def free_gone(self) -> None:
        """Free the slots of processes of this machine that are gone. `take` does so, too."""
        ...
