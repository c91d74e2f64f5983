"""Running Tasks again on top of other work, within bounds (seed 001, part 3; SEED-NOTES, "Tasks")."""

from collections.abc import Iterable
from typing import Final

from domain.change.command import RerunTask, RerunTasks
from domain.change.dispatching import dispatch, follow_dependencies
from domain.change.draft import Draft
from domain.change.error import RerunsUsedUp, WrongStatus
from domain.change.event import (
    CandidateRejected,
    ChangeBlocked,
    RejectReason,
    TaskConflict,
    TaskReopened,
    TasksRerun,
)
from domain.change.graph import Edges, built_on, candidate_of, dependencies_of, edges_of, task_of, work_graph
from domain.change.guard import require_open
from domain.change.state import CandidateState, ChangeState, TaskState
from domain.change.status import CandidateStatus, ChangeStatus, TaskStatus
from domain.kernel.event import Event
from domain.plan import work_graph_order

MAX_RERUNS: Final = 4
"""Re-runs after a Candidate that didn't merge (seed 001: MAX_REBASE_RERUNS)."""

MAX_RESTACKS: Final = 2
"""Re-runs after a Task whose dependencies didn't merge (seed 001: MAX_TASK_RESTACKS)."""

NOT_MERGED: Final = "The work of this request did not merge after four re-runs. Submit it again."

RESTACK: Final = "dependency_merge_conflict"
_COUNTED: Final = ("file_conflict", "rebase")
_FROM_RUNNING: Final = (RESTACK, "rebase", "integrate")


def rerun_tasks(state: ChangeState, command: RerunTasks) -> tuple[Event, ...]:
    """Open the named Tasks, and every Task built on them, again; blocked when the re-runs are used up."""
    require_open(state)
    named = [task_of(state, wanted.task) for wanted in command.tasks]
    for wanted in command.tasks:
        for dependency in wanted.on_top_of:
            task_of(state, dependency)
    if command.candidate is not None and candidate_of(state, command.candidate).rerun:
        return ()
    if not any(task.status in (TaskStatus.COMPLETED, TaskStatus.FAILED) for task in named):
        return ()
    if state.status is ChangeStatus.BLOCKED and command.trigger in _COUNTED and reruns_used_up(state):
        return ()
    _require_rerunnable(state, command.trigger)
    draft = Draft(state)
    run_again(draft, command.tasks, command.trigger, command.candidate)
    return draft.events


def _require_rerunnable(state: ChangeState, trigger: str) -> None:
    allowed = (ChangeStatus.VERIFYING, *((ChangeStatus.RUNNING,) if trigger in _FROM_RUNNING else ()))
    if state.status not in allowed:
        raise WrongStatus(state.id, state.status, f"Tasks run again ({trigger})", allowed)


def run_again(draft: Draft, tasks: Iterable[RerunTask], trigger: str, candidate: str | None = None) -> None:
    """Record one re-run, or that there is none left.

    Raises:
        RerunsUsedUp: a running Change had its re-runs of dependencies.
    """
    state = draft.state
    if trigger == RESTACK and state.restacks >= MAX_RESTACKS:
        raise RerunsUsedUp(state.id, MAX_RESTACKS)
    if trigger in _COUNTED and reruns_used_up(state):
        if state.status is ChangeStatus.VERIFYING:
            draft.record(ChangeBlocked(reason=NOT_MERGED))
            return
        raise RerunsUsedUp(state.id, MAX_RERUNS)
    named = tuple(tasks)
    edges = _with_edges(edges_of(state), named)
    reopened = built_on(edges, [wanted.task for wanted in named])
    draft.record(TasksRerun(trigger=trigger, tasks=tuple(t for t in edges if t in reopened), candidate=candidate))
    for task_id in work_graph_order(edges):
        if task_id in reopened:
            _reopen(draft, draft.state.tasks[task_id], edges, reopened)
    follow_dependencies(draft)
    _reject_stale(draft)
    dispatch(draft)


def reruns_used_up(state: ChangeState) -> bool:
    return state.reruns >= MAX_RERUNS


def _with_edges(edges: Edges, reruns: Iterable[RerunTask]) -> Edges:
    """The graph with the new edges, but none to a Task that is built on the one that runs again."""
    for wanted in reruns:
        known = edges[wanted.task]
        new = [
            other
            for other in dict.fromkeys(wanted.on_top_of)
            if other != wanted.task and other not in known and wanted.task not in dependencies_of(edges, other)
        ]
        edges = {**edges, wanted.task: (*known, *new)}
    return edges


def _reopen(draft: Draft, task: TaskState, edges: Edges, reopened: frozenset[str]) -> None:
    """Completed and failed Tasks run again; one at work or not yet begun goes on, as it will start on the new work."""
    needs = edges[task.id]
    if task.status is TaskStatus.FAILED:
        draft.record(TaskReopened(task=task.id, status=TaskStatus.PENDING, depends_on=needs))
    elif task.status is TaskStatus.COMPLETED:
        waits = any(d in reopened or draft.state.tasks[d].status is not TaskStatus.COMPLETED for d in needs)
        status = TaskStatus.PENDING if waits else TaskStatus.READY
        draft.record(TaskReopened(task=task.id, status=status, depends_on=needs))


def _reject_stale(draft: Draft) -> None:
    """A stale Candidate isn't recomposed when its Tasks run again; live ones may still ship (PROMOTABLE_FROM)."""
    for candidate in draft.state.candidates.values():
        if candidate.status is CandidateStatus.STALE:
            reject_for_rerun(draft, candidate)


def reject_for_rerun(draft: Draft, candidate: CandidateState) -> None:
    draft.record(
        CandidateRejected(
            candidate=candidate.id, reason=RejectReason.TASKS_RERUN, detail="its Tasks run again on later work"
        )
    )


def on_top_of_earlier(state: ChangeState, conflicts: Iterable[TaskConflict]) -> tuple[RerunTask, ...]:
    """Each Task that didn't merge, built on all Tasks before it in Work Graph order (SEED-NOTES, "Tasks")."""
    order = [task.id for task in work_graph(state) if task.changeset is not None]
    conflicted = {conflict.task for conflict in conflicts}
    return tuple(RerunTask(task=task, on_top_of=tuple(order[:i])) for i, task in enumerate(order) if task in conflicted)


def on_top_of_other_dependencies(state: ChangeState, failed: TaskState) -> tuple[RerunTask, ...]:
    """Each dependency that didn't merge, built on the failed Task's dependencies before it."""
    needed = dependencies_of(edges_of(state), failed.id)
    order = [task.id for task in work_graph(state) if task.id in needed]
    conflicted = {conflict.task for conflict in failed.conflicts}
    return tuple(RerunTask(task=task, on_top_of=tuple(order[:i])) for i, task in enumerate(order) if task in conflicted)
