"""What handlers and effects work with; put together once, in the composition root."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from commands.ports.agent import Agents
from commands.ports.git import Canonical, PersonRepositories
from commands.ports.objects import Objects
from commands.ports.sandbox import Bind, Limits, Sandbox
from commands.ports.store import Effects, Handled, Handling, Leases, Message, Outbox, Slots
from commands.unit import Writer
from domain.check import Setup


class Canonicals(Protocol):
    """The canonical repositories of the projects."""

    def open(self, project: str) -> Canonical:
        """The project's canonical repository, made if it isn't there.

        Raises:
            RepositoryError: it belongs to another installation.
        """
        ...


class Setups(Protocol):
    """The cache of set-up steps: a step runs once per command, lock files and toolchain."""

    def prepare(
        self,
        setup: Setup,
        canonical: Canonical,
        commit: str,
        sandbox: Sandbox,
        cancel: threading.Event | None = None,
        on_output: Callable[[bytes], None] | None = None,
    ) -> tuple[Bind, ...]:
        """The read-only binds of the step's outputs for `commit`, running the step if its cache is empty.

        Raises:
            SetupFailed: the step failed or hung; the text ends with the last of its output.
        """
        ...


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of the installation. agent and check bound one execution each; slots the whole pool."""

    slots: int
    agent: Limits
    check: Limits


@dataclass(frozen=True, slots=True)
class Context:
    """Everything that isn't a decision.

    sandbox(True) is the real one, sandbox(False) none at all, for a person's `--unsafe-local` only.
    """

    writer: Writer
    outbox: Outbox
    effects: Effects
    leases: Leases
    slots: Slots
    objects: Objects
    people: PersonRepositories
    canonicals: Canonicals
    sandbox: Callable[[bool], Sandbox]
    setups: Setups
    agents: Agents
    bounds: Bounds
    clock: Callable[[], datetime]
    new_uuid: Callable[[], str]
    scratch: Path


class Deferred(Exception):
    """Not now and no failure: no slot, an open review. The message or effect stays open until `not_before`."""

    def __init__(self, reason: str, seconds: float) -> None:
        super().__init__(reason)
        self.seconds = seconds


def meta(command_id: str, actor: str, at: datetime, causation: str | None, correlation: str | None) -> dict[str, Any]:
    """The bookkeeping fields of a domain command, to be splatted into its constructor."""
    return {
        "command_id": command_id,
        "actor": actor,
        "at": at,
        "causation": causation,
        "correlation": correlation,
    }


def message_meta(message: Message, at: datetime) -> dict[str, Any]:
    """The bookkeeping of a domain command that carries out `message`."""
    return meta(message.message_id, message.actor, at, message.causation, message.correlation)


def handled_message(message: Message, at: datetime, handling: Handling, reason: str = "") -> Handled:
    return Handled(
        command_id=message.message_id,
        name=message.name,
        actor=message.actor,
        at=at,
        handling=handling,
        reason=reason,
        causation=message.causation,
        correlation=message.correlation,
    )


def handling_of(events: Sequence[object]) -> Handling:
    return Handling.DONE if events else Handling.ALREADY
