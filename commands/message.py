"""The commands that travel: their names, their topics, and how an ID derives from what caused one."""

from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from commands.ports.store import Message

WAKEUPS: Final = "rhumbline.agent-wakeups"
INTEGRATION: Final = "rhumbline.integration"


class Name(StrEnum):
    """What a handler is registered for."""

    PLAN = "change.plan"
    DISPATCH = "change.dispatch"
    SETTLE = "change.settle"
    WAKE = "agent.wake"
    CREATE_CANDIDATE = "candidate.create"
    RECOMPOSE = "candidates.recompose"
    APPROVE_IN_ADVANCE = "candidate.approve"
    PROMOTE = "candidate.promote"
    ADVANCE = "canonical.advance"


def topic_of(name: str) -> str:
    return WAKEUPS if name == Name.WAKE else INTEGRATION


def derived(
    name: Name,
    *,
    cause: str,
    at: datetime,
    project: str,
    change: str,
    subject: str = "",
    actor: str = "system:router",
    **payload: Any,
) -> Message:
    """The message that the event `cause` leads to. The same event gives the same ID, so a repetition is no second one.

    subject: tells apart several messages of one name from one event.
    """
    message_id = f"{cause}/{name}" + (f"/{subject}" if subject else "")
    return Message(
        message_id=message_id,
        topic=topic_of(name),
        name=name,
        project=project,
        change=change,
        payload=payload,
        causation=cause,
        correlation=change,
        actor=actor,
        created_at=at,
    )
