"""The fold of a Change's events that is shown live."""

from datetime import timedelta

import pytest

from domain.change import event as e
from domain.change.status import ChangeStatus, TaskStatus
from domain.kernel.event import Event
from routers.cli.view.progress import Progress, advance, live_lines, sentence
from tests.routers.cli.house import CHANGE, START, House


def progress_of(house: House) -> Progress:
    progress = Progress(CHANGE)
    for stored in house.store.events.log(0, 1_000):
        progress = advance(progress, stored.envelope)
    return progress


def shown(house: House, output: tuple[tuple[str, str], ...] = ()) -> list[str]:
    progress = progress_of(house)
    return [line.plain for line in live_lines(progress, START + timedelta(seconds=house.seconds + 61), output)]


def test_at_the_request(house: House) -> None:
    house.given(*house.history().created())
    assert shown(house) == [f"{CHANGE}  compiling  1 min 01 s"]


def test_while_an_agent_works(house: House) -> None:
    house.given(*house.history().ready(), *house.history().started())
    lines = shown(house, (("agent", "thinking \x1b[31mhard [/b]"), ("quiet", "  ")))
    assert lines[0].startswith(f"{CHANGE}  running  ")
    assert lines[1:] == ["  task t1  running    1 min 01 s", "  agent: thinking \\x1b[31mhard [/b]"]


def test_while_checks_run(house: House) -> None:
    house.given(*house.history().composed())
    assert shown(house)[1:] == ["  task t1      completed", "  check tests  running      1 min 01 s"]


def test_a_check_with_evidence_is_no_longer_shown(house: House) -> None:
    house.given(*house.history().composed(), *house.history().judged())
    assert shown(house)[1:] == ["  task t1  completed"]


@pytest.mark.parametrize(
    ("events", "status"),
    [
        ((e.ChangeBudgetBlocked(reason="x"), e.BudgetRaised(budget=9, target=ChangeStatus.RUNNING)), "running"),
        ((e.ChangeBudgetBlocked(reason="x"),), "budget_blocked"),
        ((e.ChangeCancelled(),), "cancelled"),
        ((e.TasksRerun(trigger="repair", tasks=(), candidate=None),), "running"),
    ],
)
def test_the_status_moves_along_the_table(house: House, events: tuple[Event, ...], status: str) -> None:
    house.given(*house.history().ready(), *events)
    assert progress_of(house).status == status


def test_it_agrees_with_the_read_models_at_every_event(house: House) -> None:
    history = house.history()
    house.given()
    progress = Progress(CHANGE)
    seen = set()
    for event in history.whole():
        before = house.store.events.last_position()
        house.happen(CHANGE, event)
        house.catch_up()
        for stored in house.store.events.log(before, 10):
            progress = advance(progress, stored.envelope)
        row = house.queries.change(CHANGE)
        assert row is not None
        assert progress.status == row["status"], event
        assert {k: v.status for k, v in progress.tasks.items()} == {
            task["id"]: task["status"] for task in house.queries.tasks(CHANGE)
        }, event
        seen.add(row["status"])
    assert {ChangeStatus.COMPILING, ChangeStatus.RUNNING, ChangeStatus.VERIFYING, ChangeStatus.COMPLETED} <= seen


def test_a_task_event_with_a_told_status(house: House) -> None:
    history = house.history()
    house.given(*history.ready(), *history.dead_letter(), e.TaskUnblocked(task=history.task, status=TaskStatus.READY))
    assert progress_of(house).tasks[history.task].status == "ready"


def test_bookkeeping_is_no_news(house: House) -> None:
    house.given(*house.history().ready(), *house.history().started())
    told = {stored.envelope.type: sentence(stored.envelope) for stored in house.store.events.log(0, 100)}
    assert told["task.assigned"] is None
    news = told["task.started"]
    assert news is not None
    assert news.plain.endswith("attempt 1 of Task t1 started on generation 0 (aaaaaaaaaa)")
