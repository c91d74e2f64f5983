"""What a Change waits for, in one sentence, and what a message must do for it; pure, for handlers and `rhumb why`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from domain.change.event import RejectReason
from domain.change.graph import (
    all_completed,
    at_work,
    failed_tasks,
    live_candidates,
    unsettled,
    verified_candidates,
    waiting_stale,
)
from domain.change.progress import newest_rejection
from domain.change.state import ChangeState
from domain.change.status import MAX_ACTIVE_AGENTS, ChangeStatus
from domain.kernel.money import show_usd


@dataclass(frozen=True, slots=True)
class Due:
    """A command that is due and that no event of this moment leads to. command: its dotted message name."""

    command: str
    candidate: str | None = None


def due(state: ChangeState) -> Due | None:
    """What settle sends after its own events (SEED-NOTES, "Ends"): a Candidate to create, a winner to promote."""
    if state.status is not ChangeStatus.VERIFYING or unsettled(state.candidates.values()):
        return None
    winner = next((c for c in verified_candidates(state) if c.selected), None)
    if winner is not None:
        return None if winner.approval_requested and not winner.approved else Due("candidate.promote", winner.id)
    if live_candidates(state) or newest_rejection(state) is not None:
        return None
    return Due("candidate.create")


def waits_for(state: ChangeState) -> str:
    """One plain sentence: what the Change waits for now, or why it has ended."""
    return _SENTENCES[state.status](state)


def _created(state: ChangeState) -> str:
    if state.start_planning:
        return "It waits for planning to start."
    return "It was submitted without planning and waits for a person to start it."


def _compiling(state: ChangeState) -> str:
    if state.base_verified:
        return "It waits for the plan."
    return "It waits for its checks to run on the base."


def _running(state: ChangeState) -> str:
    if state.active:
        names = ", ".join(task.key for task in state.tasks.values() if task.is_active)
        full = " (every place is taken)" if state.active >= MAX_ACTIVE_AGENTS else ""
        return f"It waits for the agents at work on {names}{full}."
    if at_work(state):
        return f"It waits for an agent to start on {', '.join(task.key for task in at_work(state))}."
    dead = [task.key for task in state.tasks.values() if task.is_dead_letter]
    if dead and not failed_tasks(state):
        return f"It waits for an owner or admin to retry {', '.join(dead)}, which could not be delivered."
    if all_completed(state):
        return "It waits for its verification to start."
    return "It waits to be settled: nothing of it is at work."


def _budget_blocked(state: ChangeState) -> str:
    return f"It waits for a higher budget than {show_usd(state.budget)}: {state.reason}"


def _verifying(state: ChangeState) -> str:
    open_ = unsettled(state.candidates.values())
    if open_:
        checks = [line.key for c in open_ for line in c.plan if line.key not in c.evidence]
        if checks:
            return f"It waits for {', '.join(checks)} on {open_[0].id}."
        return f"It waits for {open_[0].id} to be composed."
    winner = next((c for c in verified_candidates(state) if c.selected), None)
    if winner is not None:
        return f"It waits for the promotion of {winner.id}."
    newest = newest_rejection(state)
    if newest is not None and newest.reason is RejectReason.FILE_CONFLICT:
        return f"It waits for its Tasks to run again: {newest.detail}."
    stale = waiting_stale(state)
    if stale is not None:
        return f"It waits for {stale.id} to be composed anew on what canonical is now."
    return "It waits for its work to be composed."


def _awaiting_approval(state: ChangeState) -> str:
    winner = next((c for c in verified_candidates(state) if c.approval_requested), None)
    if winner is None:
        return "It waits to be settled: no verified Candidate is left to approve."
    if winner.approved:
        return f"It waits for an owner or admin to promote {winner.id}, which is approved."
    return f"It waits for an owner or admin to approve {winner.id}."


def _blocked(state: ChangeState) -> str:
    return f"It waits for its requester, an owner or an admin: {state.reason}"


def _promoting(state: ChangeState) -> str:
    return f"It waits for the compare-and-swap of {state.promoting} on canonical."


def _releasing(state: ChangeState) -> str:
    return f"It waits for the release {state.release}."


def _completed(state: ChangeState) -> str:
    return "It waits for nothing: its work is in canonical."


def _failed(state: ChangeState) -> str:
    return f"It waits for nothing: it failed. {state.reason}"


def _cancelled(state: ChangeState) -> str:
    return "It waits for nothing: it was cancelled."


_SENTENCES: Final[dict[ChangeStatus, Callable[[ChangeState], str]]] = {
    ChangeStatus.CREATED: _created,
    ChangeStatus.COMPILING: _compiling,
    ChangeStatus.RUNNING: _running,
    ChangeStatus.BUDGET_BLOCKED: _budget_blocked,
    ChangeStatus.VERIFYING: _verifying,
    ChangeStatus.AWAITING_APPROVAL: _awaiting_approval,
    ChangeStatus.BLOCKED: _blocked,
    ChangeStatus.PROMOTING: _promoting,
    ChangeStatus.RELEASING: _releasing,
    ChangeStatus.COMPLETED: _completed,
    ChangeStatus.FAILED: _failed,
    ChangeStatus.CANCELLED: _cancelled,
}
