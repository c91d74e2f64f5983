"""Folding the events of a Change: every status moves along its table; a log that doesn't is refused."""

from collections.abc import Callable
from typing import Any, Final

from domain.change import event as e
from domain.change.evolve_candidate import CANDIDATE_EVENTS
from domain.change.evolve_task import TASK_EVENTS, changeset_proposed, task_created
from domain.change.state import CandidateState, ChangeState, TaskState
from domain.change.status import CANDIDATE_TABLE, CHANGE_TABLE, CandidateStatus, ChangeStatus
from domain.kernel.changed import changed
from domain.kernel.errors import ImpossibleHistory, UnknownEvent
from domain.kernel.event import Event


def evolve(state: ChangeState | None, event: Event) -> ChangeState:
    """The state after `event`.

    Raises:
        UnknownEvent: not an event of a Change.
        ImpossibleHistory: the transition tables have no such move, or it is about something that isn't there.
    """
    if isinstance(event, e.ChangeCreated):
        return _created(state, event)
    kind = type(event)
    if kind not in _CHANGE_EVENTS and kind not in TASK_EVENTS and kind not in CANDIDATE_EVENTS:
        raise UnknownEvent(f"Change {state.id if state else '?'}: {event.type}")
    if state is None:
        raise ImpossibleHistory(f"a Change's log starts with {event.type}")
    if kind in TASK_EVENTS:
        return _of_task(state, event)
    if kind in CANDIDATE_EVENTS:
        return _of_candidate(state, event)
    return _CHANGE_EVENTS[kind](state, event)


def _of_task(state: ChangeState, event: Any) -> ChangeState:
    task: TaskState | None = state.tasks.get(event.task)
    if task is None:
        raise ImpossibleHistory(f"Change {state.id}: {event.type} of an unknown Task {event.task}")
    after = TASK_EVENTS[type(event)](task, event)
    spent = state.spent + (getattr(event, "cost", None) or 0)
    moved = changed(state, tasks={**state.tasks, task.id: after}, spent=spent)
    if isinstance(event, e.TaskBlocked):
        stopped = changed(after, left_when_stopped=moved.left)
        return changed(moved, tasks={**moved.tasks, task.id: stopped})
    return moved


def _of_candidate(state: ChangeState, event: Any) -> ChangeState:
    candidate: CandidateState | None = state.candidates.get(event.candidate)
    if candidate is None:
        raise ImpossibleHistory(f"Change {state.id}: {event.type} of an unknown Candidate {event.candidate}")
    after = CANDIDATE_EVENTS[type(event)](candidate, event)
    moved = changed(state, candidates={**state.candidates, candidate.id: after})
    return _ALSO_MOVES_THE_CHANGE[type(event)](moved, event) if type(event) in _ALSO_MOVES_THE_CHANGE else moved


def _moved(state: ChangeState, event: Event, target: str | None = None) -> ChangeStatus:
    return ChangeStatus(CHANGE_TABLE.after(state.id, state.status, event.type, target))


def _created(state: ChangeState | None, event: e.ChangeCreated) -> ChangeState:
    source = state.status if state else None
    return ChangeState(
        id=event.change,
        project=event.project,
        requester=event.requester,
        client_request_id=event.client_request_id,
        goal=event.goal,
        settings=event.settings,
        base_generation=event.base_generation,
        base_commit=event.base_commit,
        budget=event.budget,
        first_budget=event.budget,
        policy=event.policy,
        requested_plan=event.plan,
        requested_checks=event.checks,
        start_planning=event.start_planning,
        allow_red_base=event.allow_red_base,
        approved_in_advance_by=event.approved_in_advance_by,
        sandboxed=event.sandboxed,
        status=ChangeStatus(CHANGE_TABLE.after(event.change, source, event.type)),
    )


def _compile_started(state: ChangeState, event: e.CompileStarted) -> ChangeState:
    if event.compile != state.compile + 1:
        raise ImpossibleHistory(f"Change {state.id}: compile {event.compile} follows {state.compile}")
    # After a raise while planning the Change is compiling already: this only counts.
    status = state.status if state.status is ChangeStatus.COMPILING and state.compile else _moved(state, event)
    return changed(state, status=status, compile=event.compile)


def _base_verified(state: ChangeState, event: e.BaseVerified) -> ChangeState:
    return changed(state, base_verified=True)


def _compiled(state: ChangeState, event: e.ChangeCompiled) -> ChangeState:
    return changed(
        state,
        status=_moved(state, event),
        plan=event.plan,
        planned_tier=event.risk_tier,
        tier=event.risk_tier,
        human_approval_required=event.human_approval_required,
        destructive_migration=event.destructive_migration,
        checks=event.checks,
        setup=event.setup,
        spent=state.spent + (event.cost or 0),
    )


def _tier_raised(state: ChangeState, event: e.TierRaised) -> ChangeState:
    if state.tier is not None and event.tier.rank < state.tier.rank:
        raise ImpossibleHistory(f"Change {state.id}: the tier {state.tier} can't be raised to {event.tier}")
    return changed(state, tier=event.tier, raises=(*state.raises, event))


def _stopped(state: ChangeState, event: e.ChangeFailed | e.ChangeBlocked | e.ChangeBudgetBlocked) -> ChangeState:
    return changed(state, status=_moved(state, event), reason=event.reason)


def _ended(state: ChangeState, event: e.ChangeCancelled | e.ChangeCompleted) -> ChangeState:
    return changed(state, status=_moved(state, event))


