"""The demo's repository, its checks and its agent: the goal is really reached."""

import shutil
import subprocess
from pathlib import Path

import pytest

from commands.checks.resolve import judges_of_base
from commands.ports.agent import AgentRequest, AgentTask
from commands.ports.sandbox import Execution, Limits, Sandbox
from domain.plan import PlannedTask, TaskKind
from infra.agents.agents import InstalledAgents
from infra.agents.execution import AgentHost
from infra.demo.repository import GOAL, SCRIPT, DemoError, make_demo_repository
from infra.git.canonical import GitCanonical
from infra.sandbox.bubblewrap import BubblewrapSandbox
from infra.sandbox.settings import SandboxSettings


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_is_a_clean_repository_with_one_commit_that_is_the_same_everywhere(tmp_path: Path) -> None:
    first = make_demo_repository(tmp_path / "it's a" / "demo")
    second = make_demo_repository(tmp_path / "other")
    assert git(first, "status", "--porcelain") == ""
    assert git(first, "rev-list", "--count", "HEAD") == "1"
    assert git(first, "rev-parse", "HEAD") == git(second, "rev-parse", "HEAD")
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".")] == []


def test_making_it_again_leaves_it_as_it_is(tmp_path: Path) -> None:
    folder = make_demo_repository(tmp_path / "demo")
    (folder / "mine").write_text("kept")
    assert make_demo_repository(folder) == folder
    assert (folder / "mine").read_text() == "kept"


def test_something_else_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("kept")
    with pytest.raises(DemoError, match="isn't empty"):
        make_demo_repository(tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["mine"]


def test_without_git_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DemoError, match="git isn't installed"):
        make_demo_repository(tmp_path / "demo")


def test_the_checks_judge_the_base_green_and_the_script_reaches_the_goal(tmp_path: Path) -> None:
    sandbox: Sandbox = BubblewrapSandbox(SandboxSettings.from_environment())
    person = make_demo_repository(tmp_path / "demo")
    base = git(person, "rev-parse", "HEAD")
    canonical = GitCanonical(tmp_path / "canonical.git", tmp_path / "workspaces", sandbox, "installation")
    canonical.fetch(person, base, "refs/rhumb/base/1")
    judges = judges_of_base(canonical, base, ())
    assert [check.name for check in judges.checks] == ["tests", "compiles"]

    host = AgentHost({}, tmp_path / "home", (tmp_path / "own",), tmp_path / "run", Limits(seconds=60))
    agents = InstalledAgents(host)
    agent = agents.open(agents.prepare(AgentRequest(provider="scripted", script=SCRIPT)), sandboxed=True)
    planned = PlannedTask(key="t1", title="Shout", kind=TaskKind.IMPLEMENT, instructions=GOAL)
    workspace = canonical.open_workspace("run_demo_t1_1", base)
    try:
        task = AgentTask(run="run_demo_t1_1", task="tsk_demo_t1", attempt=1, goal=GOAL, planned=planned)
        report = agent.run(task, workspace.folder, sandbox)
        assert report.ok, report.output
        assert b"HELLO, ADA!" in report.output
        changed = [file.path for file in canonical.changed(base, workspace.snapshot(agent.secrets()))]
        shutil.copytree(workspace.folder, tmp_path / "made", symlinks=True)
    finally:
        workspace.close()
    assert changed == ["README.md", "greet/cli.py", "greet/greeting.py", "tests/test_shout.py"]

    canonical_base = tmp_path / "base"
    canonical_base.mkdir()
    canonical.checkout(base, canonical_base)
    for tree, tests in ((canonical_base, b"Ran 2 tests"), (tmp_path / "made", b"Ran 4 tests")):
        sandbox.own(tree)
        for check in judges.checks:
            outcome = sandbox.run(Execution(argv=("sh", "-c", check.command), workspace=tree))
            assert outcome.ok, outcome.output
            assert check.name != "tests" or tests in outcome.output
        sandbox.disown(tree)
