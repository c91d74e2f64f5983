"""From a request to a Work Graph."""

from domain.change.decide import CHANGE
from domain.change.error import BaseNotChecked, RequestDiffers
from domain.change.event import (
    BaseVerified,
    ChangeCompiled,
    ChangeFailed,
    CompileStarted,
    TaskCreated,
    TaskReady,
    TierRaised,
)
from domain.change.status import ChangeStatus, TaskStatus
from domain.plan import Complexity, RiskTier, TaskKind
from tests.domain.change import make as m
from tests.support.decider import scenarios

given = scenarios(CHANGE)


def test_the_same_request_again_changes_nothing_also_when_canonical_moved() -> None:
    again = m.create(base_generation=5, base_commit="base5", policy="policy-2")
    given(*m.created().events).when(again).then_nothing()


def test_the_same_request_after_a_raise_is_still_the_same() -> None:
    story = m.created().do(m.raise_budget(20 * m.USD))
    given(*story.events).when(m.create()).then_nothing()


def test_the_same_id_with_another_content_is_refused_naming_what_differs() -> None:
    given(*m.created().events).when(m.create(goal=m.blob("other"), budget=1)).then_raises(
        RequestDiffers, "another goal, budget"
    )


def test_a_green_base_is_recorded() -> None:
    given(*m.compiling().events).when(m.base_checks()).then(BaseVerified(base_commit="base1", evidence=(m.evidence(),)))


def test_a_red_base_fails_before_any_agent_runs_and_names_check_and_exit_code() -> None:
    red = m.evidence(code=2)
    reason = "The checks fail on the base already: tests exited with code 2. Fix the base, or allow it red."
    given(*m.compiling().events).when(m.base_checks(red)).then(
        BaseVerified(base_commit="base1", evidence=(red,)), ChangeFailed(phase="checks", reason=reason)
    )


def test_a_red_base_can_be_allowed() -> None:
    story = m.compiling(allow_red_base=True).do(m.base_checks(m.evidence(code=2)), m.compile_())
    assert story.state.status is ChangeStatus.RUNNING


def test_nothing_is_compiled_before_the_base_was_checked() -> None:
    given(*m.compiling().events).when(m.compile_()).then_raises(BaseNotChecked)


def test_a_plan_becomes_tasks_with_ids() -> None:
    plan = m.plan(m.planned("t1"), m.planned("t2", "t1", kind=TaskKind.REVIEW))
    given(*m.compiling().do(m.base_checks()).events).when(m.compile_(plan)).then(
        ChangeCompiled(
            plan=m.blob("plan"),
            risk_tier=RiskTier.LOW,
            human_approval_required=False,
            destructive_migration=False,
            complexity=Complexity.SMALL,
            acceptance_criteria=0,
            checks=(m.TESTS,),
            setup=None,
            cost=None,
        ),
        TaskCreated(task=m.task("t1"), key="t1", kind=TaskKind.IMPLEMENT, depends_on=(), resources=("area:t1",)),
        TaskCreated(
            task=m.task("t2"), key="t2", kind=TaskKind.REVIEW, depends_on=(m.task("t1"),), resources=("area:t2",)
        ),
    )


def test_a_destructive_migration_is_critical_whatever_the_plan_says() -> None:
    events = m.compiling().do(m.base_checks(), m.compile_(m.plan(destructive_migration=True))).events
    assert TierRaised(tier=RiskTier.CRITICAL, reason="the plan has a destructive migration") in events


def test_a_cancel_while_compiling_stores_the_tasks_as_cancelled_and_records_no_compile() -> None:
    story = m.compiling().do(m.base_checks(), m.cancel())
    given(*story.events).when(m.compile_()).then(
        TaskCreated(
            task=m.task("t1"),
            key="t1",
            kind=TaskKind.IMPLEMENT,
            depends_on=(),
            resources=("area:t1",),
            status=TaskStatus.CANCELLED,
        )
    )


def test_only_tasks_without_open_dependencies_become_ready() -> None:
    story = m.compiling().do(m.base_checks(), m.compile_(m.plan(m.planned("t1"), m.planned("t2", "t1"))))
    given(*story.events).when(m.dispatch()).then(TaskReady(task=m.task("t1")))


def test_a_budget_that_stops_the_planner_starts_another_compile_when_raised() -> None:
    story = m.compiling().do(m.c.BlockOnBudget(**m.meta(), reason="spent"), m.raise_budget(20 * m.USD))
    assert story.events[-1] == CompileStarted(compile=2)
    assert story.state.status is ChangeStatus.COMPILING
