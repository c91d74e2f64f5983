"""Attempts of Tasks."""

from dataclasses import fields

import pytest

from domain.change.decide import CHANGE
from domain.change.error import BudgetDeferred, NotAllowed
from domain.change.event import (
    BlockCause,
    ChangeBudgetBlocked,
    ChangeFailed,
    ChangeSetProposed,
    TaskAssigned,
    TaskBlocked,
    TaskCancelled,
    TaskCompleted,
    TaskDeferred,
    TaskFailed,
    TaskReady,
    TaskRequeued,
    TaskRetried,
    TaskStarted,
    TaskUnblocked,
    TaskWakeDropped,
    TaskWakeRequested,
    VerificationStarted,
)
from domain.change.evolve import evolve
from domain.change.graph import stack
from domain.change.status import ChangeStatus, TaskStatus
from domain.kernel.errors import ImpossibleHistory, InvalidInput, StaleAttempt, UnknownEvent
from domain.kernel.ids import agent_id, changeset_id, run_id
from domain.plan import TaskKind
from domain.project.event import MemberRemoved
from domain.project.role import Role
from tests.domain.change import make as m
from tests.support.decider import scenarios

given = scenarios(CHANGE)
T1 = m.task("t1")
PAIR = (m.planned("t1"), m.planned("t2", "t1"))
NINE = tuple(m.planned(f"t{n}") for n in range(1, 10))


def started(*tasks: object, reservation: int | None = None, **fields: object) -> m.Story:
    return m.running(*(tasks or (m.planned("t1"),)), **fields).begin("t1", reservation=reservation)  # type: ignore[arg-type]


def test_a_wake_takes_a_place_and_the_next_attempt() -> None:
    given(*m.running().events).when(m.assign("t1")).then(
        TaskAssigned(task=T1, agent=agent_id(T1), run=run_id(T1, 1), attempt=1)
    )


def test_the_ninth_is_deferred_once_and_woken_when_a_place_frees() -> None:
    story = m.running(*NINE).begin(*(f"t{n}" for n in range(1, 9)))
    ninth = m.task("t9")
    given(*story.events).when(m.assign("t9")).then(TaskDeferred(task=ninth))
    story.do(m.assign("t9"))
    given(*story.events).when(m.dispatch()).then_nothing()
    story.do(m.finish("t1", story.run_of("t1")))
    given(*story.events).when(m.dispatch()).then(TaskWakeRequested(task=ninth))


def test_a_dropped_wake_is_sent_again() -> None:
    given(*m.running().events).when(m.drop("t1")).then(TaskWakeDropped(task=T1, reason="too late"))
    given(*m.running().do(m.drop("t1")).events).when(m.dispatch()).then(TaskWakeRequested(task=T1))


def test_a_start_holds_its_reservation() -> None:
    story = m.running().do(m.assign("t1"))
    given(*story.events).when(m.start("t1", run_id(T1, 1), 5)).then(
        TaskStarted(
            task=T1,
            run=run_id(T1, 1),
            base_generation=1,
            base_commit="base1",
            reservation=5,
            started_at=int(m.AT.timestamp()),
        )
    )


def test_reserved_money_defers_and_only_spent_money_blocks() -> None:
    story = m.running(*NINE[:2], budget=10).begin("t1", reservation=8).do(m.assign("t2"))
    run = run_id(m.task("t2"), 1)
    given(*story.events).when(m.start("t2", run, 5)).then_raises(BudgetDeferred, "starts when another run has ended")
    story.do(m.finish("t1", story.run_of("t1"), cost=8))
    state = given(*story.events).when(m.start("t2", run, 5)).state
    assert state.tasks[m.task("t2")].cause is BlockCause.BUDGET
    assert state.status is ChangeStatus.BUDGET_BLOCKED


def test_a_run_of_unknown_cost_is_refused_only_by_a_spent_budget() -> None:
    story = m.running(*NINE[:2], budget=10).begin("t1").do(m.assign("t2"))
    run = run_id(m.task("t2"), 1)
    assert given(*story.events).when(m.start("t2", run, None)).events
    story.do(m.finish("t1", story.run_of("t1"), cost=10))
    state = given(*story.events).when(m.start("t2", run, None)).state
    assert state.tasks[m.task("t2")].cause is BlockCause.BUDGET


