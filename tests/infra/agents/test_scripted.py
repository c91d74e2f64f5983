"""An agent that answers from a script, in the real sandbox."""

from collections.abc import Callable
from pathlib import Path

import pytest

from commands.ports.agent import Agent, AgentInputError, AgentTask
from commands.ports.sandbox import Sandbox
from domain.plan import TaskKind
from infra.agents.script import read_script
from infra.demo.repository import SCRIPT
from tests.infra.agents.conftest import CANARY, task_of

Make = Callable[..., Agent]


def action(kind: str, path: str, more: str = "") -> str:
    return f"[[answers]]\n[[answers.actions]]\n{kind} = {path!r}\n{more}"


def test_writes_replaces_deletes_and_runs(scripted: Make, task: AgentTask, workspace: Path, sandbox: Sandbox) -> None:
    agent = scripted("""
        [[answers]]
        report = "all done"
        costUsd = 0.02
        [[answers.actions]]
        write = "a folder/new é.sh"
        text = "echo one\\n"
        executable = true
        [[answers.actions]]
        replace = "a folder/new é.sh"
        find = "one"
        text = "two"
        [[answers.actions]]
        run = "./'a folder/new é.sh'"
        [[answers.actions]]
        delete = "old.txt"
    """)
    report = agent.run(task, workspace, sandbox)
    assert report.ok, report.output
    assert (report.report, report.cost) == ("all done", 20_000)
    assert b"\ntwo\n" in report.output
    assert [path.name for path in workspace.rglob("*") if path.is_file()] == ["new é.sh"]


def test_the_first_answer_that_fits_is_taken(scripted: Make, workspace: Path, sandbox: Sandbox) -> None:
    agent = scripted("""
        [[answers]]
        task = "other"
        exitCode = 9
        [[answers]]
        task = "t1"
        attempt = 2
        exitCode = 3
        [[answers]]
        task = "t1"
    """)
    codes = [agent.run(task_of(TaskKind.IMPLEMENT, attempt), workspace, sandbox).exit_code for attempt in (1, 2, 3)]
    assert codes == [0, 3, 0]


def test_without_an_answer_the_run_fails_and_says_so(
    scripted: Make, task: AgentTask, workspace: Path, sandbox: Sandbox
) -> None:
    agent = scripted("[[answers]]\ntask = 'other'")
    report = agent.run(task, workspace, sandbox)
    assert (report.exit_code, report.cost, agent.reservation("t1", 1)) == (1, 0, 0)
    assert b"no answer for attempt 1 of task t1" in report.output


@pytest.mark.parametrize(
    ("money", "reserved", "cost"),
    [
        ("", None, None),
        ("costUsd = '0.000001'", 1, 1),
        ("cost_usd = 1.5", 1_500_000, 1_500_000),
        ("costUsd = 1\nreserveUsd = 2", 2_000_000, 1_000_000),
    ],
)
def test_money(
    scripted: Make,
    workspace: Path,
    sandbox: Sandbox,
    task: AgentTask,
    money: str,
    reserved: int | None,
    cost: int | None,
) -> None:
    agent = scripted(f"[[answers]]\n{money}")
    assert agent.reservation("t1", 1) == reserved
    assert agent.run(task, workspace, sandbox).cost == cost


def test_a_reading_task_can_t_change_a_file(scripted: Make, workspace: Path, sandbox: Sandbox) -> None:
    report = scripted(action("write", "old.txt", "text = ''")).run(task_of(TaskKind.REVIEW), workspace, sandbox)
    assert report.exit_code == 1
    assert (workspace / "old.txt").read_text() == "old\n"


def test_a_reading_task_reports_what_it_prints_unless_the_script_says(
    scripted: Make, workspace: Path, sandbox: Sandbox
) -> None:
    told = scripted("[[answers]]\nreport = 'told'").run(task_of(TaskKind.RESEARCH), workspace, sandbox)
    printed = scripted(action("run", "echo printed")).run(task_of(TaskKind.RESEARCH), workspace, sandbox)
    assert (told.report, printed.report) == ("told", "$ echo printed\nprinted\n")


