"""Candidates: composed onto a base, judged by Evidence of Rhumbline's own runs, overtaken by canonical."""

from typing import Final

from domain.change.command import (
    CreateCandidate,
    MarkStale,
    RecordComposition,
    RecordEvidence,
    RejectComposition,
    TierRaise,
)
from domain.change.draft import Draft
from domain.change.error import BaseOvertaken, NotComposed, TooManyCandidates, UnplannedEvidence
from domain.change.event import (
    ApprovalLapsed,
    CandidateComposed,
    CandidateCreated,
    CandidateRejected,
    CandidateStale,
    CandidateVerified,
    ChangeBlocked,
    EvidenceRecorded,
    RejectReason,
    TierRaised,
)
from domain.change.graph import (
    candidate_of,
    changesets_in_order,
    live_candidates,
    verified_candidates,
    waiting_stale,
)
from domain.change.guard import require_status
from domain.change.planning import describe_failure
from domain.change.rerun import reject_for_rerun
from domain.change.selection import select
from domain.change.state import CandidateState, ChangeState
from domain.change.status import MAX_LIVE_CANDIDATES, CandidateStatus, ChangeStatus
from domain.check import Variant
from domain.kernel.event import Event
from domain.kernel.ids import candidate_id
from domain.plan import RiskTier

MAX_RECOMPOSES: Final = 6
"""How often a lineage recomposes after promotions of others (seed 001, part 3)."""

OVERTAKEN: Final = (
    "Other requests were promoted before this one six times, and its work was composed anew each time. "
    "Raise the budget to try on, or submit it again."
)


def create(state: ChangeState, command: CreateCandidate) -> tuple[Event, ...]:
    """Compose all ChangeSets in Work Graph order; the same inputs name the same Candidate, which exists once.

    In a verifying Change every Task is completed: `verification.started` and re-runs see to that.
    """
    ordered = tuple(changeset.id for changeset in changesets_in_order(state))
    identifier = candidate_id(state.id, command.base_generation, command.base_commit, ordered)
    if identifier in state.candidates or (state.status is ChangeStatus.BLOCKED and state.reason == OVERTAKEN):
        return ()
    require_status(state, "a Candidate is composed", ChangeStatus.VERIFYING)
    latest = max((c.base_generation for c in state.candidates.values()), default=command.base_generation)
    if command.base_generation < latest:
        raise BaseOvertaken(state.id, command.base_generation, latest)
    live = live_candidates(state)
    if len(live) >= MAX_LIVE_CANDIDATES:
        raise TooManyCandidates(state.id, len(live))
    stale = waiting_stale(state) if command.recomposes is None else candidate_of(state, command.recomposes)
    recompositions = _recompositions(state, stale, command.after_import)
    if recompositions > MAX_RECOMPOSES:
        return () if live else (ChangeBlocked(reason=OVERTAKEN),)
    created = CandidateCreated(
        candidate=identifier,
        base_generation=command.base_generation,
        base_commit=command.base_commit,
        changesets=ordered,
        recomposes=stale.id if stale else None,
        recompositions=recompositions,
    )
    return (created,)


def _recompositions(state: ChangeState, stale: CandidateState | None, after_import: bool) -> int:
    """Only promotions of others count, and a person's raise starts a new lineage (SEED-NOTES)."""
    if stale is None or state.fresh_lineage:
        return 0
    return stale.recompositions + (not after_import)


def record_composition(state: ChangeState, command: RecordComposition) -> tuple[Event, ...]:
    """The composition lies in canonical. A result that comes after the Candidate went stale or ended is dropped."""
    candidate = candidate_of(state, command.candidate)
    if candidate.status is not CandidateStatus.COMPOSING:
        return ()
    draft = Draft(state)
    draft.record(CandidateComposed(candidate=candidate.id, commit=command.commit, tree=command.tree, plan=command.plan))
    for raised in command.raises:
        _raise_tier(draft, raised)
    if not command.plan:
        _reject(draft, candidate, RejectReason.EVIDENCE_GAP, "no check judges it")
    return draft.events


