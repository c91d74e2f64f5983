"""Composing a candidate: ChangeSets merged in Work Graph order; the same inputs give the same commit."""

from typing import Any

from commands.checks.project_file import outputs_in_the_way, read_project_file
from commands.document import plan_of
from commands.perform.merging import conflicts_of, files_of, merge_changesets
from commands.perform.performance import Performance
from commands.ports.git import Canonical, Merge
from commands.unit import Unit
from domain.change.command import RecordComposition, RejectComposition
from domain.change.state import CandidateState, ChangeState
from domain.change.status import CandidateStatus
from domain.judge import ChangedPath, tier_raises, verification_plan
from domain.policy import Policy


def perform_compose(performance: Performance) -> None:
    """Compose, plan the verification from what the composition changed, and record both; or reject with the files."""
    ctx, effect = performance.ctx, performance.effect
    assert effect.change is not None
    change = effect.change
    state: ChangeState = ctx.writer.state(change)
    candidate = state.candidates[str(effect.payload["candidate"])]
    if candidate.status != CandidateStatus.COMPOSING:
        return
    canonical = ctx.canonicals.open(effect.project)
    plan = plan_of(ctx.objects, state)
    merge = merge_changesets(canonical, plan, state, candidate.base_commit, candidate.changesets)
    if merge.commit is None or merge.tree is None:
        performance.record(lambda unit, bookkeeping: _reject(unit, state, candidate, merge, bookkeeping))
        return
    canonical.pin(f"refs/rhumb/cand/{candidate.id}", merge.commit)
    hidden = outputs_in_the_way(state.setup, canonical.paths(merge.commit)) if state.setup else ()
    if hidden:
        performance.record(lambda unit, bookkeeping: _incompatible(unit, change, candidate, hidden, bookkeeping))
        return
    files = canonical.changed(candidate.base_commit, merge.commit)
    changed = [ChangedPath(path=file.path, kind=file.kind) for file in files]
    policy = _policy(performance, canonical, state)
    command = {
        "candidate": candidate.id,
        "commit": merge.commit,
        "tree": merge.tree,
        "plan": verification_plan(state.checks, changed),
        "raises": tier_raises(changed, policy, state.checks),
    }
    performance.record(
        lambda unit, bookkeeping: _decide(unit, change, RecordComposition(**bookkeeping, **command)),
    )


def _policy(performance: Performance, canonical: Canonical, state: ChangeState) -> Policy:
    """The project's policy with what the base's settings protect beside it."""

    def read(path: str, limit: int) -> bytes | None:
        return canonical.read_file(state.base_commit, path, limit)

    policy: Policy = performance.ctx.writer.state(state.project).policy
    protected = read_project_file(canonical.paths(state.base_commit), read).protected
    return policy.model_copy(update={"protected_resources": (*policy.protected_resources, *protected)})


def _incompatible(
    unit: Unit, change: str, candidate: CandidateState, hidden: tuple[str, ...], bookkeeping: dict[str, Any]
) -> None:
    """What the set-up step's outputs would hide is never judged, so it can't ship."""
    unit.decide(
        change,
        RejectComposition(
            **bookkeeping,
            candidate=candidate.id,
            reason="incompatible",
            policy=unit.state(unit.state(change).project).policy,
            detail=f"files lie where the set-up step's outputs go: {', '.join(hidden[:10])}",
        ),
    )


def _decide(unit: Unit, change: str, command: RecordComposition) -> None:
    unit.decide(change, command)


def _reject(
    unit: Unit, state: ChangeState, candidate: CandidateState, merge: Merge, bookkeeping: dict[str, Any]
) -> None:
    conflicts = conflicts_of(state, candidate.changesets, merge)
    unit.decide(
        state.id,
        RejectComposition(
            **bookkeeping,
            candidate=candidate.id,
            reason="file_conflict",
            detail=f"the work doesn't merge in {files_of(conflicts)}",
            conflicts=conflicts,
            policy=unit.state(state.project).policy,
        ),
    )
