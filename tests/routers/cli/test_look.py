"""list, show, diff, logs, why: what is shown of what there is."""

import pytest

from domain.change import event as e
from tests.routers.cli.history import RESULT
from tests.routers.cli.house import CHANGE, PATCH, House, Rhumb

LOG = b"\x1b[31mred\x1b[0m\nraw \xff\n"


@pytest.fixture
def promoted(house: House) -> House:
    history = house.history()
    house.given(*history.composed())
    house.happen(history.run, *history.run_events(LOG), change=CHANGE)
    house.happen(CHANGE, *history.judged(history.evidence(0, b"3 passed\n")), *history.selected(), *history.promoted())
    return house


def test_list_is_friendly_when_there_is_nothing(rhumb: Rhumb) -> None:
    ended = rhumb("list")
    assert ended.code == 0
    assert "there is no Change yet" in ended.out


def test_list(promoted: House, rhumb: Rhumb) -> None:
    header, line = rhumb("list").out.splitlines()
    assert header.split() == ["CHANGE", "STATUS", "COST", "SINCE", "GOAL"]
    assert line.startswith(f"{CHANGE}  completed  $0.0125  2026-03-01 ")
    assert line.endswith("  Say hello")


def test_list_of_one_status(promoted: House, rhumb: Rhumb) -> None:
    assert rhumb("list", "--status", "failed", "--json").document == []
    assert len(rhumb("list", "--status", "completed", "--json").document) == 1


def test_list_with_a_goal_that_was_erased(promoted: House, rhumb: Rhumb) -> None:
    row = promoted.store.events.read(CHANGE)[0].envelope.event
    assert isinstance(row, e.ChangeCreated)
    promoted.objects.erase(row.goal)
    assert "(the text was erased)" in rhumb("list").out


def test_list_survives_a_hostile_goal(house: House, rhumb: Rhumb) -> None:
    house.goal = "[/b] [link=x]\x1b]0;title\x07\r\n" + "long " * 100
    house.given(*house.history().created())
    out = rhumb("list").out
    assert len(out.splitlines()) == 2
    assert "[/b] [link=x]\\x1b]0;title\\x07\\r\\n" in out


def test_show(promoted: House, rhumb: Rhumb) -> None:
    ended = rhumb("show", "3f2a")
    assert ended.code == 0
    for shown in (
        f"{CHANGE}  completed",
        f"commit      {RESULT}",
        "a\\nb\\xff.txt",
        "task t1  implement  completed  1 attempt",
        "Checks on the base",
        f"{promoted.history().candidate}: promoted, commit {RESULT[:10]}",
        "+1.0 s",
    ):
        assert shown in ended.out, shown


def test_show_of_a_change_that_has_just_begun(house: House, rhumb: Rhumb) -> None:
    house.given(*house.history().created())
    ended = rhumb("show", CHANGE)
    assert ended.code == 0
    assert "Changed" not in ended.out


def test_show_in_json_is_the_document_of_run(promoted: House, rhumb: Rhumb) -> None:
    assert rhumb("show", CHANGE, "--json").document["commit"] == RESULT


def test_diff_is_bytes_for_a_program(promoted: House, rhumb: Rhumb) -> None:
    assert rhumb("diff", CHANGE).raw == PATCH


def test_diff_is_escaped_for_a_terminal(promoted: House, rhumb: Rhumb) -> None:
    ended = rhumb("diff", CHANGE, tty=True)
    assert b"+two \\x1b[31m\\xff" in ended.raw


def test_diff_stat(promoted: House, rhumb: Rhumb) -> None:
    assert "2 files changed" in rhumb("diff", CHANGE, "--stat").out


def test_diff_without_a_candidate_ends_2(house: House, rhumb: Rhumb) -> None:
    house.given(*house.history().ready())
    ended = rhumb("diff", CHANGE)
    assert ended.code == 2
    assert "it is running" in ended.err


def test_logs_of_a_run_are_bytes_for_a_program(promoted: House, rhumb: Rhumb) -> None:
    assert rhumb("logs", promoted.history().run).raw == LOG


def test_logs_are_escaped_for_a_terminal(promoted: House, rhumb: Rhumb) -> None:
    raw = rhumb("logs", promoted.history().run, tty=True).raw
    assert raw == b"\\x1b[31mred\\x1b[0m\nraw \\xff\n"


def test_logs_of_a_candidate_are_its_checks(promoted: House, rhumb: Rhumb) -> None:
    assert rhumb("logs", promoted.history().candidate).raw == b"3 passed\n"


def test_logs_of_a_change_are_everything_with_titles(promoted: House, rhumb: Rhumb) -> None:
    ended = rhumb("logs", CHANGE)
    assert ended.raw == LOG + b"3 passed\n"
    assert "== base: tests, passed" in ended.err
    assert f"== {promoted.history().run}: completed" in ended.err


def test_logs_of_a_change_without_any(house: House, rhumb: Rhumb) -> None:
    house.given(*house.history().created())
    ended = rhumb("logs", CHANGE)
    assert ended.code == 0
    assert "nothing has run yet" in ended.err


@pytest.mark.parametrize("identifier", ["run_x_1", "cand_0123", "tsk_x_t1", "prj_x"])
def test_logs_of_what_has_none_end_2(house: House, rhumb: Rhumb, identifier: str) -> None:
    assert rhumb("logs", identifier).code == 2


def test_why_of_a_change(promoted: House, rhumb: Rhumb) -> None:
    ended = rhumb("why", "3f2a")
    assert ended.code == 0
    assert ended.out.startswith(f"{CHANGE}  change  completed\n  it waits for nothing")
    assert "the Change was completed: promoted" in ended.out


def test_why_of_a_waiting_change_names_the_command(house: House, rhumb: Rhumb) -> None:
    history = house.history()
    house.given(*history.composed(), *history.judged(), *history.gated())
    assert f"rhumb approve {CHANGE}" in rhumb("why", CHANGE).out


@pytest.mark.parametrize("kind", ["task", "candidate", "run", "event"])
def test_why_of_anything(promoted: House, rhumb: Rhumb, kind: str) -> None:
    history = promoted.history()
    identifier = {
        "task": history.task,
        "candidate": history.candidate,
        "run": history.run,
        "event": f"{CHANGE}:3",
    }[kind]
    assert rhumb("why", identifier, "--json").document["kind"] == kind


@pytest.mark.parametrize("identifier", ["tsk_x", "run_x", f"{CHANGE}:999", "nonsense", "\x1b", "cand_\x1b[31m"])
def test_why_of_nothing_ends_2(promoted: House, rhumb: Rhumb, identifier: str) -> None:
    ended = rhumb("why", identifier)
    assert ended.code == 2
    assert "\x1b" not in ended.err


def test_a_status_that_no_change_can_have_is_refused(rhumb: Rhumb) -> None:
    ended = rhumb("list", "--status", "bogus")
    assert ended.code == 2
    assert "awaiting_approval" in ended.err