def _budget_raised(state: ChangeState, event: e.BudgetRaised) -> ChangeState:
    if event.budget < state.budget:
        raise ImpossibleHistory(f"Change {state.id}: the budget goes down from {state.budget} to {event.budget}")
    moves = event.target is not state.status
    verifies = event.target is ChangeStatus.VERIFYING
    return changed(
        state,
        status=_moved(state, event, event.target) if moves else state.status,
        budget=event.budget,
        fresh_lineage=state.fresh_lineage or verifies,
        raised_while_promoting=event.target is ChangeStatus.PROMOTING,
        reason="" if moves else state.reason,
    )


def _task_created(state: ChangeState, event: e.TaskCreated) -> ChangeState:
    if event.task in state.tasks:
        raise ImpossibleHistory(f"Change {state.id}: Task {event.task} is created twice")
    return changed(state, tasks={**state.tasks, event.task: task_created(event)})


def _changeset_proposed(state: ChangeState, event: e.ChangeSetProposed) -> ChangeState:
    task = state.tasks.get(event.task)
    if task is None or event.changeset in state.changesets:
        raise ImpossibleHistory(f"Change {state.id}: ChangeSet {event.changeset} is proposed twice or by no Task")
    proposed = changeset_proposed(event)
    return changed(
        state,
        changesets={**state.changesets, proposed.id: proposed},
        tasks={**state.tasks, task.id: changed(task, changeset=proposed.id)},
    )


def _verification_started(state: ChangeState, event: e.VerificationStarted) -> ChangeState:
    return changed(state, status=_moved(state, event), round=state.round + 1)


def _tasks_rerun(state: ChangeState, event: e.TasksRerun) -> ChangeState:
    # A re-run from a running Change (a dependency that doesn't merge) keeps it running.
    status = state.status if state.status is ChangeStatus.RUNNING else _moved(state, event)
    candidates = state.candidates
    if event.candidate is not None:
        if event.candidate not in candidates:
            raise ImpossibleHistory(f"Change {state.id}: re-run for an unknown Candidate {event.candidate}")
        candidates = {**candidates, event.candidate: changed(candidates[event.candidate], rerun=True)}
    restack = event.trigger == "dependency_merge_conflict"
    conflict = event.trigger in ("file_conflict", "rebase")
    return changed(
        state,
        status=status,
        candidates=candidates,
        restacks=state.restacks + restack,
        reruns=state.reruns + conflict,
    )


def _candidate_created(state: ChangeState, event: e.CandidateCreated) -> ChangeState:
    if event.candidate in state.candidates:
        raise ImpossibleHistory(f"Change {state.id}: Candidate {event.candidate} is created twice")
    candidates = dict(state.candidates)
    if event.recomposes is not None:
        candidates[event.recomposes] = changed(candidates[event.recomposes], recomposed=True)
    candidates[event.candidate] = CandidateState(
        id=event.candidate,
        base_generation=event.base_generation,
        base_commit=event.base_commit,
        changesets=event.changesets,
        status=CandidateStatus(CANDIDATE_TABLE.after(event.candidate, None, event.type)),
        round=state.round,
        recompositions=event.recompositions,
    )
    return changed(state, candidates=candidates, fresh_lineage=False)


def _approval_requested(state: ChangeState, event: e.ApprovalRequested) -> ChangeState:
    # A gated winner of a running or budget_blocked Change can be shipped by a person; the Change goes on as it is.
    if state.status in (ChangeStatus.RUNNING, ChangeStatus.BUDGET_BLOCKED):
        return state
    return changed(state, status=_moved(state, event))


def _approval_lapsed(state: ChangeState, event: e.ApprovalLapsed) -> ChangeState:
    return changed(state, status=_moved(state, event))


def _promotion_requested(state: ChangeState, event: e.PromotionRequested) -> ChangeState:
    if event.before is not state.status:
        raise ImpossibleHistory(f"Change {state.id}: promotion from {event.before}, but it is {state.status}")
    return changed(state, status=_moved(state, event), promoting=event.candidate, before=event.before)


def _promotion_refused(state: ChangeState, event: e.PromotionRefused) -> ChangeState:
    return changed(state, status=_moved(state, event, event.target), promoting=None, before=None)


def _candidate_promoted(state: ChangeState, event: e.CandidatePromoted) -> ChangeState:
    if state.promoting != event.candidate:
        raise ImpossibleHistory(f"Change {state.id}: {event.candidate} is promoted, but not in its compare-and-swap")
    return changed(state, promoting=None, before=None)


def _build_started(state: ChangeState, event: e.BuildStarted) -> ChangeState:
    return changed(state, status=_moved(state, event), release=event.release)


_ALSO_MOVES_THE_CHANGE: Final[dict[type[Event], Callable[[ChangeState, Any], ChangeState]]] = {
    e.ApprovalRequested: _approval_requested,
    e.PromotionRequested: _promotion_requested,
    e.PromotionRefused: _promotion_refused,
    e.CandidatePromoted: _candidate_promoted,
}
"""Events of a Candidate that also move its Change."""

_CHANGE_EVENTS: Final[dict[type[Event], Callable[[ChangeState, Any], ChangeState]]] = {
    e.CompileStarted: _compile_started,
    e.BaseVerified: _base_verified,
    e.ChangeCompiled: _compiled,
    e.TierRaised: _tier_raised,
    e.ChangeFailed: _stopped,
    e.ChangeBlocked: _stopped,
    e.ChangeBudgetBlocked: _stopped,
    e.ChangeCancelled: _ended,
    e.ChangeCompleted: _ended,
    e.BudgetRaised: _budget_raised,
    e.TaskCreated: _task_created,
    e.ChangeSetProposed: _changeset_proposed,
    e.VerificationStarted: _verification_started,
    e.TasksRerun: _tasks_rerun,
    e.CandidateCreated: _candidate_created,
    e.ApprovalLapsed: _approval_lapsed,
    e.BuildStarted: _build_started,
}
