"""An attempt of a Task: it starts, ends, is retried, loses its worker, dies as a letter."""

from typing import Final

from domain.change.command import (
    Broke,
    DeadLetterTask,
    FinishTask,
    Made,
    NoChanges,
    RequeueRun,
    RetryDeadLetter,
    StartTask,
    Stopped,
)
from domain.change.dispatching import dispatch, follow_dependencies, resumed_status
from domain.change.draft import Draft
from domain.change.error import BudgetDeferred, NotADeadLetter
from domain.change.event import (
    BlockCause,
    ChangeSetProposed,
    TaskBlocked,
    TaskCompleted,
    TaskFailed,
    TaskRequeued,
    TaskRetried,
    TaskStarted,
    TaskUnblocked,
    VerificationStarted,
)
from domain.change.evolve_task import NO_CHANGES
from domain.change.graph import all_completed, stack, task_of
from domain.change.guard import require_manager, require_open
from domain.change.progress import settle_running
from domain.change.state import ChangeState, TaskState
from domain.change.status import ChangeStatus, TaskStatus
from domain.kernel.errors import InvalidInput, StaleAttempt
from domain.kernel.event import Event
from domain.kernel.ids import changeset_id, run_id
from domain.kernel.money import show_usd

MAX_ATTEMPTS_PER_WINDOW: Final = 2
"""Attempts in a window of a Task; requeues after a lost worker and the hint after no changes don't count."""

MAX_LOST_PER_WINDOW: Final = 3
"""The third lost worker of a window makes a dead letter (DESIGN, "Leases")."""


def start(state: ChangeState, command: StartTask) -> tuple[Event, ...]:
    """Start the assigned attempt if the budget has room for what it may cost.

    One that got its place before a promotion from running began starts too: that promotion may still be refused.

    Raises:
        BudgetDeferred: reserved money of other runs is in the way; only spent money blocks.
        StaleAttempt: `run` isn't the task's present attempt.
    """
    task = task_of(state, command.task)
    if task.last_ended == command.run or (task.run == command.run and task.status is TaskStatus.RUNNING):
        return ()
    _require_attempt(state, task, command.run)
    if _lacks_money(state, command.reservation):
        if state.reserved:
            raise BudgetDeferred(task.id, command.reservation or 0, state.left)
        draft = Draft(state)
        _block(draft, task, BlockCause.BUDGET, _money_sentence(state, command.reservation), None)
        return draft.events
    started = TaskStarted(
        task=task.id,
        run=command.run,
        base_generation=command.base_generation,
        base_commit=command.base_commit,
        reservation=command.reservation,
        started_at=int(command.at.timestamp()),
        stack=tuple(changeset.id for changeset in stack(state, task.id)),
    )
    return (started,)


def _lacks_money(state: ChangeState, reservation: int | None) -> bool:
    """A run of unknown cost is refused only once the whole budget is spent."""
    if reservation is None:
        return 0 < state.budget <= state.spent
    return reservation > state.left


def _money_sentence(state: ChangeState, reservation: int | None) -> str:
    spent = f"{show_usd(state.spent)} of the budget of {show_usd(state.budget)} is spent"
    return spent if reservation is None else f"{spent}, and the next run may cost {show_usd(reservation)}"


def _require_attempt(state: ChangeState, task: TaskState, run: str) -> None:
    if task.run != run:
        now = f"its present attempt is {task.run}" if task.run else f"it is {task.status}"
        raise StaleAttempt(f"{run} isn't the attempt at work on {task.id} ({now}): its writes are refused, stop it")


def _block(draft: Draft, task: TaskState, cause: BlockCause, detail: str, cost: int | None) -> None:
    """Block a Task that was to run or ran, and what waits for it; then see whether the Change still goes on."""
    draft.record(TaskBlocked(task=task.id, cause=cause, detail=detail, run=task.run, cost=cost))
    follow_dependencies(draft)
    settle_running(draft)


# -- the end of an attempt ---------------------------------------------------------------------------------------


def finish(state: ChangeState, command: FinishTask) -> tuple[Event, ...]:
    """End the attempt `run`; hearing of the same end again changes nothing.

    Raises:
        StaleAttempt: the attempt was replaced, or the task was cancelled.
        InvalidInput: the result isn't one that the task's kind can have.
    """
    task = task_of(state, command.task)
    if task.last_ended == command.run:
        return ()
    _require_attempt(state, task, command.run)
    if task.status is not TaskStatus.RUNNING:
        raise StaleAttempt(f"{command.run} hasn't started: it can't end; start {task.id} first")
    draft = Draft(state)
    match command.result:
        case Made():
            _finish_made(draft, task, command, command.result)
        case NoChanges():
            _finish_unchanged(draft, task, command, command.result.base_commit, command.result.tree)
        case Broke():
            _finish_broken(draft, task, command, command.result)
        case Stopped():
            _block(draft, task, command.result.cause, command.result.detail, command.cost)
    return draft.events


def _finish_made(draft: Draft, task: TaskState, command: FinishTask, made: Made) -> None:
    if not task.writes:
        if made.report is None or made.commit is not None:
            raise InvalidInput(f"{task.id} is of kind {task.kind}: it hands on a report and no ChangeSet")
        _complete(draft, task, command, None)
        return
    if made.base_commit is None or made.commit is None or made.tree is None:
        raise InvalidInput(f"{task.id} is of kind {task.kind}: it makes a ChangeSet with base, commit and tree")
    if made.empty:
        _finish_unchanged(draft, task, command, made.base_commit, made.tree)
        return
    _propose(draft, task, made.base_commit, made.commit, made.tree, empty=False)
    _complete(draft, task, command, changeset_id(command.run))


