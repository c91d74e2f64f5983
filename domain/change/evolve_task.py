"""How the events of a Task change it."""

from collections.abc import Callable
from typing import Any, Final

from domain.change import event as e
from domain.change.state import ChangeSetState, TaskState
from domain.change.status import TASK_TABLE, TaskStatus
from domain.kernel.changed import changed
from domain.kernel.errors import ImpossibleHistory
from domain.kernel.event import Event

NO_CHANGES: Final = "no_changes"
"""The hint to an agent that left everything as it was, and the reason when it does so again."""


def _moved(task: TaskState, event: Event, target: str | None = None) -> TaskStatus:
    return TaskStatus(TASK_TABLE.after(task.id, task.status, event.type, target))


def task_created(event: e.TaskCreated) -> TaskState:
    status = TaskStatus(TASK_TABLE.after(event.task, None, event.type, event.status))
    return TaskState(event.task, event.key, event.kind, event.depends_on, event.resources, status)


def changeset_proposed(event: e.ChangeSetProposed) -> ChangeSetState:
    return ChangeSetState(event.changeset, event.task, event.run, event.base_commit, event.commit, event.empty)


def _woken(task: TaskState, event: e.TaskReady | e.TaskWakeRequested) -> TaskState:
    return changed(task, status=_moved(task, event), woken=True)


def _without_wake(task: TaskState, event: e.TaskDeferred | e.TaskWakeDropped) -> TaskState:
    return changed(task, status=_moved(task, event), woken=False)


def _assigned(task: TaskState, event: e.TaskAssigned) -> TaskState:
    return changed(
        task,
        status=_moved(task, event),
        run=event.run,
        attempt=_next_attempt(task, event.attempt),
        window=task.window + 1,
        woken=False,
    )


def _next_attempt(task: TaskState, attempt: int) -> int:
    if attempt <= task.attempt:
        raise ImpossibleHistory(f"Task {task.id}: attempt {attempt} after {task.attempt}")
    return attempt


def _same_run(task: TaskState, run: str) -> None:
    if task.run != run:
        raise ImpossibleHistory(f"Task {task.id}: {run} isn't the attempt at work ({task.run})")


def _started(task: TaskState, event: e.TaskStarted) -> TaskState:
    _same_run(task, event.run)
    return changed(
        task,
        status=_moved(task, event),
        base_generation=event.base_generation,
        base_commit=event.base_commit,
        started_at=event.started_at,
        stack=event.stack,
        reservation=event.reservation,
    )


def _retried(task: TaskState, event: e.TaskRetried) -> TaskState:
    _same_run(task, event.ended)
    hinted = event.hint == NO_CHANGES
    return changed(
        task,
        status=_moved(task, event),
        run=event.run,
        attempt=_next_attempt(task, event.attempt),
        last_ended=event.ended,
        reservation=event.reservation,
        window=task.window if hinted else task.window + 1,
        hint=event.hint or task.hint,
    )


def _escalated(task: TaskState, event: e.TaskEscalated) -> TaskState:
    _same_run(task, event.ended)
    return changed(
        task,
        status=_moved(task, event),
        run=event.run,
        attempt=_next_attempt(task, event.attempt),
        last_ended=event.ended,
        reservation=event.reservation,
        window=task.window + 1,
    )


def _requeued(task: TaskState, event: e.TaskRequeued) -> TaskState:
    _same_run(task, event.lost)
    return changed(
        task,
        status=_moved(task, event, event.status),
        run=event.run,
        attempt=_next_attempt(task, event.attempt),
        lost=task.lost + 1,
    )


def _completed(task: TaskState, event: e.TaskCompleted) -> TaskState:
    _same_run(task, event.run)
    return changed(
        task, status=_moved(task, event), run=None, last_ended=event.run, reservation=None, report=event.report
    )


def _failed(task: TaskState, event: e.TaskFailed) -> TaskState:
    _same_run(task, event.run)
    return changed(
        task,
        status=_moved(task, event),
        run=None,
        last_ended=event.run,
        reservation=None,
        reason=event.reason,
        detail=event.detail,
        conflicts=event.conflicts,
    )


def _blocked(task: TaskState, event: e.TaskBlocked) -> TaskState:
    if event.run is not None:
        _same_run(task, event.run)
    return changed(
        task,
        status=_moved(task, event),
        run=None,
        last_ended=event.run or task.last_ended,
        reservation=None,
        woken=False,
        cause=event.cause,
        detail=event.detail,
    )


def _fresh_window(task: TaskState, status: TaskStatus) -> TaskState:
    return changed(
        task,
        status=status,
        window=0,
        lost=0,
        hint=None,
        woken=status is TaskStatus.READY,
        cause=None,
        reason="",
        detail="",
        conflicts=(),
    )


def _unblocked(task: TaskState, event: e.TaskUnblocked) -> TaskState:
    return _fresh_window(task, _moved(task, event, event.status))


def _reopened(task: TaskState, event: e.TaskReopened) -> TaskState:
    return changed(_fresh_window(task, _moved(task, event, event.status)), depends_on=event.depends_on, reworked=True)


def _cancelled(task: TaskState, event: e.TaskCancelled) -> TaskState:
    return changed(task, status=_moved(task, event), run=None, reservation=None, woken=False)


TASK_EVENTS: Final[dict[type[Event], Callable[[TaskState, Any], TaskState]]] = {
    e.TaskReady: _woken,
    e.TaskWakeRequested: _woken,
    e.TaskDeferred: _without_wake,
    e.TaskWakeDropped: _without_wake,
    e.TaskAssigned: _assigned,
    e.TaskStarted: _started,
    e.TaskRetried: _retried,
    e.TaskEscalated: _escalated,
    e.TaskRequeued: _requeued,
    e.TaskCompleted: _completed,
    e.TaskFailed: _failed,
    e.TaskBlocked: _blocked,
    e.TaskUnblocked: _unblocked,
    e.TaskReopened: _reopened,
    e.TaskCancelled: _cancelled,
}
