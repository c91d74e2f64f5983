"""`rhumb run`: what it asks for, what it shows, how it ends."""

from pathlib import Path

import pytest

from commands.ports.agent import AgentRequest
from commands.ports.git import RepositoryError
from domain.change import event as e
from domain.check import CheckSource
from tests.routers.cli.history import COST, RESULT
from tests.routers.cli.house import CHANGE, House, Rhumb


def play_whole(house: House, cost: int | None = COST) -> None:
    history = house.history()
    house.plays.append(lambda: house.happen(history.run, *history.run_events(b"", cost), change=CHANGE))
    house.then(*history.whole(cost)[2:])


def test_a_promoted_run_shows_everything_and_ends_0(house: House, rhumb: Rhumb) -> None:
    play_whole(house)
    ended = rhumb.run("--repo", "/home/me/my repo")
    assert ended.code == 0
    for shown in (
        f"promoted  {RESULT}",
        f"branch      rhumbline/{CHANGE}",
        "generation  1",
        "cost        $0.0125 of $5.00",
        "src/new file.py  new  +3 -0",
        "2 files changed, 4 lines added, 1 removed",
        "passed  tests  exit code 0  1.3 s",
        "the Change was completed: promoted",
        f"git -C '/home/me/my repo' merge rhumbline/{CHANGE}",
        f"rhumb diff {CHANGE}",
    ):
        assert shown in ended.out, shown
    assert "Task t1 became ready" in ended.err
    assert "Task t1 became ready" not in ended.err.replace("became ready", "", 1)


def test_the_document_has_exactly_the_promised_shape(house: House, rhumb: Rhumb) -> None:
    play_whole(house)
    ended = rhumb.run("--json")
    history = house.history()
    assert ended.code == 0
    assert ended.document == {
        "change": CHANGE,
        "status": "completed",
        "reason": None,
        "commit": RESULT,
        "branch": f"rhumbline/{CHANGE}",
        "generation": 1,
        "costUsd": 0.0125,
        "tasks": [{"id": history.task, "kind": "implement", "status": "completed", "attempts": 1}],
        "candidates": [
            {
                "id": history.candidate,
                "status": "promoted",
                "checks": [{"name": "tests", "passed": True, "exitCode": 0}],
            }
        ],
    }
    assert "planning began" in ended.err or "checks passed" in ended.err or "check passed" in ended.err


def test_an_unknown_cost_is_said_to_be_unknown(house: House, rhumb: Rhumb) -> None:
    play_whole(house, cost=None)
    assert "unknown of $5.00" in rhumb.run().out


def test_an_unknown_cost_is_null_in_the_document(house: House, rhumb: Rhumb) -> None:
    play_whole(house, cost=None)
    assert rhumb.run("--json").document["costUsd"] is None


def test_the_cost_of_a_cancelled_run_is_unknown_too(house: House, rhumb: Rhumb) -> None:
    history = house.history()
    house.then(*history.ready()[2:], *history.started())
    started, ended = history.run_events(b"", None)
    house.plays.append(lambda: house.happen(history.run, started, ended, change=CHANGE))
    house.then(e.TaskCancelled(task=history.task, run=history.run), e.ChangeCancelled())
    assert rhumb.run("--json").document["costUsd"] is None


def test_a_branch_that_could_not_be_written_is_a_warning(house: House, rhumb: Rhumb) -> None:
    history = house.history()
    house.then(*history.composed()[2:], *history.judged(), *history.selected(), *history.promoted(refused="it's gone"))
    ended = rhumb.run("--json")
    assert ended.code == 0
    assert ended.document["branch"] is None
    assert "isn't in your repository: it's gone" in ended.err


def test_a_failing_check_ends_1_with_its_last_lines(house: House, rhumb: Rhumb) -> None:
    history = house.history()
    output = b"".join(b"line %d\n" % n for n in range(50)) + b"\x1b[2Jboom [/b]\n"
    house.then(*history.composed()[2:], *history.rejected(history.evidence(1, output)))
    ended = rhumb.run()
    assert ended.code == 1
    assert ended.out == ""
    assert f"{CHANGE} wasn't promoted: no candidate can ship" in ended.err
    assert "tests: exit code 1" in ended.err
    assert "line 49" in ended.err
    assert "line 30\n" not in ended.err
    assert "\\x1b[2Jboom [/b]" in ended.err
    assert "\x1b" not in ended.err
    assert f"rhumb logs {history.candidate}" in ended.err
    assert f"rhumb why {CHANGE}" in ended.err


def test_a_failure_has_a_document_too(house: House, rhumb: Rhumb) -> None:
    history = house.history()
    house.then(*history.composed()[2:], *history.rejected(history.evidence(None, killed="time")))
    ended = rhumb.run("--json")
    assert ended.code == 1
    assert ended.document["status"] == "failed"
    assert ended.document["reason"] == "no_candidate_can_ship"
    assert ended.document["candidates"][0]["checks"] == [{"name": "tests", "passed": False, "exitCode": None}]
    assert "ended by the sandbox (time)" in ended.err


