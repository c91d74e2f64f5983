"""Tiny events and builders of commits for the store's suite."""

from datetime import UTC, datetime, timedelta
from typing import Any

from commands.ports.store import Commit, EffectIntent, Handled, Handling, Message, Sealed, Stored, StreamAppend
from domain.kernel.event import GENESIS_HASH, Command, Event, seal

AT = datetime(2026, 5, 4, 3, 2, 1, 250_000, tzinfo=UTC)


class NoteTaken(Event):
    type = "test.note_taken"

    text: str
    tags: tuple[str, ...] = ()


def later(seconds: float) -> datetime:
    return AT + timedelta(seconds=seconds)


def command(command_id: str = "cmd-1", correlation: str | None = "chg_1") -> Command:
    return Command(command_id=command_id, actor="usr_1", at=AT, causation="chg_0:7", correlation=correlation)


def notes(
    stream: str, *texts: str, after: Stored | Sealed | None = None, command_id: str = "cmd-1", run: str | None = None
) -> StreamAppend:
    """An append of one `NoteTaken` per text behind `after`."""
    previous = after.hash if after else GENESIS_HASH
    start = after.envelope.version if after else 0
    sealed = []
    for version, text in enumerate(texts, start + 1):
        envelope, stored, previous_now = seal(stream, version, previous, NoteTaken(text=text), command(command_id), run)
        sealed.append(Sealed(envelope, stored, previous_now))
        previous = previous_now
    return StreamAppend(stream, start, tuple(sealed))


def handled(command_id: str, handling: Handling = Handling.DONE, **more: Any) -> Handled:
    return Handled(command_id=command_id, name="note.take", actor="usr_1", at=AT, handling=handling, **more)


def message(message_id: str, **more: Any) -> Message:
    values: dict[str, Any] = {
        "topic": "rhumbline.integration",
        "name": "candidate.create",
        "project": "prj_1",
        "change": "chg_1",
        "payload": {"candidate": "cand_1", "order": [1, 2.5, None], "nested": {"ü": "☃"}},
        "causation": "chg_1:3",
        "correlation": "chg_1",
        "actor": "system:router",
        "created_at": AT,
    }
    return Message(message_id=message_id, **{**values, **more})


def intent(effect_id: str, change: str | None = "chg_1") -> EffectIntent:
    return EffectIntent(
        effect_id=effect_id,
        kind="check",
        change=change,
        project="prj_1",
        payload={"candidate": "cand_1", "big": 1e16},
        opened_by="chg_1:4",
    )


def append(*appends: StreamAppend, **more: Any) -> Commit:
    return Commit(appends=appends, **more)
