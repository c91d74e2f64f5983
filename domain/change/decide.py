"""Every decision about a Change: one short function per command, dispatched exhaustively."""

from collections.abc import Callable
from typing import Any, Final

from domain.change import (
    approval,
    budget,
    dispatching,
    ending,
    intake,
    planning,
    progress,
    promotion,
    release,
    rerun,
    task,
    verification,
)
from domain.change import command as c
from domain.change.evolve import evolve
from domain.change.state import ChangeState
from domain.kernel.decider import Decider
from domain.kernel.errors import InvalidInput, NotFound
from domain.kernel.event import Command, Event

_DECISIONS: Final[dict[type[Command], Callable[[ChangeState, Any], tuple[Event, ...]]]] = {
    c.StartCompiling: planning.start_compiling,
    c.RecordBaseChecks: planning.record_base_checks,
    c.CompileChange: planning.compile_change,
    c.FailCompiling: planning.fail_compiling,
    c.BlockOnBudget: planning.block_on_budget,
    c.RaiseBudget: budget.raise_budget,
    c.CancelChange: ending.cancel,
    c.SettleChange: progress.settle,
    c.DispatchTasks: dispatching.dispatch_tasks,
    c.AssignTask: dispatching.assign,
    c.DropWake: dispatching.drop_wake,
    c.StartTask: task.start,
    c.DeadLetterTask: task.dead_letter,
    c.RetryDeadLetter: task.retry_dead_letter,
    c.RequeueRun: task.requeue,
    c.FinishTask: task.finish,
    c.RerunTasks: rerun.rerun_tasks,
    c.CreateCandidate: verification.create,
    c.RecordComposition: verification.record_composition,
    c.RejectComposition: verification.reject_composition,
    c.RecordEvidence: verification.record_evidence,
    c.MarkStale: verification.mark_stale,
    c.ApproveCandidate: approval.approve,
    c.RejectCandidate: approval.reject,
    c.RequestPromotion: promotion.request,
    c.RecordPromotion: promotion.record,
    c.RefusePromotion: promotion.refuse,
    c.RecordExport: promotion.export,
    c.EndRelease: release.end,
}

COMMANDS: Final = (c.CreateChange, *_DECISIONS)
"""Every command of a Change."""


def decide(state: ChangeState | None, command: Command) -> tuple[Event, ...]:
    """The events that `command` leads to; `()` means already so.

    Raises:
        DomainError: the rules refuse it (`domain.change.error`, `domain.kernel.errors`).
    """
    if isinstance(command, c.CreateChange):
        return intake.create(state, command)
    decision = _DECISIONS.get(type(command))
    if decision is None:
        raise InvalidInput(f"{type(command).__name__} isn't a command of a Change")
    if state is None:
        raise NotFound("Change", command.correlation or "of that ID")
    return decision(state, command)


CHANGE: Final = Decider(decide, evolve)