def _raise_tier(draft: Draft, raised: TierRaise) -> None:
    """Tiers only rise. Each reason for the present tier is recorded once, so that a person sees all of them."""
    tier = draft.state.tier
    event = TierRaised(tier=raised.tier, reason=raised.reason, files=raised.files)
    if (tier is None or raised.tier.rank >= tier.rank) and event not in draft.state.raises:
        draft.record(event)


def reject_composition(state: ChangeState, command: RejectComposition) -> tuple[Event, ...]:
    """It can't be composed; or the Sandbox budget ended while it was verified."""
    candidate = candidate_of(state, command.candidate)
    reason = RejectReason(command.reason)
    spent_in_verification = candidate.status is CandidateStatus.VERIFYING and reason is RejectReason.SANDBOX_BUDGET
    if candidate.status is not CandidateStatus.COMPOSING and not spent_in_verification:
        return ()
    draft = Draft(state)
    draft.record(
        CandidateRejected(candidate=candidate.id, reason=reason, detail=command.detail, conflicts=command.conflicts)
    )
    select(draft, candidate, command.policy)
    return draft.events


def record_evidence(state: ChangeState, command: RecordEvidence) -> tuple[Event, ...]:
    """One piece for each line of the plan, the first one stands; the last piece decides the Candidate."""
    candidate = candidate_of(state, command.candidate)
    if candidate.status is CandidateStatus.COMPOSING:
        raise NotComposed(candidate.id)
    if candidate.status is not CandidateStatus.VERIFYING or command.evidence.key in candidate.evidence:
        return ()
    if command.evidence.key not in {line.key for line in candidate.plan}:
        raise UnplannedEvidence(candidate.id, command.evidence.key)
    draft = Draft(state)
    draft.record(EvidenceRecorded(candidate=candidate.id, evidence=command.evidence))
    if len(draft.state.candidates[candidate.id].evidence) == len({line.key for line in candidate.plan}):
        _judge(draft, draft.state.candidates[candidate.id])
        select(draft, candidate, command.policy)
    return draft.events


def _judge(draft: Draft, candidate: CandidateState) -> None:
    """Every required check passes on the Candidate as it is; what passes only with its own judges raises the tier."""
    as_is = {e.check: e for e in candidate.evidence.values() if e.variant is Variant.AS_IS}
    failed = [describe_failure(evidence) for evidence in as_is.values() if not evidence.passed]
    missing = [check.name for check in draft.state.checks if check.name not in as_is]
    if failed:
        _reject(draft, candidate, RejectReason.CHECK_FAILED, "; ".join(failed))
        return
    if missing:
        _reject(draft, candidate, RejectReason.EVIDENCE_GAP, f"there is no evidence of {', '.join(missing)}")
        return
    files = candidate.judges_files
    if files:
        _raise_tier(
            draft,
            TierRaise(tier=RiskTier.HIGH, reason="its checks fail with the base's version of these files", files=files),
        )
    draft.record(CandidateVerified(candidate=candidate.id))


def _reject(draft: Draft, candidate: CandidateState, reason: RejectReason, detail: str) -> None:
    draft.record(CandidateRejected(candidate=candidate.id, reason=reason, detail=detail))


def mark_stale(state: ChangeState, command: MarkStale) -> tuple[Event, ...]:
    """Canonical advanced: every live Candidate on an earlier base is stale, but not one in its compare-and-swap.

    In a running or budget_blocked Change it is rejected: its Tasks run again (SEED-NOTES).
    """
    draft = Draft(state)
    for candidate in live_candidates(state):
        if candidate.base_generation < command.generation and candidate.id != state.promoting:
            overtake(draft, candidate, command.generation)
    lapse(draft)
    return draft.events


def overtake(draft: Draft, candidate: CandidateState, generation: int) -> None:
    draft.record(CandidateStale(candidate=candidate.id, generation=generation))
    if draft.state.status in (ChangeStatus.RUNNING, ChangeStatus.BUDGET_BLOCKED):
        reject_for_rerun(draft, candidate)


def lapse(draft: Draft) -> None:
    """A request for approval lapses when no verified Candidate is left."""
    if draft.state.status is ChangeStatus.AWAITING_APPROVAL and not verified_candidates(draft.state):
        draft.record(ApprovalLapsed(reason="no verified Candidate is left"))