def _finish_unchanged(draft: Draft, task: TaskState, command: FinishTask, base_commit: str, tree: str) -> None:
    """One more try with a hint, then failed; in a re-run, changing nothing is an answer (SEED-NOTES, "Tasks")."""
    if not task.writes:
        raise InvalidInput(f"{task.id} is of kind {task.kind}: it never changes files, and must hand on a report")
    if task.reworked:
        _propose(draft, task, base_commit, base_commit, tree, empty=True)
        _complete(draft, task, command, changeset_id(command.run))
    elif task.hint != NO_CHANGES:
        _retry(draft, task, command, reason=NO_CHANGES, hint=NO_CHANGES)
    else:
        _fail(draft, task, command, Broke(reason=NO_CHANGES, detail="the agent changed nothing", retryable=False))


def _propose(draft: Draft, task: TaskState, base_commit: str, commit: str, tree: str, empty: bool) -> None:
    assert task.run is not None
    draft.record(
        ChangeSetProposed(
            changeset=changeset_id(task.run),
            task=task.id,
            run=task.run,
            base_commit=base_commit,
            commit=commit,
            tree=tree,
            empty=empty,
        )
    )


def _complete(draft: Draft, task: TaskState, command: FinishTask, changeset: str | None) -> None:
    draft.record(
        TaskCompleted(
            task=task.id,
            run=command.run,
            run_head=command.run_head,
            changeset=changeset,
            report=command.result.report if isinstance(command.result, Made) else None,
            cost=command.cost,
        )
    )
    if draft.state.status is ChangeStatus.RUNNING and all_completed(draft.state):
        draft.record(VerificationStarted(reason="work_graph_completed"))


def _finish_broken(draft: Draft, task: TaskState, command: FinishTask, broke: Broke) -> None:
    if broke.retryable and task.window < MAX_ATTEMPTS_PER_WINDOW:
        _retry(draft, task, command, reason=broke.reason, hint="")
    else:
        _fail(draft, task, command, broke)


def _retry(draft: Draft, task: TaskState, command: FinishTask, reason: str, hint: str) -> None:
    """The next attempt at once, on what is left of the budget; spent money blocks it."""
    left = draft.state.left + (task.reservation or 0) - (command.cost or 0)
    reservation = command.next_reservation
    if reservation is None:
        enough = not 0 < draft.state.budget <= draft.state.spent + (command.cost or 0)
    else:
        enough = left > 0 or reservation == 0
        reservation = min(reservation, max(left, 0))
    if not enough:
        detail = f"the budget of {show_usd(draft.state.budget)} has nothing left for another attempt ({reason})"
        _block(draft, task, BlockCause.BUDGET, detail, command.cost)
        return
    attempt = task.attempt + 1
    draft.record(
        TaskRetried(
            task=task.id,
            ended=command.run,
            run=run_id(task.id, attempt),
            attempt=attempt,
            reason=reason,
            hint=hint,
            reservation=reservation,
            cost=command.cost,
        )
    )


def _fail(draft: Draft, task: TaskState, command: FinishTask, broke: Broke) -> None:
    """Dependents are blocked at once; `task.failed` leads to a settle, which ends the Change or runs work again."""
    draft.record(
        TaskFailed(
            task=task.id,
            run=command.run,
            run_head=command.run_head,
            reason=broke.reason,
            detail=broke.detail,
            cost=command.cost,
            conflicts=broke.conflicts,
        )
    )
    follow_dependencies(draft)


# -- lost workers and dead letters -------------------------------------------------------------------------------


def requeue(state: ChangeState, command: RequeueRun) -> tuple[Event, ...]:
    """A lost run is continued by a new one, which takes no attempt from the window; the third is a dead letter."""
    task = task_of(state, command.task)
    if task.run != command.run:
        return ()
    draft = Draft(state)
    if task.lost + 1 >= MAX_LOST_PER_WINDOW:
        detail = f"its worker was lost {MAX_LOST_PER_WINDOW} times"
        _block(draft, task, BlockCause.DEAD_LETTER, detail, None)
        return draft.events
    attempt = task.attempt + 1
    draft.record(
        TaskRequeued(task=task.id, lost=command.run, run=run_id(task.id, attempt), attempt=attempt, status=task.status)
    )
    return draft.events


def dead_letter(state: ChangeState, command: DeadLetterTask) -> tuple[Event, ...]:
    """The wake failed too often. A Task that got further than its wake is none the worse for it."""
    task = task_of(state, command.task)
    if task.status not in (TaskStatus.READY, TaskStatus.ASSIGNED):
        return ()
    draft = Draft(state)
    _block(draft, task, BlockCause.DEAD_LETTER, command.reason, None)
    return draft.events


def retry_dead_letter(state: ChangeState, command: RetryDeadLetter) -> tuple[Event, ...]:
    """By owner or admin: a fresh window for the Task, and what waits for it goes on."""
    require_open(state)
    require_manager(state, command.role, "retrying a dead letter of")
    task = task_of(state, command.task)
    if task.status in (TaskStatus.PENDING, TaskStatus.READY, TaskStatus.ASSIGNED, TaskStatus.RUNNING):
        return ()
    if task.cause is not BlockCause.DEAD_LETTER:
        raise NotADeadLetter(task.id, task.status, task.cause)
    draft = Draft(state)
    draft.record(TaskUnblocked(task=task.id, status=resumed_status(state, task)))
    follow_dependencies(draft)
    dispatch(draft)
    return draft.events
