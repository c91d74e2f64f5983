"""The Tasks of Changes: nodes of their Work Graphs, each with its attempts."""

from dataclasses import dataclass
from typing import Any, Final

from domain.change import event as e
from domain.change.status import TASK_TABLE
from domain.kernel.event import Envelope, Event
from projections.core import ReadModel, Row, Table
from projections.query import Select, Views

TASKS: Final = Table(
    "tasks",
    {
        "id": "text",
        "change": "text",
        "key": "text",
        "kind": "text",
        "status": "text",
        "ordinal": "bigint",
        "depends_on": "text[]",
        "resources": "text[]",
        "attempts": "bigint",
        "run": "text null",
        "last_run": "text null",
        "agent": "text null",
        "tier": "text null",
        "deferred": "boolean",
        "reason": "text null",
        "detail": "text null",
        "block_cause": "text null",
        "hint": "text null",
        "changeset": "text null",
        "commit": "text null",
        "report_sha256": "text null",
        "report_size": "bigint null",
        "base_generation": "bigint null",
        "base_commit": "text null",
        "known_micros": "bigint",
        "unknown_costs": "bigint",
        "created_at": "timestamptz",
        "updated_at": "timestamptz",
    },
    key=("id",),
    indexes=(("change", "ordinal"),),
)

MODEL: Final = ReadModel("tasks", __name__, TASKS)


def _task(event: Any, envelope: Envelope) -> str:
    identifier: str = event.task
    return identifier


def _moved(row: Row, event: Event, target: str | None = None) -> Row:
    return {"status": str(TASK_TABLE.after(row["id"], row["status"], event.type, target))}


def _charged(row: Row, cost: int | None) -> Row:
    if cost is None:
        return {"unknown_costs": row["unknown_costs"] + 1}
    return {"known_micros": row["known_micros"] + cost}


CLEARED: Final[Row] = {"reason": None, "detail": None, "block_cause": None, "hint": None, "deferred": False}


@MODEL.creates(e.TaskCreated, TASKS)
def _created(event: e.TaskCreated, envelope: Envelope) -> Row:
    return {
        "id": event.task,
        "change": envelope.stream,
        "key": event.key,
        "kind": event.kind.value,
        "status": str(TASK_TABLE.after(event.task, None, event.type, event.status)),
        "ordinal": envelope.version,
        "depends_on": list(event.depends_on),
        "resources": list(event.resources),
        "attempts": 0,
        "deferred": False,
        "known_micros": 0,
        "unknown_costs": 0,
        "created_at": envelope.at,
        "updated_at": envelope.at,
    }


@MODEL.patches(e.TaskReady, e.TaskWakeRequested, table=TASKS, key=_task)
def _woken(row: Row, event: Event, envelope: Envelope) -> Row:
    return {**_moved(row, event), "deferred": False, "reason": None}


@MODEL.patches(e.TaskDeferred, table=TASKS, key=_task)
def _deferred(row: Row, event: e.TaskDeferred, envelope: Envelope) -> Row:
    return {**_moved(row, event), "deferred": True}


@MODEL.patches(e.TaskWakeDropped, table=TASKS, key=_task)
def _wake_dropped(row: Row, event: e.TaskWakeDropped, envelope: Envelope) -> Row:
    return {**_moved(row, event), "reason": event.reason}


@MODEL.patches(e.TaskAssigned, table=TASKS, key=_task)
def _assigned(row: Row, event: e.TaskAssigned, envelope: Envelope) -> Row:
    return {
        **_moved(row, event),
        "agent": event.agent,
        "run": event.run,
        "last_run": event.run,
        "attempts": event.attempt,
        "deferred": False,
        "reason": None,
    }


@MODEL.patches(e.TaskStarted, table=TASKS, key=_task)
def _started(row: Row, event: e.TaskStarted, envelope: Envelope) -> Row:
    return {**_moved(row, event), "base_generation": event.base_generation, "base_commit": event.base_commit}


@MODEL.patches(e.TaskRetried, table=TASKS, key=_task)
def _retried(row: Row, event: e.TaskRetried, envelope: Envelope) -> Row:
    return {**_next_attempt(row, event), **_charged(row, event.cost), "hint": event.hint or row["hint"]}


@MODEL.patches(e.TaskEscalated, table=TASKS, key=_task)
def _escalated(row: Row, event: e.TaskEscalated, envelope: Envelope) -> Row:
    return {**_next_attempt(row, event), **_charged(row, event.cost), "tier": event.tier}


def _next_attempt(row: Row, event: e.TaskRetried | e.TaskEscalated) -> Row:
    return {
        **_moved(row, event),
        "run": event.run,
        "last_run": event.run,
        "attempts": event.attempt,
        "reason": event.reason,
    }


@MODEL.patches(e.TaskRequeued, table=TASKS, key=_task)
def _requeued(row: Row, event: e.TaskRequeued, envelope: Envelope) -> Row:
    moved = _moved(row, event, event.status)
    return {**moved, "run": event.run, "last_run": event.run, "attempts": event.attempt}


@MODEL.patches(e.ChangeSetProposed, table=TASKS, key=_task)
def _changeset_proposed(row: Row, event: e.ChangeSetProposed, envelope: Envelope) -> Row:
    return {"changeset": event.changeset, "commit": event.commit}


@MODEL.patches(e.TaskCompleted, table=TASKS, key=_task)
def _completed(row: Row, event: e.TaskCompleted, envelope: Envelope) -> Row:
    report = event.report
    return {
        **_moved(row, event),
        **_charged(row, event.cost),
        **CLEARED,
        "run": None,
        "report_sha256": report.sha256 if report else None,
        "report_size": report.size if report else None,
    }


@MODEL.patches(e.TaskFailed, table=TASKS, key=_task)
def _failed(row: Row, event: e.TaskFailed, envelope: Envelope) -> Row:
    ended = {"run": None, "reason": event.reason, "detail": event.detail}
    return {**_moved(row, event), **_charged(row, event.cost), **ended}


@MODEL.patches(e.TaskBlocked, table=TASKS, key=_task)
def _blocked(row: Row, event: e.TaskBlocked, envelope: Envelope) -> Row:
    cost = _charged(row, event.cost) if event.run is not None else {}
    stopped = {"run": None, "block_cause": event.cause.value, "detail": event.detail, "deferred": False}
    return {**_moved(row, event), **cost, **stopped}


@MODEL.patches(e.TaskUnblocked, table=TASKS, key=_task)
def _unblocked(row: Row, event: e.TaskUnblocked, envelope: Envelope) -> Row:
    return {**_moved(row, event, event.status), **CLEARED}


@MODEL.patches(e.TaskReopened, table=TASKS, key=_task)
def _reopened(row: Row, event: e.TaskReopened, envelope: Envelope) -> Row:
    return {**_moved(row, event, event.status), **CLEARED, "depends_on": list(event.depends_on)}


@MODEL.patches(e.TaskCancelled, table=TASKS, key=_task)
def _cancelled(row: Row, event: e.TaskCancelled, envelope: Envelope) -> Row:
    return {**_moved(row, event), "run": None, "deferred": False}


@dataclass(frozen=True, slots=True)
class TaskQueries:
    """The questions that are asked about Tasks."""

    views: Views

    def get(self, task: str) -> Row | None:
        return self.views.get(TASKS, task)

    def of_change(self, change: str) -> list[Row]:
        """In the plan's order."""
        return self.views.select(Select(TASKS, {"change": change}, ("ordinal",)))
