"""The tables of the in-memory store: rows as values, changed only under the store's one lock."""

import json
import threading
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from commands.ports.store import Commit, DuplicateCommand, Effect, EffectIntent, FenceLost, Handled, Lease, Message
from domain.kernel.value import clean_text


@dataclass(slots=True)
class OutboxRow:
    message: Message
    attempts: int = 0
    last_error: str = ""
    dead_at: datetime | None = None
    handled_at: datetime | None = None

    @property
    def is_open(self) -> bool:
        return self.handled_at is None and self.dead_at is None


@dataclass(slots=True)
class EffectRow:
    effect: Effect
    closed_by: str | None = None


@dataclass(slots=True)
class LeaseRow:
    holder: str | None
    epoch: int = 1
    counter: int = 0


@dataclass(slots=True)
class SlotRow:
    holder: str
    counter: int = 0


def as_stored(payload: dict[str, Any]) -> dict[str, Any]:
    """A payload as it comes back from JSON: no shared objects, and what JSON can't hold is refused here too."""
    stored: dict[str, Any] = json.loads(json.dumps(payload))
    return stored


@dataclass(slots=True)
class Tables:
    """Rows in order of insertion, as the database's `seq` has them."""

    lock: threading.RLock
    commands: dict[str, Handled] = field(default_factory=dict)
    outbox: dict[str, OutboxRow] = field(default_factory=dict)
    effects: dict[str, EffectRow] = field(default_factory=dict)
    leases: dict[str, LeaseRow] = field(default_factory=dict)
    slots: dict[str, SlotRow] = field(default_factory=dict)
    positions: dict[str, int] = field(default_factory=dict)

    def check(self, commit: Commit) -> None:
        """
        Raises:
            FenceLost, DuplicateCommand
        """
        for fence in commit.fences:
            if not self.holds(fence):
                raise FenceLost(f"the lease {fence.name} is held by another")
        handled = [h.command_id for h in commit.handled]
        if len(set(handled)) != len(handled) or any(h in self.commands for h in handled):
            raise DuplicateCommand("a command of this commit is recorded already")

    def holds(self, lease: Lease) -> bool:
        row = self.leases.get(lease.name)
        return row is not None and (row.holder, row.epoch) == (lease.holder, lease.epoch)

    def apply(self, commit: Commit) -> None:
        """The rest of a commit beside its events; `check` has passed."""
        for handled in commit.handled:
            self._record(handled)
        for message in commit.messages:
            self.send(message)
        for intent in commit.effects:
            self._intend(intent)
        for effect_id, event in commit.effects_closed.items():
            row = self.effects.get(effect_id)
            if row is not None and row.closed_by is None:
                row.closed_by = event

    def _record(self, handled: Handled) -> None:
        payload = None if handled.payload is None else as_stored(handled.payload)
        self.commands[handled.command_id] = replace(handled, reason=clean_text(handled.reason), payload=payload)
        row = self.outbox.get(handled.command_id)
        if row is not None and row.handled_at is None:
            row.handled_at = handled.at

    def send(self, message: Message) -> None:
        """A message with a known ID is ignored."""
        if message.message_id not in self.commands and message.message_id not in self.outbox:
            self.outbox[message.message_id] = OutboxRow(replace(message, payload=as_stored(message.payload)))

    def _intend(self, intent: EffectIntent) -> None:
        if intent.effect_id in self.effects:
            return
        self.effects[intent.effect_id] = EffectRow(
            Effect(
                effect_id=intent.effect_id,
                kind=intent.kind,
                change=intent.change,
                project=intent.project,
                payload=as_stored(intent.payload),
                opened_by=intent.opened_by,
                attempts=0,
                not_before=None,
                last_error="",
            )
        )
