"""Candidates: composed, judged, overtaken, selected."""

from domain.change.decide import CHANGE
from domain.change.error import BaseOvertaken, NotComposed, TooManyCandidates, UnplannedEvidence, WrongStatus
from domain.change.event import (
    ApprovalLapsed,
    ApprovalRequested,
    CandidateComposed,
    CandidateCreated,
    CandidateRejected,
    CandidateSelected,
    CandidateStale,
    CandidateVerified,
    ChangeBlocked,
    ChangeFailed,
    EvidenceRecorded,
    RejectReason,
    TierRaised,
)
from domain.change.rerun import NOT_MERGED
from domain.change.status import CandidateStatus, ChangeStatus
from domain.change.verification import OVERTAKEN
from domain.change.waiting import Due, due
from domain.check import Variant
from domain.kernel.ids import changeset_id, run_id
from domain.plan import RiskTier, TaskKind
from tests.domain.change import make as m
from tests.support.decider import scenarios

given = scenarios(CHANGE)
JUDGED = (m.line(), m.line("tests", "conftest.py"))
BASE_FAILS = m.evidence(code=1, variant=Variant.BASE_JUDGES)


def changeset(key: str, attempt: int = 1) -> str:
    return changeset_id(run_id(m.task(key), attempt))


def test_a_candidate_holds_all_changesets_in_work_graph_order() -> None:
    tasks = (m.planned("t1", "t2"), m.planned("t2"), m.planned("t3", kind=TaskKind.IMPLEMENT))
    story = m.running(*tasks).complete("t2", "t3", "t1")
    events = given(*story.events).when(m.candidate()).events
    assert isinstance(events[0], CandidateCreated)
    assert events[0].changesets == (changeset("t2"), changeset("t1"), changeset("t3"))


def test_the_same_work_on_the_same_base_is_one_candidate_for_ever() -> None:
    story = m.with_candidate()
    given(*story.events).when(m.candidate()).then_nothing()
    story.do(m.not_composed(story.newest, "incompatible"))
    given(*story.events).when(m.candidate()).then_nothing()


def test_nothing_is_composed_while_tasks_run_or_onto_an_earlier_base() -> None:
    given(*m.running().events).when(m.candidate()).then_raises(WrongStatus)
    story = m.verifying().do(m.candidate(5), m.stale(6))
    given(*story.events).when(m.candidate(4)).then_raises(BaseOvertaken)


def test_at_most_three_are_live() -> None:
    story = m.verifying().do(m.candidate(1), m.candidate(2), m.candidate(3))
    given(*story.events).when(m.candidate(4)).then_raises(TooManyCandidates, "wait until one of them settles")


def test_a_composition_keeps_each_reason_for_a_tier_that_is_no_lower() -> None:
    story = m.with_candidate()
    raises = (
        m.c.TierRaise(tier=RiskTier.HIGH, reason="lock files", files=("a.lock",)),
        m.c.TierRaise(tier=RiskTier.HIGH, reason="lock files", files=("a.lock",)),
        m.c.TierRaise(tier=RiskTier.HIGH, reason="settings", files=("ci.yml",)),
        m.c.TierRaise(tier=RiskTier.LOW, reason="nothing new"),
    )
    command = m.composed(story.newest, raises=raises)
    given(*story.events).when(command).then(
        CandidateComposed(candidate=story.newest, commit=command.commit, tree="tree", plan=(m.line(),)),
        TierRaised(tier=RiskTier.HIGH, reason="lock files", files=("a.lock",)),
        TierRaised(tier=RiskTier.HIGH, reason="settings", files=("ci.yml",)),
    )
    state = given(*story.events).when(command).state
    assert [raised.files for raised in state.raises] == [("a.lock",), ("ci.yml",)]


def test_passing_evidence_verifies_and_selects() -> None:
    story = m.with_candidate()
    story.do(m.composed(story.newest))
    given(*story.events).when(m.judged(story.newest)).then(
        EvidenceRecorded(candidate=story.newest, evidence=m.evidence()),
        CandidateVerified(candidate=story.newest),
        CandidateSelected(candidate=story.newest, gated=False),
    )
    assert due(story.do(m.judged(story.newest)).state) == Due("candidate.promote", story.newest)


