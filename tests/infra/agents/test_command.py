"""A person's command as an agent, in the real sandbox: what it sees, what it can't do, and what ends it."""

import json
import shlex
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from commands.ports.agent import Agent, AgentTask, AgentUnavailable
from commands.ports.sandbox import Bind, Killed, Limits, Sandbox
from domain.plan import TaskKind
from infra.agents.command import CommandAgent
from infra.agents.execution import AgentHost
from infra.agents.settings import CommandSettings
from tests.infra.agents.conftest import CANARY, task_of

Make = Callable[..., Agent]


def test_gets_the_prompt_on_standard_input(command: Make, task: AgentTask, workspace: Path, sandbox: Sandbox) -> None:
    report = command("cat > prompt").run(task, workspace, sandbox)
    assert report.ok
    prompt = (workspace / "prompt").read_text()
    assert "Do the thing" in prompt
    assert "RHUMB_TASK_FILE" in prompt


def test_gets_the_task_in_a_file_outside_of_the_workspace(
    command: Make, task: AgentTask, workspace: Path, sandbox: Sandbox, own: Path
) -> None:
    report = command('cat "$RHUMB_TASK_FILE" > task.json && ! echo x > "$RHUMB_TASK_FILE"').run(
        task, workspace, sandbox
    )
    assert report.ok, report.output
    document = json.loads((workspace / "task.json").read_text())
    assert (document["id"], document["attempt"], document["key"]) == ("tsk_c_t1", 1, "t1")
    assert document["dependsOn"] == []
    assert sorted(each.name for each in workspace.iterdir()) == ["old.txt", "task.json"]
    assert list((own / "run").iterdir()) == []


def test_works_in_the_workspace_and_sees_toolchains(
    command: Make, task: AgentTask, workspace: Path, sandbox: Sandbox
) -> None:
    report = command("python3 -c \"open('new.txt', 'w').write(open('old.txt').read() * 2)\"").run(
        task, workspace, sandbox
    )
    assert report.ok, report.output
    assert (workspace / "new.txt").read_text() == "old\nold\n"
    assert report.cost is None
    assert report.report is None


def test_its_exit_code_is_told(command: Make, task: AgentTask, workspace: Path, sandbox: Sandbox) -> None:
    report = command("echo all tests pass; exit 7").run(task, workspace, sandbox)
    assert (report.ok, report.exit_code, report.reason) == (False, 7, "agent_failed")
    assert report.output == b"all tests pass\n"


def test_a_reading_task_hands_on_what_it_prints_and_changes_nothing(
    command: Make, workspace: Path, sandbox: Sandbox
) -> None:
    agent = command("cat old.txt; ! (echo new > old.txt) 2>/dev/null && ! touch other 2>/dev/null")
    report = agent.run(task_of(TaskKind.RESEARCH), workspace, sandbox)
    assert report.ok, report.output
    assert report.report == "old\n"
    assert [(each.name, each.read_text()) for each in workspace.iterdir()] == [("old.txt", "old\n")]


def test_a_report_is_standard_output_alone_and_the_log_is_both(
    command: Make, workspace: Path, sandbox: Sandbox
) -> None:
    agent = command("cat > /tmp/prompt; echo one; echo aside >&2; echo two; exit 5")
    report = agent.run(task_of(TaskKind.REVIEW), workspace, sandbox)
    assert (report.exit_code, report.report) == (5, "one\ntwo\n")
    assert sorted(report.output.splitlines()) == [b"aside", b"one", b"two"]


def test_a_report_holds_no_value_that_was_let_in_and_all_that_was_printed(
    command: Make, workspace: Path, sandbox: Sandbox
) -> None:
    line = "head -c 200000 /dev/zero | tr '\\0' x; echo; echo $SECRET_TOKEN"
    report = command(line, env=("SECRET_TOKEN",)).run(task_of(TaskKind.RESEARCH), workspace, sandbox)
    assert report.report == "x" * 200_000 + "\n[redacted]\n"


def test_a_process_left_behind_is_not_waited_for(command: Make, workspace: Path, sandbox: Sandbox) -> None:
    report = command("sleep 600 & echo done").run(task_of(TaskKind.RESEARCH), workspace, sandbox)
    assert (report.ok, report.report) == (True, "done\n")


