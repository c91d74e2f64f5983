"""Why an object is where it is, what it waits for, and the chain of events and commands that led there."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Protocol

from domain.kernel.errors import InvalidInput, NotFound
from projections.candidate import CandidateQueries
from projections.change import ChangeQueries
from projections.core import Row
from projections.project import ProjectQueries
from projections.query import Views
from projections.release import ReleaseQueries
from projections.run import RunQueries
from projections.task import TaskQueries
from projections.timeline import TimelineQueries
from projections.words import status
from projections.words.command import command_sentence
from projections.words.status import Around, Waiting

MAX_LINKS: Final = 200

_EVENT: Final = re.compile(r"(?P<stream>[^:\s]+):(?P<version>[0-9]+)")


@dataclass(frozen=True, slots=True)
class CommandFact:
    """A handled command as it was recorded. reason: why it was refused, or empty."""

    command_id: str
    name: str
    actor: str
    at: datetime
    reason: str
    causation: str | None


class Commands(Protocol):
    """Handled commands; a function, so that the event store need not know this module."""

    def __call__(self, command_id: str) -> CommandFact | None: ...


@dataclass(frozen=True, slots=True)
class Link:
    """One step of the chain. kind: `event` or `command`, whose ID `id` is; sentence: without a full stop."""

    kind: str
    id: str
    at: datetime
    actor: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Why:
    """kind: `change`, `task`, `candidate`, `run`, `release`, `project` or `event`.

    status: None for an event. waits_for: one sentence without a full stop. command: what a person can type to bring it
    on, None where nobody has to. chain: from the newest event back to what began it. cut: the chain goes on before.
    """

    id: str
    kind: str
    status: str | None
    waits_for: str
    command: str | None
    chain: tuple[Link, ...]
    cut: bool = False


class WhyQueries:
    """Answers for the ID of any object, or of an event (`<stream>:<version>`)."""

    def __init__(self, views: Views, commands: Commands) -> None:
        self._commands = commands
        self._changes = ChangeQueries(views)
        self._tasks = TaskQueries(views)
        self._candidates = CandidateQueries(views)
        self._timeline = TimelineQueries(views)
        self._kinds: dict[str, tuple[str, Callable[[str], Row | None], Callable[[Row], Waiting]]] = {
            "chg": ("change", self._changes.get, self._change_waits),
            "tsk": ("task", self._tasks.get, status.task_waits),
            "cand": ("candidate", self._candidates.get, status.candidate_waits),
            "run": ("run", RunQueries(views).get, status.run_waits),
            "rel": ("release", ReleaseQueries(views).get, status.release_waits),
            "prj": ("project", ProjectQueries(views).get, status.project_waits),
        }

    def why(self, identifier: str) -> Why:
        """The answer for this ID.

        Raises:
            NotFound: nothing has it.
            InvalidInput: not the ID of anything that has a reason.
        """
        if _EVENT.fullmatch(identifier):
            return self._event(identifier)
        prefix = identifier.split("_", 1)[0]
        if prefix not in self._kinds:
            known = ", ".join(f"{known}_…" for known in self._kinds)
            raise InvalidInput(f"{identifier} isn't an ID that can be explained; those are {known}, and IDs of events")
        kind, get, waits = self._kinds[prefix]
        row = get(identifier)
        if row is None:
            raise NotFound(kind, identifier)
        waiting = waits(row)
        chain, cut = self._chain(self._timeline.last_about(identifier))
        return Why(identifier, kind, row.get("status"), waiting.sentence, waiting.command, chain, cut)

    def _event(self, identifier: str) -> Why:
        row = self._timeline.event(identifier)
        if row is None:
            raise NotFound("event", identifier)
        chain, cut = self._chain(row)
        return Why(identifier, "event", None, f"{status.NOTHING}: it has happened", None, chain, cut)

    def _change_waits(self, row: Row) -> Waiting:
        around = Around(tuple(self._tasks.of_change(row["id"])), tuple(self._candidates.of_change(row["id"])))
        return status.change_waits(row, around)

    def _chain(self, event: Row | None) -> tuple[tuple[Link, ...], bool]:
        """Event ← command ← event …, back to a command that nothing in the log caused."""
        links: list[Link] = []
        told: set[str] = set()
        seen: set[str] = set()
        cause: str | None = event["event"] if event else None
        while cause is not None and cause not in seen:
            if len(links) >= MAX_LINKS:
                return tuple(links), True
            seen.add(cause)
            cause = self._step(cause, links, told)
        return tuple(links), False

    def _step(self, cause: str, links: list[Link], told: set[str]) -> str | None:
        """Add what `cause` names (an event and its command, or a command); returns what caused that."""
        event = self._timeline.event(cause)
        if event is not None:
            links.append(Link("event", cause, event["at"], event["actor"], event["sentence"]))
            command = self._add_command(event["command"], links, told)
            return event["causation"] or (command.causation if command else None)
        command = self._add_command(cause, links, told)
        if command is not None:
            return command.causation
        # The ID of a message begins with that of the event it derives from.
        return cause.split("/", 1)[0] if "/" in cause else None

    def _add_command(self, command_id: str, links: list[Link], told: set[str]) -> CommandFact | None:
        command = self._commands(command_id)
        if command is not None and command_id not in told:
            told.add(command_id)
            sentence = command_sentence(command.name, command.actor)
            links.append(Link("command", command_id, command.at, command.actor, sentence))
        return command


def as_document(why: Why) -> dict[str, Any]:
    """The answer as JSON (camelCase, as all edges have it)."""
    return {
        "id": why.id,
        "kind": why.kind,
        "status": why.status,
        "waitsFor": why.waits_for,
        "command": why.command,
        "chain": [
            {"kind": k.kind, "id": k.id, "at": k.at.isoformat(), "actor": k.actor, "sentence": k.sentence}
            for k in why.chain
        ],
        "cut": why.cut,
    }