def test_a_red_base_shows_the_check_that_failed_on_it(house: House, rhumb: Rhumb) -> None:
    history = house.history()
    red = history.evidence(2, b"1 failed\n")
    house.then(*history.base_checked(red), e.ChangeFailed(phase="checks", reason="base_red"))
    ended = rhumb.run()
    assert ended.code == 1
    assert "tests: exit code 2" in ended.err
    assert "1 failed" in ended.err
    assert f"rhumb logs {CHANGE}" in ended.err


def test_a_failed_task_names_its_reason_and_its_log(house: House, rhumb: Rhumb) -> None:
    history = house.history()
    failed = e.TaskFailed(
        task=history.task,
        run=history.run,
        run_head={"version": 1, "hash": "0" * 64},
        reason="no_changes",
        detail="the agent changed nothing, twice",
        cost=None,
    )
    house.then(*history.ready()[2:], *history.started(), failed, e.ChangeFailed(phase="running", reason="task_failed"))
    ended = rhumb.run()
    assert ended.code == 1
    assert "task t1 failed: the agent changed nothing, twice" in ended.err
    assert f"rhumb logs {history.run}" in ended.err


def test_a_gated_run_ends_3_and_names_the_way_on(house: House, rhumb: Rhumb) -> None:
    history = house.history()
    house.then(*history.composed()[2:], *history.judged(), *history.gated(files=("tests/%0Aodd.py",)))
    ended = rhumb.run("--json")
    assert ended.code == 3
    assert ended.document["status"] == "awaiting_approval"
    assert ended.document["reason"] == "its risk tier is high"
    assert "waits for a person: its risk tier is high" in ended.err
    assert "files to look at: tests/\\nodd.py" in ended.err
    assert f"rhumb approve {CHANGE}" in ended.err


def test_a_spent_budget_ends_3(house: House, rhumb: Rhumb) -> None:
    house.then(*house.history().ready()[2:], e.ChangeBudgetBlocked(reason="budget_spent"))
    ended = rhumb.run()
    assert ended.code == 3
    assert "budget spent" in ended.err
    assert f"rhumb resume {CHANGE} --budget USD" in ended.err


def test_a_blocked_change_ends_3(house: House, rhumb: Rhumb) -> None:
    house.then(*house.history().composed()[2:], e.ChangeBlocked(reason="re_runs_used_up"))
    ended = rhumb.run()
    assert ended.code == 3
    assert f"rhumb resume {CHANGE} --budget USD" in ended.err


def test_a_dead_letter_ends_3(house: House, rhumb: Rhumb) -> None:
    history = house.history()
    house.then(*history.ready()[2:], *history.dead_letter())
    ended = rhumb.run("--json")
    assert ended.code == 3
    assert ended.document["reason"].startswith("dead-lettered: ")
    assert "its wake failed 5 times" in ended.err
    assert f"rhumb resume {CHANGE}  tries its dead-lettered tasks again" in ended.err


def test_a_cancelled_change_ends_1(house: House, rhumb: Rhumb) -> None:
    house.then(e.ChangeCancelled())
    ended = rhumb.run("--json")
    assert ended.code == 1
    assert ended.document["reason"] == "cancelled"


def test_ctrl_c_ends_130_says_how_to_go_on_and_prints_the_document(house: House, rhumb: Rhumb) -> None:
    house.then(*house.history().ready()[2:])
    house.then_raises(KeyboardInterrupt())
    ended = rhumb.run("--json")
    assert ended.code == 130
    assert ended.document["status"] == "running"
    assert f"rhumb resume {CHANGE}" in ended.err


def test_a_failure_while_following_leaves_a_document(house: House, rhumb: Rhumb) -> None:
    house.then_raises(RepositoryError("the repository is gone"))
    ended = rhumb.run("--json")
    assert ended.code == 2
    assert ended.document["change"] == CHANGE


def test_what_was_typed_is_what_is_submitted(house: House, rhumb: Rhumb, tmp_path: Path) -> None:
    rhumb(
        *("run", "Do it", "--repo", str(tmp_path), "--base", "v1", "--budget", "2.50", "--approve", "--unsafe-local"),
        *("--allow-red-base", "--request-id", "r-1", "--agent-command", "agent --fast", "--agent-env", "A"),
        *("--agent-env", "B", "--agent-bind", "/opt/agent", "--agent-bind", "/tmp/c:rw"),
        *("--check", "python3 -m pytest -q", "--check", "npm test"),
    )
    (submission,) = house.submissions
    assert (submission.goal, submission.repository, submission.base) == ("Do it", tmp_path, "v1")
    assert submission.budget == 2_500_000
    assert submission.approve
    assert submission.allow_red_base
    assert not submission.sandboxed
    assert submission.client_request_id == "r-1"
    assert submission.agent == AgentRequest(
        "command",
        command="agent --fast",
        binds=("/opt/agent", "/tmp/c:rw"),
        env=("A", "B"),
        sandboxed=False,
    )
    assert [(c.name, c.command, c.source) for c in submission.checks] == [
        ("pytest", "python3 -m pytest -q", CheckSource.PERSON),
        ("npm-test", "npm test", CheckSource.PERSON),
    ]


