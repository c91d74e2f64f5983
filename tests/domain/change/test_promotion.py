"""A person's word, promotion, and the ends."""

import pytest

from domain.change.decide import CHANGE
from domain.change.error import (
    ApprovalMissing,
    BudgetOnlyRises,
    CandidateGone,
    ChangeEnded,
    NotAllowed,
    NotCancellable,
    NothingToApprove,
    SiblingsOpen,
)
from domain.change.event import (
    ApprovalGranted,
    ApprovalLapsed,
    BranchExported,
    BudgetRaised,
    BuildStarted,
    CandidatePromoted,
    CandidateRejected,
    CandidateStale,
    ChangeCancelled,
    ChangeCompleted,
    ChangeFailed,
    PromotionRefused,
    PromotionRequested,
    RejectReason,
    TaskCancelled,
    TaskUnblocked,
)
from domain.change.status import CANCELLABLE_FROM, CHANGE_TABLE, PROMOTABLE_FROM, ChangeStatus, TaskStatus
from domain.change.waiting import waits_for
from domain.kernel.ids import run_id
from domain.plan import RiskTier
from domain.policy import DEFAULT_POLICY, Policy, gate
from domain.project.role import Role
from tests.domain.change import make as m
from tests.domain.change.test_table import CHANGES
from tests.support.decider import scenarios

given = scenarios(CHANGE)
GATED = {"risk_tier": RiskTier.HIGH}


def overlapping(**fields: object) -> m.Story:
    """A verified, selected Candidate in a Change whose Task runs again."""
    story = m.with_candidate(**fields)  # type: ignore[arg-type]
    of = story.newest
    return story.do(m.composed(of), m.rerun("integrate", ("t1", ())), m.judged(of)).begin("t1")


def test_an_ungated_winner_promotes_on_its_own() -> None:
    story = m.selected()
    given(*story.events).when(m.promote(story.newest)).then(
        PromotionRequested(candidate=story.newest, trigger="auto", before=ChangeStatus.VERIFYING)
    )


def test_a_gated_one_needs_an_approval_which_belongs_to_this_candidate() -> None:
    story = m.selected(**GATED)
    first = story.newest
    given(*story.events).when(m.promote(first, "person", Role.OWNER)).then_raises(ApprovalMissing)
    given(*story.events).when(m.approve(first, Role.MEMBER)).then_raises(NotAllowed)
    given(*story.events).when(m.approve(first)).then(ApprovalGranted(candidate=first))
    story.do(m.approve(first), m.stale(2), m.candidate(2))
    story.do(m.composed(story.newest), m.judged(story.newest))
    given(*story.events).when(m.promote(story.newest, "person", Role.OWNER)).then_raises(ApprovalMissing)
    given(*story.events).when(m.promote(first, "person", Role.OWNER)).then_raises(CandidateGone)


def test_only_where_it_was_asked_for() -> None:
    story = m.selected()
    given(*story.events).when(m.approve(story.newest)).then_raises(NothingToApprove)


def test_a_person_must_manage_the_project_to_promote() -> None:
    story = m.selected()
    given(*story.events).when(m.promote(story.newest, "person", Role.MEMBER)).then_raises(NotAllowed)


def test_a_sibling_that_composes_holds_the_winner_back() -> None:
    story = overlapping().complete_started("t1").do(m.candidate())
    winner = next(iter(story.state.candidates))
    given(*story.events).when(m.promote(winner)).then_raises(SiblingsOpen)


@pytest.mark.parametrize(
    ("fields", "trigger"),
    [
        ({"risk_tier": RiskTier.HIGH}, "policy"),
        ({"risk_tier": None}, "policy"),
        ({"human_approval_required": True}, "policy"),
        ({"destructive_migration": True}, "policy"),
    ],
)
def test_what_always_waits_for_a_person(fields: dict[str, object], trigger: str) -> None:
    story = m.selected(**fields)  # type: ignore[arg-type]
    assert story.state.status is ChangeStatus.AWAITING_APPROVAL
    assert story.events[-1].trigger == trigger  # type: ignore[attr-defined]


def test_a_tier_raised_from_none_opens_no_gate() -> None:
    story = m.with_candidate(risk_tier=None)
    raised = m.c.TierRaise(tier=RiskTier.MEDIUM, reason="lock files")
    story.do(m.composed(story.newest, raises=(raised,)), m.judged(story.newest))
    assert story.state.status is ChangeStatus.AWAITING_APPROVAL


def test_the_gate_knows_an_acceptance_shortfall_and_a_policy_that_says_both() -> None:
    both = Policy(name="p", auto_promote_risk_tiers=tuple(RiskTier), human_gate_risk_tiers=(RiskTier.LOW,))
    plain = {"human_approval_required": False, "destructive_migration": False}
    assert gate(DEFAULT_POLICY, RiskTier.LOW, **plain) is None
    shortfall = gate(DEFAULT_POLICY, RiskTier.LOW, acceptance_shortfall=1, **plain)  # type: ignore[arg-type]
    assert shortfall
    assert shortfall.trigger == "acceptance"
    assert gate(both, RiskTier.LOW, **plain)


def test_the_approvers_rejection_ends_the_change_with_a_sentence_of_its_own() -> None:
    story = m.selected(**GATED)
    given(*story.events).when(m.reject(story.newest)).then(
        CandidateRejected(candidate=story.newest, reason=RejectReason.APPROVER, detail="an approver rejected it"),
        ApprovalLapsed(reason="no verified Candidate is left"),
        ChangeFailed(
            phase="verification",
            reason="The approver rejected the work of this request. "
            "Submit the request again with what should be different.",
        ),
    )


