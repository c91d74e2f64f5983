"""Re-runs of dependencies that don't merge, and the edges that re-runs add."""

from domain.change.decide import CHANGE
from domain.change.event import TaskConflict
from domain.change.status import ChangeStatus, TaskStatus
from tests.domain.change import make as m
from tests.support.decider import scenarios

given = scenarios(CHANGE)
DIAMOND = (m.planned("t1"), m.planned("t2"), m.planned("t3", "t1", "t2"))


def failed_on_t2() -> m.Story:
    story = m.running(*DIAMOND).complete("t1", "t2").begin("t3")
    conflict = TaskConflict(task=m.task("t2"), files=("src/app.py",))
    return story.do(m.finish("t3", story.run_of("t3"), m.broke(False, conflict)))


def test_the_dependency_that_did_not_merge_runs_again_on_those_before_it() -> None:
    state = given(*failed_on_t2().events).when(m.settle()).state
    assert state.status is ChangeStatus.RUNNING
    assert state.restacks == 1
    assert state.tasks[m.task("t2")].status is TaskStatus.READY
    assert state.tasks[m.task("t2")].depends_on == (m.task("t1"),)
    assert state.tasks[m.task("t3")].status is TaskStatus.PENDING


def test_after_two_of_them_the_change_ends_failed() -> None:
    story = failed_on_t2()
    conflict = TaskConflict(task=m.task("t2"), files=("src/app.py",))
    for _ in range(2):
        story.do(m.settle()).complete("t2").begin("t3")
        story.do(m.finish("t3", story.run_of("t3"), m.broke(False, conflict)))
    assert given(*story.events).when(m.settle()).state.status is ChangeStatus.FAILED


def test_an_edge_never_goes_to_a_task_built_on_the_one_that_runs_again() -> None:
    story = m.verifying(*DIAMOND).do(m.rerun("integrate", ("t1", ("t2", "t3"))))
    assert story.state.tasks[m.task("t1")].depends_on == (m.task("t2"),)


def test_two_tasks_that_name_each_other_get_one_edge() -> None:
    story = m.verifying(*DIAMOND).do(m.rerun("file_conflict", ("t1", ("t2",)), ("t2", ("t1",))))
    assert story.state.tasks[m.task("t1")].depends_on == (m.task("t2"),)
    assert story.state.tasks[m.task("t2")].depends_on == ()


def test_everything_built_on_it_runs_again_transitively() -> None:
    chain = (m.planned("t1"), m.planned("t2", "t1"), m.planned("t3", "t2"), m.planned("t4"))
    state = m.verifying(*chain).do(m.rerun("rebase", ("t1", ()))).state
    statuses = [state.tasks[m.task(key)].status.value for key in ("t1", "t2", "t3", "t4")]
    assert statuses == ["ready", "pending", "pending", "completed"]


def test_a_rerun_opens_a_fresh_window_and_numbers_go_on() -> None:
    story = m.verifying(*DIAMOND).do(m.rerun("rebase", ("t1", ()))).begin("t1")
    assert story.state.tasks[m.task("t1")].attempt == 2
    assert story.state.tasks[m.task("t1")].window == 1


def test_a_stale_candidate_is_rejected_when_its_tasks_run_again_and_a_live_one_is_not() -> None:
    story = m.with_candidate(*DIAMOND).do(m.stale(2), m.candidate(2))
    first, second = story.state.candidates
    story.do(m.rerun("rebase", ("t1", ())))
    assert story.state.candidates[first].status.value == "rejected"
    assert story.state.candidates[second].status.value == "composing"
