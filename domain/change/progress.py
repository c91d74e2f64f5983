"""Settling: a Change that nothing else moves goes on or ends with its reason (seed 001, settle.ts).

The repair Task of seed 001 (one, before a dead end after a failed check) belongs in `_dead_end`; it isn't built yet.
"""

from domain.change.command import SettleChange
from domain.change.dispatching import dispatch, resumed_status
from domain.change.draft import Draft
from domain.change.ending import fail
from domain.change.event import (
    BlockCause,
    BudgetRaised,
    ChangeBudgetBlocked,
    RejectReason,
    TaskUnblocked,
    VerificationStarted,
)
from domain.change.graph import (
    all_completed,
    at_work,
    failed_tasks,
    live_candidates,
    stopped_by,
    unsettled,
    verified_candidates,
)
from domain.change.rerun import MAX_RESTACKS, on_top_of_earlier, on_top_of_other_dependencies, run_again
from domain.change.selection import ask, gate_of, select
from domain.change.state import CandidateState, ChangeState, TaskState
from domain.change.status import CandidateStatus, ChangeStatus
from domain.change.verification import lapse
from domain.kernel.event import Event
from domain.policy import Policy

MONEY = (BlockCause.BUDGET, BlockCause.LIMIT)


def settle(state: ChangeState, command: SettleChange) -> tuple[Event, ...]:
    """Dispatch first, then judge. What a message must do afterwards, `domain.change.waiting.due` names."""
    draft = Draft(state)
    if state.status is ChangeStatus.BUDGET_BLOCKED and state.raised_while_promoting:
        resume(draft, state.budget)
    elif state.status is ChangeStatus.RUNNING:
        settle_running(draft)
    elif state.status is ChangeStatus.VERIFYING:
        settle_verifying(draft, command.policy)
    elif state.status is ChangeStatus.AWAITING_APPROVAL:
        lapse(draft)
        if draft.state.status is ChangeStatus.VERIFYING:
            settle_verifying(draft, command.policy)
    return draft.events


# -- running -----------------------------------------------------------------------------------------------------


def settle_running(draft: Draft) -> None:
    """Dispatch, re-run dependencies that don't merge, go on with what has money again; then judge."""
    if draft.state.status is not ChangeStatus.RUNNING:
        return
    if draft.state.raised_while_promoting:
        resume(draft, draft.state.budget)
    dispatch(draft)
    _restack(draft)
    _resume_with_room(draft)
    _judge_tasks(draft)


def _restack(draft: Draft) -> None:
    for task in failed_tasks(draft.state):
        reruns = on_top_of_other_dependencies(draft.state, task)
        if reruns and draft.state.restacks < MAX_RESTACKS:
            run_again(draft, reruns, "dependency_merge_conflict")
            return


def _resume_with_room(draft: Draft) -> None:
    """Only spent money blocks: what reserved money of others stopped goes on when some of it came back."""
    for task in stopped_by(draft.state, BlockCause.BUDGET):
        if draft.state.left > max(task.left_when_stopped, 0):
            _unblock(draft, task)
    dispatch(draft)


def _judge_tasks(draft: Draft) -> None:
    """A Change with no Task left to run never stays running, except for dead letters, which wait for a person."""
    state = draft.state
    if all_completed(state):
        draft.record(VerificationStarted(reason="work_graph_completed"))
        return
    if at_work(state):
        return
    failed = failed_tasks(state)
    stopped = stopped_by(state, *MONEY)
    if failed:
        fail(draft, "tasks", _failure_sentence(failed[0]))
    elif stopped:
        draft.record(ChangeBudgetBlocked(reason=f"The Task on {stopped[0].name} stopped: {stopped[0].detail}"))


def _failure_sentence(task: TaskState) -> str:
    return f"The Task on {task.name} failed: {task.detail or task.reason}. Submit the request again."


def resume(draft: Draft, budget: int) -> None:
    """Raise the budget to `budget` and let everything go on that money stopped; the normal dispatch follows."""
    draft.record(BudgetRaised(budget=budget, target=ChangeStatus.RUNNING))
    for task in stopped_by(draft.state, *MONEY):
        _unblock(draft, task)
    dispatch(draft)


def _unblock(draft: Draft, task: TaskState) -> None:
    draft.record(TaskUnblocked(task=task.id, status=resumed_status(draft.state, task)))


# -- verifying ---------------------------------------------------------------------------------------------------


def settle_verifying(draft: Draft, policy: Policy) -> None:
    """Carry on a winner that nobody carries on, run again what didn't merge, or end."""
    if draft.state.status is not ChangeStatus.VERIFYING or unsettled(draft.state.candidates.values()):
        return
    verified = verified_candidates(draft.state)
    if verified:
        _carry_on(draft, verified[-1], policy)
        return
    newest = newest_rejection(draft.state)
    if newest is None:
        return
    reruns = on_top_of_earlier(draft.state, newest.conflicts)
    if newest.reason is RejectReason.FILE_CONFLICT and reruns:
        run_again(draft, reruns, "file_conflict", newest.id)
    else:
        _dead_end(draft, newest)


def _carry_on(draft: Draft, candidate: CandidateState, policy: Policy) -> None:
    if not candidate.selected:
        select(draft, candidate, policy)
        return
    why = gate_of(draft.state, candidate, policy)
    if why is not None:
        ask(draft, candidate, why)


def newest_rejection(state: ChangeState) -> CandidateState | None:
    """The newest Candidate of this verification if all on its base are rejected and none is live; else None.

    A dead end looks only at work whose Candidate exists since the last `verification.started` (SEED-NOTES, "Ends").
    """
    current = [c for c in state.candidates.values() if c.round == state.round]
    if not current or live_candidates(state):
        return None
    latest = max(candidate.base_generation for candidate in current)
    on_latest = [candidate for candidate in current if candidate.base_generation == latest]
    if any(c.status is not CandidateStatus.REJECTED or c.reason is RejectReason.CHANGE_ENDED for c in on_latest):
        return None
    return on_latest[-1]


def _dead_end(draft: Draft, newest: CandidateState) -> None:
    latest = [c for c in draft.state.candidates.values() if c.base == newest.base and c.round == newest.round]
    fail(draft, "verification", _dead_end_sentence(newest, latest))


def _dead_end_sentence(newest: CandidateState, latest: list[CandidateState]) -> str:
    reasons = {candidate.reason for candidate in latest}
    if RejectReason.APPROVER in reasons:
        return "The approver rejected the work of this request. Submit the request again with what should be different."
    if newest.reason in (RejectReason.FILE_CONFLICT, RejectReason.INCOMPATIBLE):
        return f"The agents' work did not merge ({newest.detail}). Submit the request again."
    if newest.reason is RejectReason.SANDBOX_BUDGET:
        return f"The Sandbox budget ended before the work was verified: {newest.detail}. Submit the request again."
    details = "; ".join(dict.fromkeys(candidate.detail for candidate in latest))
    return f"No Candidate passed its required checks: {details}. Submit the request again."


def dead_end(draft: Draft) -> None:
    """End a verifying Change in which no Candidate can ship any more, for a decision that knows it has none left."""
    newest = newest_rejection(draft.state)
    if draft.state.status is ChangeStatus.VERIFYING and newest and newest.reason is not RejectReason.FILE_CONFLICT:
        _dead_end(draft, newest)