@pytest.mark.parametrize(
    "path", ["/etc/x", "../x", "a/../../x", "a//b", "./a", "a/.", "", ".git/config", "a/.git/hooks/x"]
)
def test_a_path_stays_within_the_workspace(scripted: Make, path: str) -> None:
    with pytest.raises(AgentInputError, match=r"path|at least 1 character"):
        scripted(action("write", path, "text = ''"))


def test_no_link_is_followed_out_of_the_workspace(
    scripted: Make, task: AgentTask, workspace: Path, sandbox: Sandbox, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir(mode=0o777)
    (workspace / "folder").symlink_to(tmp_path / "outside")
    (workspace / "file").symlink_to(tmp_path / "outside" / "file")
    for path in ("folder/x", "file"):
        report = scripted(action("write", path, "text = 'x'")).run(task, workspace, sandbox)
        assert (report.exit_code, list((tmp_path / "outside").iterdir())) == (1, [])


@pytest.mark.parametrize(
    ("failing", "said"),
    [
        (action("replace", "old.txt", "find = 'missing'\ntext = ''"), b"0 times"),
        (action("replace", "missing", "find = 'o'\ntext = ''"), b"No such file"),
        (action("delete", "missing"), b"No such file"),
        (action("run", "exit 4"), b"$ exit 4"),
    ],
)
def test_an_action_that_fails_ends_the_run(
    scripted: Make, task: AgentTask, workspace: Path, sandbox: Sandbox, failing: str, said: bytes
) -> None:
    report = scripted(failing + "\n[[answers.actions]]\nwrite = 'later'\ntext = ''").run(task, workspace, sandbox)
    assert report.exit_code == (4 if b"exit 4" in said else 1)
    assert said in report.output
    assert not (workspace / "later").exists()


def test_runs_see_variables_that_were_let_in_and_logs_don_t(
    scripted: Make, task: AgentTask, workspace: Path, sandbox: Sandbox
) -> None:
    agent = scripted(action("run", "echo $SECRET_TOKEN | tee seen"), env=("SECRET_TOKEN",))
    report = agent.run(task, workspace, sandbox)
    assert (workspace / "seen").read_text() == f"{CANARY}\n"
    assert CANARY.encode() not in report.output
    assert b"[redacted]" in report.output


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "answers"),
        ("answers = []", "answers"),
        ("= 1", "no TOML"),
        ("[[answers]]\nexitCode = 256", "exitCode"),
        ("[[answers]]\ncostUsd = -1", "0"),
        ("[[answers]]\ncostUsd = true", "number"),
        ("[[answers]]\nunknown = 1", "unknown"),
        ("[[answers]]\n[[answers.actions]]", "exactly one"),
        (action("write", "a"), "write takes text"),
        (action("delete", "a", "text = ''"), "delete takes nothing else"),
        (action("run", "true", "delete = 'a'"), "exactly one"),
        (action("run", "true", "executable = true"), "executable"),
    ],
)
def test_a_script_that_says_nonsense_is_refused(scripted: Make, text: str, said: str) -> None:
    with pytest.raises(AgentInputError, match=said):
        scripted(text)


def test_a_script_may_be_json(tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    file.write_text('{"answers": [{"task": "t1", "costUsd": 0.5, "actions": [{"delete": "a"}]}]}')
    answer = read_script(file).answer("t1", 1)
    assert answer is not None
    assert answer.cost_micros == 500_000
    file.write_text("{")
    with pytest.raises(AgentInputError, match="no JSON"):
        read_script(file)


def test_a_script_that_can_t_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(AgentInputError, match=r"missing\.toml"):
        read_script(tmp_path / "missing.toml")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(AgentInputError, match=r"no TOML"):
        read_script(tmp_path / "binary")


def test_the_demo_s_script_can_be_read() -> None:
    assert read_script(SCRIPT).answer("shout", 1) is not None
