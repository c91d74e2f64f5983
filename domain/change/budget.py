"""Raising the budget of a Change: upwards only, and what money stopped goes on (seed 001, POST …/budget)."""

from domain.change.command import RaiseBudget
from domain.change.draft import Draft
from domain.change.error import BudgetOnlyRises
from domain.change.event import BudgetRaised, CompileStarted, RejectReason
from domain.change.guard import require_open, require_requester_or_manager
from domain.change.progress import newest_rejection, resume
from domain.change.rerun import reruns_used_up
from domain.change.state import ChangeState
from domain.change.status import ChangeStatus
from domain.kernel.event import Event


def raise_budget(state: ChangeState, command: RaiseBudget) -> tuple[Event, ...]:
    """By the requester, an owner or an admin. Naming the present budget again changes nothing."""
    require_requester_or_manager(state, command, command.role, "raising the budget of")
    if command.budget == state.budget:
        return ()
    require_open(state)
    if command.budget < state.budget:
        raise BudgetOnlyRises(state.id, state.budget, command.budget)
    draft = Draft(state)
    if state.status is ChangeStatus.BUDGET_BLOCKED and not state.tasks:
        draft.record(BudgetRaised(budget=command.budget, target=ChangeStatus.COMPILING))
        draft.record(CompileStarted(compile=state.compile + 1))
    elif state.status in (ChangeStatus.BUDGET_BLOCKED, ChangeStatus.RUNNING):
        resume(draft, command.budget)
    elif state.status is ChangeStatus.BLOCKED and not _conflict_without_rerun(state):
        draft.record(BudgetRaised(budget=command.budget, target=ChangeStatus.VERIFYING))
    else:
        draft.record(BudgetRaised(budget=command.budget, target=state.status))
    return draft.events


def _conflict_without_rerun(state: ChangeState) -> bool:
    """After 4 re-runs a raise does nothing: cancel, and submit again (SEED-NOTES, "Candidates and canonical")."""
    newest = newest_rejection(state)
    return reruns_used_up(state) and newest is not None and newest.reason is RejectReason.FILE_CONFLICT
