"""Wakes of tasks: a place among the agents, a slice of the budget, and the Run, in one transaction."""

from typing import Any

from commands.context import Context, Deferred, handled_message, message_meta
from commands.ports.store import Handling, Message
from commands.unit import Unit
from domain.budget.command import OpenBudget, ReserveSlice
from domain.budget.error import SlicesOpen
from domain.change.command import AssignTask, DeadLetterTask, DropWake, StartTask
from domain.change.error import BudgetDeferred
from domain.change.event import TaskBlocked
from domain.change.state import TaskState
from domain.change.status import ChangeStatus, TaskStatus
from domain.kernel.ids import budget_id
from domain.run.command import StartRun
from domain.run.event import Continues
from domain.run.status import RunStatus

DEFER_SECONDS = 2.0


def wake(ctx: Context, message: Message) -> Handling:
    """Admit one agent: assigned, started, its Run begun; the run itself is the effect that this intends.

    A wake that came too late is dropped; one without a place or with other slices of the budget open is deferred.
    """
    assert message.change is not None
    change, task = message.change, str(message.payload["task"])

    def work(unit: Unit) -> Handling:
        now = ctx.clock()
        state = unit.state(change)
        if state.status != ChangeStatus.RUNNING or state.tasks[task].status not in (
            TaskStatus.READY,
            TaskStatus.ASSIGNED,
        ):
            return _drop(ctx, unit, message, state)
        unit.decide(change, AssignTask(**message_meta(message, now), task=task))
        assigned = unit.state(change).tasks[task]
        if assigned.status != TaskStatus.ASSIGNED:
            # No place: recorded as handled, because the place that frees leads to a wake of its own.
            unit.commit(handled=(handled_message(message, now, Handling.DONE, "no place among the agents"),))
            return Handling.DONE
        begin_attempt(ctx, unit, change, task, message_meta(message, now))
        unit.commit(handled=(handled_message(message, now, Handling.DONE),))
        return Handling.DONE

    try:
        return ctx.writer.transact(work)
    except (BudgetDeferred, SlicesOpen) as later:
        raise Deferred(str(later), DEFER_SECONDS) from later


def begin_attempt(ctx: Context, unit: Unit, change: str, task: str, bookkeeping: dict[str, Any]) -> None:
    """Start the assigned attempt: the Change's reservation, the month's slice and the Run together."""
    state = unit.state(change)
    project = unit.state(state.project)
    run = state.tasks[task].run
    agent = ctx.agents.open(ctx.objects.get(state.settings), state.sandboxed)
    reservation = agent.reservation(state.tasks[task].key, state.tasks[task].attempt)
    started = unit.decide(
        change,
        StartTask(
            **bookkeeping,
            task=task,
            run=run,
            base_generation=project.generation,
            base_commit=project.commit,
            reservation=reservation,
        ),
        run,
    )
    if any(isinstance(event, TaskBlocked) for event in started):
        return
    left = _left_behind(unit, state.tasks[task], unit.state(change).tasks[task])
    open_run(unit, change, task, run, agent.provider, reservation, project.commit, bookkeeping, left)


def _left_behind(unit: Unit, before: TaskState, now: TaskState) -> Continues | None:
    """What an attempt that a limit stopped had done so far, if the new one starts on the very same files."""
    stopped = unit.state(before.last_ended) if before.last_ended else None
    if stopped is None or stopped.status is not RunStatus.STOPPED or stopped.finished.tree is None:
        return None
    if (before.base_commit, before.stack) != (now.base_commit, now.stack):
        return None
    return Continues(run=stopped.id, turn=stopped.turn, tree=stopped.finished.tree)


def open_run(
    unit: Unit,
    change: str,
    task: str,
    run: str,
    provider: str,
    reservation: int | None,
    base_commit: str,
    bookkeeping: dict[str, Any],
    continues: Continues | None = None,
) -> None:
    """Begin the Run's stream and reserve its slice of the project's month."""
    state = unit.state(change)
    month = bookkeeping["at"].strftime("%Y-%m")
    budget = budget_id(state.project, month) if reservation else None
    if budget is not None:
        unit.decide(budget, OpenBudget(**bookkeeping, owner=state.project, month=month, limit=None))
        unit.decide(budget, ReserveSlice(**bookkeeping, run=run, amount=reservation))
    unit.decide(
        run,
        StartRun(
            **bookkeeping,
            task=task,
            change=change,
            project=state.project,
            attempt=state.tasks[task].attempt,
            provider=provider,
            base_commit=base_commit,
            reservation=reservation,
            budget=budget,
            sandboxed=state.sandboxed,
            continues=continues,
        ),
        run,
    )


def _drop(ctx: Context, unit: Unit, message: Message, state: Any) -> Handling:
    now = ctx.clock()
    task = str(message.payload["task"])
    if state.tasks[task].status == TaskStatus.READY:
        reason = f"the Change is {state.status}"
        unit.decide(state.id, DropWake(**message_meta(message, now), task=task, reason=reason))
    unit.commit(handled=(handled_message(message, now, Handling.ALREADY, "the wake came too late"),))
    return Handling.ALREADY


def dead_letter(ctx: Context, message: Message, reason: str) -> None:
    """Block the task whose wake failed too often, so that an operator sees and retries it."""
    assert message.change is not None
    change, task = message.change, str(message.payload["task"])

    def work(unit: Unit) -> None:
        command = DeadLetterTask(**message_meta(message, ctx.clock()), task=task, reason=reason)
        unit.decide(change, command.model_copy(update={"command_id": f"{message.message_id}/dead-letter"}))
        unit.commit()

    ctx.writer.transact(work)