@pytest.mark.parametrize("trick", ["ln -sf /etc/passwd text", "rm text; mkfifo text", "rm text; mkdir text", "rm text"])
def test_a_report_s_file_leads_nowhere(command: Make, workspace: Path, sandbox: Sandbox, own: Path, trick: str) -> None:
    agent = command(f"cd /run/rhumb/report && {trick} && chmod 0 .")
    report = agent.run(task_of(TaskKind.RESEARCH), workspace, sandbox)
    assert (report.ok, report.report) == (True, "")
    assert list((own / "run").iterdir()) == []


def test_writes_nothing_outside_of_its_workspace(
    command: Make, task: AgentTask, workspace: Path, sandbox: Sandbox, tmp_path: Path
) -> None:
    before = sorted(tmp_path.rglob("*"))
    line = f"for f in '{tmp_path}/x' /etc/x /usr/x /x '{Path.home()}/x'; do echo x > \"$f\"; done 2>/dev/null; true"
    report = command(line).run(task, workspace, sandbox)
    assert report.ok
    assert [path for path in sorted(tmp_path.rglob("*")) if path not in before and "own state" not in str(path)] == []
    assert not any(Path(place).exists() for place in ("/etc/x", "/usr/x", "/x", Path.home() / "x"))


def test_sees_no_variable_that_wasn_t_named(
    command: Make, task: AgentTask, workspace: Path, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANOTHER_CANARY", "canary-of-the-process")
    line = "env > env; cat /proc/1/environ /proc/self/environ >> env 2>/dev/null; true"
    assert command(line, env=("SECRET_TOKEN",)).run(task, workspace, sandbox).ok
    seen = (workspace / "env").read_text()
    assert f"SECRET_TOKEN={CANARY}\n" in seen
    assert "OTHER_SECRET" not in seen
    assert "canary-of-the-process" not in seen
    assert "/home/somebody" not in seen


def test_values_let_in_show_up_in_no_log(command: Make, task: AgentTask, workspace: Path, sandbox: Sandbox) -> None:
    shown: list[bytes] = []
    line = 'printf "%s" "${SECRET_TOKEN%????}"; printf "%s|" "${SECRET_TOKEN#???????????}"; echo $SECRET_TOKEN'
    agent = command(line, env=("SECRET_TOKEN",))
    report = agent.run(task, workspace, sandbox, on_output=shown.append)
    assert report.output == b"[redacted]|[redacted]\n"
    assert b"".join(shown) == report.output
    assert agent.secrets() == (CANARY,)


def test_a_variable_that_is_gone_stops_the_run_before_it_starts(
    command: Make, task: AgentTask, workspace: Path, sandbox: Sandbox, environ: dict[str, str]
) -> None:
    agent = command("touch ran", env=("SECRET_TOKEN",))
    del environ["SECRET_TOKEN"]
    with pytest.raises(AgentUnavailable, match="SECRET_TOKEN"):
        agent.run(task, workspace, sandbox)
    assert not (workspace / "ran").exists()


def test_a_bind_is_there_at_its_own_path_read_only(
    command: Make, task: AgentTask, workspace: Path, sandbox: Sandbox, person: Path
) -> None:
    (person / "config").mkdir()
    (person / "config" / "a").write_text("settings")
    (person / "private").write_text("private")
    place = shlex.quote(str(person))
    line = f"cat {place}/config/a > seen; ls -A {place} > names; ! (echo x > {place}/config/b) 2>/dev/null"
    report = command(line, binds=(f"{person}/config",)).run(task, workspace, sandbox)
    assert report.ok, report.output
    assert (workspace / "seen").read_text() == "settings"
    assert (workspace / "names").read_text() == "config\n"


def test_a_writable_bind_can_be_written_where_its_modes_allow(
    command: Make, task: AgentTask, workspace: Path, sandbox: Sandbox, person: Path
) -> None:
    folder = person / "cache"
    folder.mkdir()
    folder.chmod(0o777)
    report = command(f"echo x > {shlex.quote(str(folder))}/made", binds=(f"{folder}:rw",)).run(task, workspace, sandbox)
    assert report.ok, report.output
    assert (folder / "made").read_text() == "x\n"


def test_a_bind_that_leads_elsewhere_by_now_stops_the_run(
    command: Make, task: AgentTask, workspace: Path, sandbox: Sandbox, person: Path
) -> None:
    (person / "config").mkdir()
    (person / "private").mkdir()
    agent = command("touch ran", binds=(f"{person}/config",))
    (person / "config").rmdir()
    with pytest.raises(AgentUnavailable, match="config"):
        agent.run(task, workspace, sandbox)
    (person / "config").symlink_to("private")
    with pytest.raises(AgentUnavailable, match="leads to"):
        agent.run(task, workspace, sandbox)
    assert not (workspace / "ran").exists()


def test_outputs_of_the_set_up_are_there(
    command: Make, workspace: Path, sandbox: Sandbox, tmp_path: Path, task: AgentTask
) -> None:
    outputs = tmp_path / "outputs"
    outputs.mkdir()
    (outputs / "tool").write_text("made")
    binds = (Bind(outputs, Path("/workspace/deps/modules")),)
    for each in (task, task_of(TaskKind.REVIEW)):
        report = command("cat deps/modules/tool && ! touch deps/modules/x 2>/dev/null").run(
            each, workspace, sandbox, binds=binds
        )
        assert (report.ok, report.output) == (True, b"made")


def limited(host: AgentHost, line: str, limits: Limits) -> CommandAgent:
    narrowed = AgentHost(environ={}, home=host.home, own=host.own, scratch=host.scratch, limits=limits)
    return CommandAgent(CommandSettings(command=line), narrowed)


def test_one_that_hangs_is_ended(host: AgentHost, task: AgentTask, workspace: Path, sandbox: Sandbox) -> None:
    agent = limited(host, "trap '' TERM; touch began; while :; do sleep 60; done", Limits(seconds=0.5))
    report = agent.run(task, workspace, sandbox)
    assert (report.exit_code, report.killed, report.reason) == (None, Killed.TIME, "agent_time")
    assert (workspace / "began").exists()


def test_one_that_eats_memory_is_ended(host: AgentHost, task: AgentTask, workspace: Path, sandbox: Sandbox) -> None:
    eater = "python3 -c \"a = []\nwhile True: a.append(bytearray(b'x') * 20_000_000)\""
    report = limited(host, eater, Limits(seconds=60, memory_bytes=200 * 1024**2)).run(task, workspace, sandbox)
    assert not report.ok
    assert report.killed in (Killed.MEMORY, None)


def test_one_that_prints_a_gigabyte_is_ended(
    host: AgentHost, task: AgentTask, workspace: Path, sandbox: Sandbox
) -> None:
    agent = limited(host, "head -c 1073741824 /dev/zero", Limits(seconds=60, output_bytes=64 * 1024))
    report = agent.run(task, workspace, sandbox)
    assert (report.killed, report.output_truncated) == (Killed.OUTPUT, True)
    assert len(report.output) <= 64 * 1024


def test_one_that_forks_without_end_stays_within_its_bound(
    host: AgentHost, task: AgentTask, workspace: Path, sandbox: Sandbox
) -> None:
    bomb = 'python3 -c "import os, time\nwhile True: os.fork()" 2>/dev/null'
    report = limited(host, bomb, Limits(seconds=5, processes=32)).run(task, workspace, sandbox)
    assert not report.ok
    assert b"x" not in report.output


def test_a_cancel_ends_it(command: Make, task: AgentTask, workspace: Path, sandbox: Sandbox) -> None:
    cancel = threading.Event()
    report = command("echo started; exec sleep 600").run(
        task, workspace, sandbox, cancel=cancel, on_output=lambda chunk: cancel.set()
    )
    assert (report.killed, report.reason) == (Killed.CANCELLED, "agent_cancelled")


def test_a_line_with_odd_characters_stays_the_person_s_own(
    command: Make, task: AgentTask, workspace: Path, sandbox: Sandbox
) -> None:
    report = command("printf '%s\\n' \"a 'b' é {x} [red]\"").run(task, workspace, sandbox)
    assert report.output.decode() == "a 'b' é {x} [red]\n"


def test_names_its_provider_and_reserves_nothing(command: Make) -> None:
    agent = command("true")
    assert (agent.provider, agent.reservation("t1", 1)) == ("command", None)
    assert agent.secrets() == ()
