"""What a killed process left is removed; what something open refers to never is."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from commands.effect import run_effect
from commands.ports.agent import AgentRequest
from domain.change.state import ChangeState
from domain.kernel.ids import run_id
from infra.claim import claim
from infra.git.ref import PATIENCE
from infra.runtime import reconcile
from infra.runtime.reconcile import Reconciler
from tests.support.app import Process


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def reconciler(process: Process, clock: Clock) -> Reconciler:
    return Reconciler(process.app.ctx, process.app.home, clock)


@pytest.fixture
def done(process: Process) -> ChangeState:
    return process.run("echo two > value.txt")


@pytest.fixture
def waiting(process: Process, tmp_path: Path) -> Iterator[tuple[str, str]]:
    """A Change whose agent is at work, and its run; the agent goes on when the test is over."""
    meeting = tmp_path / "meeting"
    meeting.mkdir()
    meeting.chmod(0o777)
    line = f"touch {meeting}/at-work; while [ ! -e {meeting}/go ]; do sleep 0.05; done; echo two > value.txt"
    change = process.submit(AgentRequest("command", command=line, binds=(f"{meeting}:rw",)))
    while not (meeting / "at-work").exists():
        process.app.runner.require_alive()
        process.app.runner.wait_step(0.1)
    yield change, next(iter(process.state(change).tasks.values())).run
    (meeting / "go").touch()
    process.finish(change)


def run_of(state: ChangeState) -> str:
    """The only run of a Change of one task."""
    return run_id(next(iter(state.tasks)), 1)


def test_the_workspace_of_a_run_whose_outcome_is_stored_goes(
    process: Process, reconciler: Reconciler, done: ChangeState
) -> None:
    canonical, run = process.app.ctx.canonicals.open(done.project), run_of(done)
    canonical.open_workspace(run, done.base_commit).snapshot()

    reconciler.run()

    assert canonical.workspaces() == ()
    assert not (canonical.path / "refs" / "ws" / run).exists()


def test_pins_without_a_workspace_go(process: Process, reconciler: Reconciler, done: ChangeState) -> None:
    canonical, run = process.app.ctx.canonicals.open(done.project), run_of(done)
    canonical.pin(f"refs/ws/{run}/base", done.base_commit)
    (canonical.path / "refs" / "ws" / run / "tree.lock").touch()

    reconciler.run()

    assert not (canonical.path / "refs" / "ws" / run).exists()


def test_a_workspace_at_work_stays(process: Process, reconciler: Reconciler, waiting: tuple[str, str]) -> None:
    change, run = waiting

    reconciler.run()

    canonical = process.app.ctx.canonicals.open(process.state(change).project)
    assert canonical.workspaces() == (run,)
    assert (canonical.path / "refs" / "ws" / run / "base").exists()
    assert any(e.effect_id == run_effect(run) for e in process.app.store.effects.of_change(change))


def test_the_workspace_of_an_interrupted_run_waits_for_whoever_goes_on(
    process: Process, reconciler: Reconciler, waiting: tuple[str, str]
) -> None:
    change, run = waiting
    process.app.engine.give_up(change)

    reconciler.run()

    assert process.app.ctx.canonicals.open(process.state(change).project).workspaces() == (run,)
    process.session.adopt(change)


def test_a_folder_that_is_no_run_of_ours_stays(process: Process, reconciler: Reconciler) -> None:
    foreign = [process.app.home.workspaces / name for name in ("run_of_somebody_1", "notes")]
    for folder in foreign:
        folder.mkdir()

    reconciler.run()

    assert all(folder.exists() for folder in foreign)


@pytest.mark.parametrize("name", ["{project}.git/quarantine-x", ".{project}.git.x"])
def test_half_made_folders_go_unless_somebody_is_at_it(
    process: Process, reconciler: Reconciler, done: ChangeState, name: str
) -> None:
    folder = process.app.home.repositories / name.format(project=done.project)
    folder.mkdir()
    held = claim(folder)
    assert held is not None
    reconciler.run()
    assert folder.exists()

    os.close(held)
    reconciler.run()

    assert not folder.exists()


def test_a_lock_that_stays_goes_and_a_fresh_one_does_not(
    process: Process, reconciler: Reconciler, clock: Clock, done: ChangeState
) -> None:
    refs = process.app.ctx.canonicals.open(done.project).path / "refs"
    old, fresh = refs / "rhumb" / "old.lock", refs / "heads" / "main.lock"
    old.touch()
    reconciler.run()
    assert old.exists()
    assert not reconciler.due
    clock.now += 2 * PATIENCE
    fresh.touch()

    assert reconciler.due
    reconciler.run()

    assert not old.exists()
    assert fresh.exists()
    fresh.unlink()


def test_one_duty_that_fails_keeps_no_other_from_its_work(
    process: Process, reconciler: Reconciler, done: ChangeState, monkeypatch: pytest.MonkeyPatch
) -> None:
    canonical, run = process.app.ctx.canonicals.open(done.project), run_of(done)
    canonical.open_workspace(run, done.base_commit)

    def broken() -> int:
        raise OSError("not now")

    monkeypatch.setattr(reconcile, "end_orphans", broken)
    reconciler.run()

    assert canonical.workspaces() == ()