def test_only_the_last_piece_decides() -> None:
    story = m.with_candidate(checks=(m.TESTS, m.LINT))
    story.do(m.composed(story.newest, m.line(), m.line("lint")))
    failing = m.evidence(code=1)
    given(*story.events).when(m.judged(story.newest, failing)).then(
        EvidenceRecorded(candidate=story.newest, evidence=failing)
    )
    story.do(m.judged(story.newest, failing), m.judged(story.newest, m.evidence("lint")))
    candidate = story.state.candidates[story.newest]
    assert (candidate.reason, candidate.detail) == (RejectReason.CHECK_FAILED, "tests exited with code 1")


def test_a_killed_check_is_named_with_its_reason() -> None:
    story = m.with_candidate()
    story.do(m.composed(story.newest), m.judged(story.newest, m.evidence(code=None, killed="time")))
    assert story.state.candidates[story.newest].detail == "tests was ended (time)"


def test_evidence_that_nobody_planned_is_refused_and_a_required_check_without_any_is_a_gap() -> None:
    story = m.with_candidate(checks=(m.TESTS, m.LINT))
    given(*story.events).when(m.judged(story.newest)).then_raises(NotComposed)
    story.do(m.composed(story.newest))
    given(*story.events).when(m.judged(story.newest, m.evidence("lint"))).then_raises(UnplannedEvidence)
    story.do(m.judged(story.newest))
    candidate = story.state.candidates[story.newest]
    assert (candidate.reason, candidate.detail) == (RejectReason.EVIDENCE_GAP, "there is no evidence of lint")


def test_a_change_that_passes_only_with_its_own_judges_waits_for_a_person_naming_the_files() -> None:
    story = m.with_candidate()
    story.do(m.composed(story.newest, *JUDGED), m.judged(story.newest))
    given(*story.events).when(m.judged(story.newest, BASE_FAILS)).then(
        EvidenceRecorded(candidate=story.newest, evidence=BASE_FAILS),
        TierRaised(
            tier=RiskTier.HIGH,
            reason="its checks fail with the base's version of these files",
            files=("conftest.py",),
        ),
        CandidateVerified(candidate=story.newest),
        CandidateSelected(candidate=story.newest, gated=True),
        ApprovalRequested(
            candidate=story.newest,
            trigger="judges",
            reason="the change alters what judges it, and fails without that: conftest.py",
            files=("conftest.py",),
        ),
    )


def test_a_check_that_fails_as_it_is_rejects_whatever_the_base_judges_say() -> None:
    story = m.with_candidate()
    story.do(m.composed(story.newest, *JUDGED), m.judged(story.newest, BASE_FAILS))
    story.do(m.judged(story.newest, m.evidence(code=1)))
    assert story.state.candidates[story.newest].status is CandidateStatus.REJECTED
    assert story.state.tier is RiskTier.LOW


def overlapping() -> tuple[m.Story, str, str]:
    """A Candidate that verifies while its Task ran again, and the one of the re-run beside it."""
    story = m.with_candidate()
    older = story.newest
    story.do(m.composed(older), m.rerun("integrate", ("t1", ())), m.dispatch()).complete("t1")
    story.do(m.candidate())
    return story.do(m.composed(story.newest)), older, story.newest


def test_a_verified_candidate_waits_for_its_sibling_and_the_last_to_settle_selects() -> None:
    story, older, newer = overlapping()
    given(*story.events).when(m.judged(older)).then(
        EvidenceRecorded(candidate=older, evidence=m.evidence()), CandidateVerified(candidate=older)
    )
    story.do(m.judged(older))
    given(*story.events).when(m.judged(newer)).then(
        EvidenceRecorded(candidate=newer, evidence=m.evidence()),
        CandidateVerified(candidate=newer),
        CandidateRejected(
            candidate=older, reason=RejectReason.NOT_SELECTED, detail=f"its sibling {newer} was selected"
        ),
        CandidateSelected(candidate=newer, gated=False),
    )


def test_a_sibling_that_fails_last_leaves_the_other_as_winner() -> None:
    story, older, newer = overlapping()
    story.do(m.judged(older), m.judged(newer, m.evidence(code=1)))
    assert story.events[-1] == CandidateSelected(candidate=older, gated=False)


def test_a_gated_winner_of_a_running_change_is_asked_for_again_when_the_rerun_ends() -> None:
    story = m.with_candidate(risk_tier=RiskTier.HIGH)
    winner = story.newest
    story.do(m.composed(winner), m.rerun("integrate", ("t1", ())), m.judged(winner))
    assert story.state.status is ChangeStatus.RUNNING
    assert story.state.candidates[winner].approval_requested
    story.complete("t1").do(m.settle())
    assert story.state.status is ChangeStatus.AWAITING_APPROVAL


