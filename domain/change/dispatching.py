"""Which Tasks may start: readiness, wakes, the 8 places."""

from domain.change.command import AssignTask, DispatchTasks, DropWake
from domain.change.draft import Draft
from domain.change.event import (
    BlockCause,
    TaskAssigned,
    TaskBlocked,
    TaskDeferred,
    TaskReady,
    TaskUnblocked,
    TaskWakeDropped,
    TaskWakeRequested,
)
from domain.change.graph import dependencies_completed, stopping_dependencies, task_of, work_graph
from domain.change.guard import require_open
from domain.change.state import ChangeState, TaskState
from domain.change.status import MAX_ACTIVE_AGENTS, ChangeStatus, TaskStatus
from domain.kernel.event import Event
from domain.kernel.ids import agent_id, run_id


def dispatch_tasks(state: ChangeState, command: DispatchTasks) -> tuple[Event, ...]:
    """Dispatch runs only for a running Change; elsewhere there is nothing to do (seed 001, cancel, rule 4)."""
    draft = Draft(state)
    dispatch(draft)
    return draft.events


def dispatch(draft: Draft) -> None:
    """Bring each Task to where its dependencies allow, in Work Graph order, then wake who waits without a wake."""
    if draft.state.status is not ChangeStatus.RUNNING:
        return
    follow_dependencies(draft)
    for task in work_graph(draft.state):
        if task.status is TaskStatus.PENDING and dependencies_completed(draft.state, task):
            draft.record(TaskReady(task=task.id))
    _wake_again(draft)


def follow_dependencies(draft: Draft) -> None:
    """Block pending Tasks whose dependency failed or stopped; reopen blocked ones whose dependencies go on again."""
    for planned in work_graph(draft.state):
        task = draft.state.tasks[planned.id]
        stopping = stopping_dependencies(draft.state, task)
        if task.status is TaskStatus.PENDING and stopping:
            names = ", ".join(f"{dependency.id} ({dependency.status})" for dependency in stopping)
            draft.record(TaskBlocked(task=task.id, cause=BlockCause.DEPENDENCY, detail=f"it waits for {names}"))
        elif task.status is TaskStatus.BLOCKED and task.cause is BlockCause.DEPENDENCY and not stopping:
            draft.record(TaskUnblocked(task=task.id, status=TaskStatus.PENDING))


def _wake_again(draft: Draft) -> None:
    """Wake ready Tasks without a wake, as many as there are places that no other wake is on its way to."""
    ready = [t for t in draft.state.tasks.values() if t.status is TaskStatus.READY]
    room = MAX_ACTIVE_AGENTS - draft.state.active - sum(task.woken for task in ready)
    asleep = [task for task in ready if not task.woken and dependencies_completed(draft.state, task)]
    for task in asleep[: max(room, 0)]:
        draft.record(TaskWakeRequested(task=task.id))


def resumed_status(state: ChangeState, task: TaskState) -> TaskStatus:
    """Where a Task goes that may run again: ready, or pending while a dependency isn't completed."""
    return TaskStatus.READY if dependencies_completed(state, task) else TaskStatus.PENDING


def assign(state: ChangeState, command: AssignTask) -> tuple[Event, ...]:
    """A wake arrives: a place and the next attempt, a deferral, or a dropped wake. Late ones change nothing."""
    require_open(state)
    task = task_of(state, command.task)
    if task.status is not TaskStatus.READY:
        return ()
    if state.status is not ChangeStatus.RUNNING:
        return _dropped(task, f"the Change is {state.status}")
    if not dependencies_completed(state, task):
        return _dropped(task, "a dependency runs again")
    if state.active >= MAX_ACTIVE_AGENTS:
        return (TaskDeferred(task=task.id),) if task.woken else ()
    attempt = task.attempt + 1
    assigned = TaskAssigned(task=task.id, agent=agent_id(task.id), run=run_id(task.id, attempt), attempt=attempt)
    return (assigned,)


def drop_wake(state: ChangeState, command: DropWake) -> tuple[Event, ...]:
    """The wake is gone; the next dispatch sends another."""
    task = task_of(state, command.task)
    return _dropped(task, command.reason) if task.status is TaskStatus.READY else ()


def _dropped(task: TaskState, reason: str) -> tuple[Event, ...]:
    return (TaskWakeDropped(task=task.id, reason=reason),) if task.woken else ()