def test_a_won_compare_and_swap_cleans_up_and_completes() -> None:
    story = overlapping()
    of = story.newest
    story.do(m.promote(of))
    given(*story.events).when(m.promoted(of)).then(
        CandidatePromoted(candidate=of, generation=2, commit=f"commit-{of}", change_head=m.HEAD),
        TaskCancelled(task=m.task("t1"), run=run_id(m.task("t1"), 2)),
        ChangeCompleted(outcome="promoted"),
    )


def test_with_a_live_app_the_release_ends_the_change() -> None:
    story = m.promoting()
    of = story.newest
    assert given(*story.events).when(m.promoted(of, release="rel_1")).events[-1] == BuildStarted(release="rel_1")
    story.do(m.promoted(of, release="rel_1"))
    for outcome in ("deployed", "superseded"):
        given(*story.events).when(m.end_release(outcome)).then(ChangeCompleted(outcome=outcome))
    given(*story.events).when(m.end_release("failed")).then(
        ChangeFailed(phase="release", reason="the smoke check failed")
    )


def promotable(before: ChangeStatus) -> m.Story:
    if before is ChangeStatus.VERIFYING:
        return m.selected()
    if before is ChangeStatus.AWAITING_APPROVAL:
        story = m.selected(**GATED)
        return story.do(m.approve(story.newest))
    story = overlapping()
    if before is ChangeStatus.BUDGET_BLOCKED:
        story.do(m.finish("t1", story.run_of("t1"), m.stopped()))
    return story


@pytest.mark.parametrize("before", PROMOTABLE_FROM)
def test_a_refused_compare_and_swap_returns_to_the_status_before(before: ChangeStatus) -> None:
    story = promotable(before)
    assert story.state.status is before
    of = story.newest
    story.do(m.promote(of, "person", Role.OWNER))
    given(*story.events).when(m.refused(of)).then(
        PromotionRefused(candidate=of, reason="canonical moved", target=before)
    )
    events = given(*story.events).when(m.refused(of, 2)).events
    assert events[1] == CandidateStale(candidate=of, generation=2)


def test_a_raise_made_while_promoting_is_applied_after_a_refusal() -> None:
    story = promotable(ChangeStatus.BUDGET_BLOCKED)
    of = story.newest
    story.do(m.promote(of), m.raise_budget(20 * m.USD), m.refused(of))
    assert story.state.status is ChangeStatus.BUDGET_BLOCKED
    given(*story.events).when(m.settle()).then(
        BudgetRaised(budget=20 * m.USD, target=ChangeStatus.RUNNING),
        TaskUnblocked(task=m.task("t1"), status=TaskStatus.READY),
    )


def test_tasks_that_end_while_promoting_are_settled_after_a_refusal() -> None:
    story = overlapping()
    of = story.newest
    story.do(m.promote(of)).complete_started("t1")
    assert story.state.status is ChangeStatus.PROMOTING
    story.do(m.refused(of), m.settle())
    assert story.state.status is ChangeStatus.VERIFYING


def test_an_export_that_could_not_be_made_may_succeed_later() -> None:
    story = m.promoting()
    of = story.newest
    story.do(m.promoted(of), m.exported(of, "the branch exists"))
    given(*story.events).when(m.exported(of, "the branch exists")).then_nothing()
    given(*story.events).when(m.exported(of)).then(
        BranchExported(candidate=of, branch="rhumbline/x", commit=f"commit-{of}")
    )


def test_a_budget_goes_up_only_and_by_whom_it_concerns() -> None:
    story = m.running()
    given(*story.events).when(m.raise_budget(1)).then_raises(BudgetOnlyRises)
    given(*story.events).when(m.raise_budget(20 * m.USD, m.STRANGER, Role.MEMBER)).then_raises(NotAllowed)
    given(*story.events).when(m.raise_budget(20 * m.USD, m.STRANGER, Role.ADMIN)).then(
        BudgetRaised(budget=20 * m.USD, target=ChangeStatus.RUNNING)
    )


@pytest.mark.parametrize("status", CANCELLABLE_FROM)
def test_a_cancel_works_from_every_cancellable_status(status: ChangeStatus) -> None:
    story = CHANGES[status]()
    given(*story.events).when(m.cancel(m.STRANGER, Role.MEMBER)).then_raises(NotAllowed)
    assert given(*story.events).when(m.cancel(m.OWNER, Role.OWNER)).events[-1] == ChangeCancelled()


@pytest.mark.parametrize("status", [s for s in ChangeStatus if s not in CANCELLABLE_FROM])
def test_and_from_no_other(status: ChangeStatus) -> None:
    story = CHANGES[status]()
    if status is ChangeStatus.CANCELLED:
        given(*story.events).when(m.cancel()).then_nothing()
    elif status is ChangeStatus.FAILED:
        given(*story.events).when(m.cancel()).then_raises(ChangeEnded)
    else:
        given(*story.events).when(m.cancel()).then_raises(NotCancellable, "can't be cancelled any more")


@pytest.mark.parametrize("status", ChangeStatus)
def test_every_status_says_what_it_waits_for(status: ChangeStatus) -> None:
    sentence = waits_for(CHANGES[status]().state)
    assert sentence.startswith("It waits for")
    assert ("nothing" in sentence) == (status in CHANGE_TABLE.terminal)