def test_the_last_task_to_complete_starts_verification() -> None:
    story = started()
    run = run_id(T1, 1)
    given(*story.events).when(m.finish("t1", run, cost=7)).then(
        ChangeSetProposed(
            changeset=changeset_id(run),
            task=T1,
            run=run,
            base_commit="base1",
            commit=f"commit-{run}",
            tree=f"tree-{run}",
            empty=False,
        ),
        TaskCompleted(task=T1, run=run, run_head=m.HEAD, changeset=changeset_id(run), report=None, cost=7),
        VerificationStarted(reason="work_graph_completed"),
    )


def test_a_reading_task_hands_on_a_report_and_no_changeset() -> None:
    story = m.running(m.planned("t1", kind=TaskKind.RESEARCH), m.planned("t2")).begin("t1")
    run = run_id(T1, 1)
    given(*story.events).when(m.finish("t1", run, m.c.Made(report=m.blob("report")))).then(
        TaskCompleted(task=T1, run=run, run_head=m.HEAD, changeset=None, report=m.blob("report"), cost=None)
    )
    given(*story.events).when(m.finish("t1", run, m.made())).then_raises(InvalidInput, "hands on a report")


def test_changing_nothing_gets_one_more_try_with_a_hint_then_fails() -> None:
    story = started()
    first, second = run_id(T1, 1), run_id(T1, 2)
    given(*story.events).when(m.finish("t1", first, m.unchanged(), cost=1)).then(
        TaskRetried(
            task=T1,
            ended=first,
            run=second,
            attempt=2,
            reason="no_changes",
            hint="no_changes",
            reservation=None,
            cost=1,
        )
    )
    story.do(m.finish("t1", first, m.unchanged()))
    given(*story.events).when(m.finish("t1", second, m.unchanged())).then(
        TaskFailed(
            task=T1,
            run=second,
            run_head=m.HEAD,
            reason="no_changes",
            detail="the agent changed nothing",
            cost=None,
        )
    )


def test_a_failure_that_may_pass_is_tried_once_more() -> None:
    story = started().do(m.finish("t1", run_id(T1, 1), m.broke()))
    assert story.state.tasks[T1].run == run_id(T1, 2)
    story.do(m.finish("t1", run_id(T1, 2), m.broke()))
    assert story.state.tasks[T1].status is TaskStatus.FAILED


def test_a_retry_reserves_no_more_than_is_left_and_a_spent_budget_blocks_it() -> None:
    story = started(reservation=6, budget=10)
    retried = story.do(m.finish("t1", run_id(T1, 1), m.broke(), cost=7, reserve=6)).events[-1]
    assert isinstance(retried, TaskRetried)
    assert retried.reservation == 3
    spent = started(reservation=6, budget=10).do(m.finish("t1", run_id(T1, 1), m.broke(), cost=10, reserve=6))
    assert spent.state.status is ChangeStatus.BUDGET_BLOCKED


def test_a_stale_worker_is_refused_and_the_same_end_twice_is_one() -> None:
    story = started().do(m.requeue("t1", run_id(T1, 1)))
    given(*story.events).when(m.finish("t1", run_id(T1, 1))).then_raises(StaleAttempt, "its writes are refused")
    story.do(m.finish("t1", run_id(T1, 2)))
    given(*story.events).when(m.finish("t1", run_id(T1, 2))).then_nothing()


def test_a_late_end_after_a_cancel_is_refused() -> None:
    story = started().do(m.cancel())
    given(*story.events).when(m.finish("t1", run_id(T1, 1))).then_raises(StaleAttempt)


def test_a_lost_run_keeps_the_status_and_takes_no_attempt_from_the_window() -> None:
    story = started()
    given(*story.events).when(m.requeue("t1", run_id(T1, 1))).then(
        TaskRequeued(task=T1, lost=run_id(T1, 1), run=run_id(T1, 2), attempt=2, status=TaskStatus.RUNNING)
    )
    story.do(m.requeue("t1", run_id(T1, 1)), m.finish("t1", run_id(T1, 2), m.broke()))
    assert story.state.tasks[T1].run == run_id(T1, 3), "the retry is still there"


def test_the_third_lost_run_is_a_dead_letter_that_waits_for_a_person() -> None:
    story = started(*PAIR)
    for attempt in (1, 2):
        story.do(m.requeue("t1", run_id(T1, attempt)))
    given(*story.events).when(m.requeue("t1", run_id(T1, 3))).then(
        TaskBlocked(
            task=T1, cause=BlockCause.DEAD_LETTER, detail="its worker was lost 3 times", run=run_id(T1, 3), cost=None
        ),
        TaskBlocked(task=m.task("t2"), cause=BlockCause.DEPENDENCY, detail=f"it waits for {T1} (blocked)"),
    )
    story.do(m.requeue("t1", run_id(T1, 3)))
    given(*story.events).when(m.settle()).then_nothing()
    assert story.state.status is ChangeStatus.RUNNING


