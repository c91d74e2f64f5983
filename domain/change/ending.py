"""The ends of a Change. Every end, and a won compare-and-swap, cleans up the same way (SEED-NOTES, "Ends")."""

from domain.change.command import CancelChange
from domain.change.draft import Draft
from domain.change.error import NotCancellable
from domain.change.event import (
    CandidateRejected,
    ChangeCancelled,
    ChangeFailed,
    RejectReason,
    TaskCancelled,
)
from domain.change.guard import require_open, require_requester_or_manager
from domain.change.state import ChangeState
from domain.change.status import CANCELLABLE_FROM, LIVE_CANDIDATE, OPEN_TASK, CandidateStatus, ChangeStatus
from domain.kernel.event import Event


def clean_up(draft: Draft, why: str) -> None:
    """Stop the agents, cancel every open Task, reject every Candidate that could still ship or wait."""
    for task in draft.state.tasks.values():
        if task.status in OPEN_TASK:
            draft.record(TaskCancelled(task=task.id, run=task.run))
    for candidate in draft.state.candidates.values():
        if candidate.status in (*LIVE_CANDIDATE, CandidateStatus.STALE):
            draft.record(CandidateRejected(candidate=candidate.id, reason=RejectReason.CHANGE_ENDED, detail=why))


def fail(draft: Draft, phase: str, reason: str) -> None:
    """End the Change as failed. phase: planning, checks, setup, tasks, verification or release."""
    clean_up(draft, "the Change failed")
    draft.record(ChangeFailed(phase=phase, reason=reason))


def cancel(state: ChangeState, command: CancelChange) -> tuple[Event, ...]:
    """From every status of CANCELLABLE_FROM; never with a promoted Candidate (seed 001, Change status)."""
    if state.status is ChangeStatus.CANCELLED:
        return ()
    require_requester_or_manager(state, command, command.role, "cancelling")
    if state.promoted is not None:
        raise NotCancellable(state.id, state.status)
    require_open(state)
    if state.status not in CANCELLABLE_FROM:
        raise NotCancellable(state.id, state.status)
    draft = Draft(state)
    clean_up(draft, "the Change was cancelled")
    draft.record(ChangeCancelled())
    return draft.events
