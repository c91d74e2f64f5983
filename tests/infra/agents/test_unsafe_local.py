"""Agents without isolation (`--unsafe-local`): the same contract, but for what the person gave up."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from commands.ports.agent import Agent, AgentTask
from commands.ports.sandbox import Bind, Sandbox
from domain.plan import TaskKind
from infra.sandbox.settings import SandboxSettings
from infra.sandbox.unsafe import UnsafeLocal
from tests.infra.agents.conftest import CANARY, task_of

Make = Callable[..., Agent]


@pytest.fixture(scope="session")
def sandbox() -> Sandbox:
    return UnsafeLocal(SandboxSettings.from_environment())


def test_a_command_gets_prompt_task_file_and_named_variables_only(
    command: Make, task: AgentTask, workspace: Path, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANOTHER_CANARY", "canary-of-the-process")
    agent = command('cat > prompt; cat "$RHUMB_TASK_FILE" > task.json; env > env; env', env=("SECRET_TOKEN",))
    report = agent.run(task, workspace, sandbox)
    assert report.ok, report.output
    assert "Do the thing" in (workspace / "prompt").read_text()
    assert json.loads((workspace / "task.json").read_text())["id"] == "tsk_c_t1"
    assert f"SECRET_TOKEN={CANARY}\n" in (workspace / "env").read_text()
    assert "canary-of-the-process" not in (workspace / "env").read_text()
    assert CANARY.encode() not in report.output


def test_a_reading_task_reports(command: Make, workspace: Path, sandbox: Sandbox, own: Path) -> None:
    report = command("echo told; echo aside >&2").run(task_of(TaskKind.RESEARCH), workspace, sandbox)
    assert (report.ok, report.report) == (True, "told\n")
    assert list((own / "run").iterdir()) == []


def test_a_script_is_followed(scripted: Make, task: AgentTask, workspace: Path, sandbox: Sandbox) -> None:
    agent = scripted(
        "[[answers]]\n[[answers.actions]]\nwrite = 'a/b'\ntext = 'x'\n[[answers.actions]]\nrun = 'cat a/b'"
    )
    report = agent.run(task, workspace, sandbox)
    assert report.output == b"write a/b\n$ cat a/b\nx"


def test_a_script_follows_no_link_out_of_the_workspace(
    scripted: Make, task: AgentTask, workspace: Path, sandbox: Sandbox, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "kept").write_text("kept")
    (workspace / "folder").symlink_to(tmp_path / "outside")
    (workspace / "file").symlink_to(tmp_path / "outside" / "kept")
    for action in (
        "write = 'folder/x'\ntext = 'x'",
        "write = 'file'\ntext = 'x'",
        "replace = 'file'\nfind = 'kept'\ntext = 'x'",
        "delete = 'folder/kept'",
    ):
        report = scripted(f"[[answers]]\n[[answers.actions]]\n{action}").run(task, workspace, sandbox)
        assert report.exit_code == 1, report.output
    assert [(each.name, each.read_text()) for each in (tmp_path / "outside").iterdir()] == [("kept", "kept")]


def test_outputs_of_the_set_up_are_there_and_gone_afterwards(
    command: Make, task: AgentTask, workspace: Path, sandbox: Sandbox, tmp_path: Path
) -> None:
    (tmp_path / "outputs").mkdir()
    (tmp_path / "outputs" / "tool").write_text("made")
    binds = (Bind(tmp_path / "outputs", Path("/workspace/deps")),)
    report = command("cat deps/tool").run(task, workspace, sandbox, binds=binds)
    assert report.output == b"made"
    assert not (workspace / "deps").exists()