def test_a_moved_canonical_makes_stale_and_lapses_a_request_for_approval() -> None:
    story = m.selected(risk_tier=RiskTier.HIGH)
    given(*story.events).when(m.stale(2)).then(
        CandidateStale(candidate=story.newest, generation=2),
        ApprovalLapsed(reason="no verified Candidate is left"),
    )
    assert due(story.do(m.stale(2)).state) == Due("candidate.create")


def test_a_promoting_candidate_is_left_alone() -> None:
    given(*m.promoting().events).when(m.stale(2)).then_nothing()


def test_a_stale_candidate_of_a_running_change_is_rejected() -> None:
    story = m.with_candidate().do(m.rerun("integrate", ("t1", ())), m.stale(2))
    assert story.state.candidates[story.newest].reason is RejectReason.TASKS_RERUN


def test_a_lineage_recomposes_six_times_after_promotions_and_a_raise_starts_a_new_one() -> None:
    story = m.with_candidate()
    for generation in range(2, 8):
        story.do(m.stale(generation), m.candidate(generation))
    assert story.state.candidates[story.newest].recompositions == 6
    story.do(m.stale(8))
    assert given(*story.events).when(m.candidate(8, after_import=True)).state.status is ChangeStatus.VERIFYING
    given(*story.events).when(m.candidate(8)).then(ChangeBlocked(reason=OVERTAKEN))
    story.do(m.candidate(8), m.raise_budget(20 * m.USD))
    assert due(story.state) == Due("candidate.create")
    story.do(m.candidate(8))
    assert story.state.candidates[story.newest].recompositions == 0


def test_no_candidate_that_can_ship_ends_the_change_with_the_reasons() -> None:
    story = m.with_candidate()
    story.do(m.composed(story.newest), m.judged(story.newest, m.evidence(code=4)))
    given(*story.events).when(m.settle()).then(
        ChangeFailed(
            phase="verification",
            reason="No Candidate passed its required checks: tests exited with code 4. Submit the request again.",
        )
    )


def test_a_used_up_sandbox_budget_and_incompatible_work_have_their_own_sentences() -> None:
    for reason, start in (("sandbox_budget", "The Sandbox budget ended"), ("incompatible", "The agents' work did not")):
        story = m.with_candidate()
        story.do(m.not_composed(story.newest, reason), m.settle())
        assert story.state.status is ChangeStatus.FAILED
        assert story.state.reason.startswith(start)


def conflict(story: m.Story, generation: int, *keys: str) -> m.Story:
    story.do(m.candidate(generation))
    return story.do(m.not_composed(story.newest, "file_conflict", *keys))


def test_a_conflict_runs_the_task_again_on_top_of_those_before_it() -> None:
    story = conflict(m.verifying(m.planned("t1"), m.planned("t2"), m.planned("t3", "t2")), 1, "t2")
    state = given(*story.events).when(m.settle()).state
    assert state.status is ChangeStatus.RUNNING
    assert state.tasks[m.task("t2")].depends_on == (m.task("t1"),)
    assert [state.tasks[m.task(key)].status for key in ("t1", "t2", "t3")] == ["completed", "ready", "pending"]


def test_after_four_reruns_the_change_is_blocked_and_a_raise_does_nothing() -> None:
    story = m.verifying(m.planned("t1"), m.planned("t2"))
    for _ in range(4):
        conflict(story, 1, "t2").do(m.settle()).complete("t2")
    conflict(story, 1, "t2")
    given(*story.events).when(m.settle()).then(ChangeBlocked(reason=NOT_MERGED))
    story.do(m.settle(), m.raise_budget(20 * m.USD))
    assert story.state.status is ChangeStatus.BLOCKED
    assert story.do(m.cancel()).state.status is ChangeStatus.CANCELLED


def test_a_rerun_that_changes_nothing_completes_with_an_empty_changeset() -> None:
    story = conflict(m.verifying(m.planned("t1"), m.planned("t2")), 1, "t2").do(m.settle()).begin("t2")
    run = story.run_of("t2")
    story.do(m.finish("t2", run, m.unchanged()))
    assert story.state.changesets[changeset_id(run)].empty
    story.do(m.candidate())
    assert story.state.candidates[story.newest].changesets == (changeset("t1"), changeset_id(run))
