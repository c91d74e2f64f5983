"""Where a Change is while it is followed: a fold of its events, and the few lines that show it live."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from domain.change.status import CHANGE_TABLE, TASK_TABLE, TERMINAL_CHANGE
from domain.kernel.event import Envelope
from domain.kernel.table import TransitionTable
from projections.timeline import ROUTINE
from projections.words import event_sentence
from routers.cli.view import time
from routers.cli.view.layout import DIM, Line, columns, indented, join, status, styled
from routers.cli.view.text import one_line

ACTIVE: Final = frozenset({"assigned", "running"})
BOOKKEEPING: Final = frozenset(kind.type for kind in ROUTINE)
"""Kept in the timeline, no news for somebody who watches."""

LAST_OUTPUT: Final = 100
"""Characters of the last line that a command printed."""


@dataclass(frozen=True, slots=True)
class Item:
    """A task or a check that is under way. since: when it got its present status."""

    status: str
    since: datetime


@dataclass(frozen=True, slots=True)
class Progress:
    """tasks by ID; checks by name, those of the Verification Plan that have no evidence yet."""

    change: str
    status: str = "created"
    since: datetime | None = None
    tasks: dict[str, Item] = field(default_factory=dict)
    checks: dict[str, Item] = field(default_factory=dict)


def advance(progress: Progress, envelope: Envelope) -> Progress:
    """Progress after one more event."""
    event: Any = envelope.event
    progress = _change_moved(progress, envelope)
    if (task := getattr(event, "task", None)) is not None and TASK_TABLE.sources(envelope.type):
        item = progress.tasks.get(task)
        target = _target(TASK_TABLE, item.status if item else None, envelope.type, getattr(event, "status", None))
        if target is not None:
            progress = replace(progress, tasks={**progress.tasks, task: Item(target, envelope.at)})
    return _checks_moved(progress, envelope)


def sentence(envelope: Envelope) -> Line | None:
    """The news of an event with its time of day; None for bookkeeping."""
    if envelope.type in BOOKKEEPING:
        return None
    return join(styled(time.clock(envelope.at), DIM), "  ", one_line(event_sentence(envelope)))


def live_lines(progress: Progress, now: datetime, output: Sequence[tuple[str, str]] = ()) -> list[Line]:
    """The Change, its tasks, what is being checked. output: (source, last line) of what runs here."""
    lines = [join(styled(progress.change, "bold"), "  ", status(progress.status), _for(progress.since, now))]
    rows = [
        (short_task(task), status(item.status), _for(item.since, now) if item.status in ACTIVE else "")
        for task, item in progress.tasks.items()
    ]
    rows += [
        (f"check {one_line(name)}", status(item.status), _for(item.since, now))
        for name, item in progress.checks.items()
    ]
    lines += indented(columns(rows))
    lines += indented(
        [styled(f"{one_line(source)}: {one_line(line, LAST_OUTPUT)}", DIM) for source, line in output if line.strip()]
    )
    return lines


def short_task(task: str) -> str:
    """`tsk_<change>_<key>` → `task <key>`."""
    return f"task {one_line(task.split('_', 2)[-1])}"


def _change_moved(progress: Progress, envelope: Envelope) -> Progress:
    if envelope.stream != progress.change or not CHANGE_TABLE.sources(envelope.type):
        return progress
    source = None if envelope.type == "change.created" else progress.status
    target = _target(CHANGE_TABLE, source, envelope.type, getattr(envelope.event, "target", None))
    if target is None or target == progress.status:
        return progress if progress.since is not None else replace(progress, since=envelope.at)
    return replace(progress, status=target, since=envelope.at)


def _checks_moved(progress: Progress, envelope: Envelope) -> Progress:
    event: Any = envelope.event
    if envelope.type == "candidate.composed":
        names = dict.fromkeys(line.check for line in event.plan)
        return replace(progress, checks={name: Item("running", envelope.at) for name in names})
    if envelope.type == "evidence.recorded":
        return replace(progress, checks={k: v for k, v in progress.checks.items() if k != event.evidence.check})
    over = envelope.type in ("candidate.verified", "candidate.rejected", "candidate.stale")
    return replace(progress, checks={}) if over or progress.status in TERMINAL_CHANGE else progress


def _target(table: TransitionTable, source: str | None, event: str, told: Any) -> str | None:
    """Where the arrow leads; None where the event moves nothing."""
    if told is not None and table.allows(source, event, str(told)):
        return str(told)
    targets = {arrow.target for arrow in table.transitions if (arrow.source, arrow.event) == (source, event)}
    return next(iter(targets)) if len(targets) == 1 else None


def _for(since: datetime | None, now: datetime) -> Line:
    if since is None:
        return join("")
    return styled(f"  {time.duration(max(0, round((now - since).total_seconds() * 1000)))}", DIM)
