"""The demo's repository, its checks and its agent: the goal is really reached."""

import subprocess
import sys
from pathlib import Path

import pytest

from commands.plan_file import read_plan_file
from commands.ports.agent import AgentRequest
from domain.change.status import ChangeStatus
from infra.demo.repository import GOAL, PLAN, SCRIPT, DemoError, make_demo_repository
from tests.support.app import Process


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


def test_the_script_reaches_the_goal_by_the_plan(process: Process) -> None:
    plan = read_plan_file(PLAN, GOAL)
    agent = AgentRequest("scripted", script=SCRIPT)
    repository = make_demo_repository(process.folder / "demo")

    state = process.run(agent, goal=GOAL, repository=repository, plan=plan, checks=())

    assert state.status is ChangeStatus.COMPLETED, state.reason
    assert len(state.tasks) >= 4
    assert [check.name for check in state.checks] == ["tests", "compiles"]
    branch = f"rhumbline/{state.id}"
    assert git(repository, "diff", "--name-only", "main", branch).split() == [
        "README.md",
        "greet/cli.py",
        "greet/greeting.py",
        "greet/repeat.py",
        "tests/test_options.py",
    ]
    git(repository, "checkout", "-q", branch)
    said = subprocess.run(
        [sys.executable, "-m", "greet", "--shout", "--times", "2", "Ada"],
        cwd=repository,
        check=True,
        capture_output=True,
        text=True,
    )
    assert said.stdout == "HELLO, ADA!\nHELLO, ADA!\n"