def test_a_retried_dead_letter_takes_its_dependents_along() -> None:
    story = m.running(*PAIR).do(m.dead_letter("t1"))
    given(*story.events).when(m.retry("t1", Role.MEMBER)).then_raises(NotAllowed)
    given(*story.events).when(m.retry("t1")).then(
        TaskUnblocked(task=T1, status=TaskStatus.READY),
        TaskUnblocked(task=m.task("t2"), status=TaskStatus.PENDING),
    )


def test_a_dead_letter_beside_a_failed_task_ends_the_change() -> None:
    story = m.running(*NINE[:2]).begin("t1")
    story.do(m.finish("t1", run_id(T1, 1), m.broke(False)), m.settle())
    given(*story.events).when(m.dead_letter("t2")).then(
        TaskBlocked(task=m.task("t2"), cause=BlockCause.DEAD_LETTER, detail="the wake failed 5 times"),
        TaskCancelled(task=m.task("t2"), run=None),
        ChangeFailed(
            phase="tasks",
            reason="The Task on area:t1 failed: the agent exited with code 3. Submit the request again.",
        ),
    )


def test_a_failed_task_ends_the_change_only_when_nothing_else_can_run() -> None:
    story = m.running(*NINE[:2]).begin("t1", "t2").do(m.finish("t1", run_id(T1, 1), m.broke(False)))
    given(*story.events).when(m.settle()).then_nothing()
    story.complete_started("t2")
    assert given(*story.events).when(m.settle()).state.status is ChangeStatus.FAILED


def test_settle_dispatches_before_it_judges() -> None:
    third = m.planned("t3", "t2")
    story = m.running(*NINE[:2], third).begin("t1", "t2")
    story.do(m.finish("t1", run_id(T1, 1), m.broke(False)))
    story.complete_started("t2")
    given(*story.events).when(m.settle()).then(TaskReady(task=m.task("t3")))


def test_a_limit_stop_blocks_the_change_when_nothing_else_runs() -> None:
    story = started(*PAIR)
    given(*story.events).when(m.finish("t1", run_id(T1, 1), m.stopped(BlockCause.LIMIT), cost=2)).then(
        TaskBlocked(task=T1, cause=BlockCause.LIMIT, detail="its slice is used up", run=run_id(T1, 1), cost=2),
        TaskBlocked(task=m.task("t2"), cause=BlockCause.DEPENDENCY, detail=f"it waits for {T1} (blocked)"),
        ChangeBudgetBlocked(reason="The Task on area:t1 stopped: its slice is used up"),
    )


def test_money_that_came_back_resumes_what_reserved_money_stopped() -> None:
    story = m.running(*NINE[:2], budget=10).begin("t1", reservation=9)
    story.begin("t2", reservation=1)
    story.do(m.finish("t2", run_id(m.task("t2"), 1), m.broke(), cost=1, reserve=2))
    assert story.state.tasks[m.task("t2")].cause is BlockCause.BUDGET
    story.do(m.finish("t1", run_id(T1, 1), cost=2))
    given(*story.events).when(m.settle()).then(TaskUnblocked(task=m.task("t2"), status=TaskStatus.READY))


def test_a_stack_is_what_the_dependencies_made_in_work_graph_order() -> None:
    story = m.running(m.planned("t1"), m.planned("t2", "t1"), m.planned("t3", "t2"), m.planned("t4"))
    story.complete("t1", "t2", "t4")
    assert [changeset.task for changeset in stack(story.state, m.task("t3"))] == [T1, m.task("t2")]


def test_a_log_that_the_tables_do_not_allow_is_refused() -> None:
    state = m.running().state
    with pytest.raises(ImpossibleHistory):
        evolve(state, TaskStarted(task=T1, run="r", base_generation=1, base_commit="b", reservation=None, started_at=0))
    with pytest.raises(ImpossibleHistory):
        evolve(None, TaskReady(task=T1))
    with pytest.raises(ImpossibleHistory):
        evolve(state, TaskReady(task="tsk_unknown"))
    with pytest.raises(UnknownEvent):
        evolve(state, MemberRemoved(user="usr_x"))


def test_folding_leaves_only_fields_that_the_states_declare() -> None:
    """`changed` copies dictionaries: a field that isn't declared would slip in unseen."""
    story = m.promoting()
    story.do(m.promoted(story.newest))
    for state in (story.state, *story.state.tasks.values(), *story.state.candidates.values()):
        assert set(vars(state)) == {field.name for field in fields(state)}