def test_defaults(house: House, rhumb: Rhumb) -> None:
    rhumb("run", "Do it", "--script", "answers.toml")
    (submission,) = house.submissions
    assert submission.agent == AgentRequest("scripted", script=Path("answers.toml"))
    assert submission.budget == house.default_budget()
    assert submission.sandboxed
    assert not submission.approve
    assert submission.client_request_id is None


@pytest.mark.parametrize("name", ["with space", "quo'te\"", "new\nline", "odd\udcff", "-dash", "ünïcode"])
def test_odd_repository_names_arrive_as_they_are(house: House, rhumb: Rhumb, tmp_path: Path, name: str) -> None:
    play_whole(house)
    ended = rhumb.run("--repo", str(tmp_path / name))
    assert house.submissions[0].repository == tmp_path / name
    assert ended.code == 0
    assert "new\nline" not in ended.out


def test_the_goal_comes_from_standard_input(house: House, rhumb: Rhumb) -> None:
    rhumb("run", "-", "--agent-command", "true", stdin=b"Two\nlines\n")
    assert house.submissions[0].goal == "Two\nlines"


def test_unsafe_local_is_warned_of(rhumb: Rhumb) -> None:
    assert "without any isolation" in rhumb.run("--unsafe-local").err


def test_warnings_and_notes_are_told(house: House, rhumb: Rhumb) -> None:
    house.warnings, house.notes = ("2 uncommitted files aren't included",), ("the checks were named by --check",)
    ended = rhumb.run()
    assert "warning: 2 uncommitted files" in ended.err
    assert "the checks were named by --check" in ended.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("", "--agent-command", "x"), "the goal is empty"),
        (("   ", "--agent-command", "x"), "the goal is empty"),
        (("g" * 100_000, "--agent-command", "x"), "100,000 characters"),
        (("a\udcff", "--agent-command", "x"), "no text"),
        (("Do it",), "no agent was named"),
        (("Do it", "--agent-command", "x", "--budget", "much"), "not an amount"),
        (("Do it", "--agent-command", "x", "--budget", "-1"), "between 0"),
        (("Do it", "--agent-command", "x", "--budget", "nan"), "between 0"),
        (("Do it", "--agent-command", "x", "--check", " "), "--check needs a command"),
        ((), "Missing argument"),
        (("Do it", "--no-such-option"), "No such option"),
        (("Do it", "too much"), "unexpected extra argument"),
    ],
)
def test_wrong_input_opens_nothing_and_ends_2(
    house: House, rhumb: Rhumb, arguments: tuple[str, ...], said: str
) -> None:
    ended = rhumb("run", *arguments, "--json")
    assert ended.code == 2
    assert ended.out == ""
    assert said in ended.err
    assert house.opened == 0


@pytest.mark.parametrize("stdin", [b"", b"\xff\xfe", b"a\0b", b"x" * 100_000])
def test_wrong_standard_input_ends_2(house: House, rhumb: Rhumb, stdin: bytes) -> None:
    assert rhumb("run", "-", "--agent-command", "x", stdin=stdin).code == 2
    assert house.opened == 0


def test_a_refused_repository_ends_2_without_a_document(house: House, rhumb: Rhumb) -> None:
    house.refusal = RepositoryError("/x [/b]\x1b[31m isn't a git repository")
    ended = rhumb.run("--json")
    assert ended.code == 2
    assert ended.out == ""
    assert "rhumb: /x [/b]\\x1b[31m isn't a git repository" in ended.err


def test_a_goal_of_markup_and_escapes_is_shown_as_it_is(house: House, rhumb: Rhumb) -> None:
    play_whole(house)
    ended = rhumb.run(goal="close [/b] [red]\x1b[31m\u202eevil\nnext", tty=True)
    assert ended.code == 0
    assert "close [/b] [red]\\x1b[31m\\u202eevil\\nnext" in ended.out


def test_demo_runs_the_sample(house: House, rhumb: Rhumb) -> None:
    play_whole(house)
    ended = rhumb("demo")
    assert ended.code == 0
    (submission,) = house.submissions
    assert submission.goal == "Greet louder"
    assert submission.agent.provider == "scripted"
    assert f"git -C {house.folder / 'greet'} merge" in ended.out
