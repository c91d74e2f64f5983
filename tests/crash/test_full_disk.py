"""A disk that fills up under one part of the home while agents work: said, nothing lost, and on it goes with room."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from domain.change.status import ChangeStatus
from infra.app import open_app, runtime_folder
from infra.session import LocalSession
from infra.settings import Settings
from tests.crash.lifecycle import AGENT, FILES, Goal, Place, submission
from tests.support.app import Process
from tests.support.repository import git, make_repository

SIZES = {"postgres": "160m", "objects": "1m", "workspaces": "8m", "canonical": "8m"}
"""Each is enough for the lifecycle."""


@pytest.fixture(params=sorted(SIZES))
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A small disk in place of one folder of the home."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root can mount a small disk")
    folder = tmp_path / "home" / str(request.param)
    folder.mkdir(parents=True)
    options = f"size={SIZES[request.param]},mode=0700"
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", folder], capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"a small disk can't be mounted: {done.stderr.decode(errors='replace').strip()}")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)
    shutil.rmtree(runtime_folder(tmp_path / "home"), ignore_errors=True)


def fill(disk: Path) -> Path:
    """Take all the room that is left."""
    ballast = disk / "ballast"
    with ballast.open("ab", buffering=0) as file:
        for size in (64 * 1024, 512):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                continue
    return ballast


def test_a_full_disk_is_said_and_got_over(disk: Path, tmp_path: Path) -> None:
    meeting = tmp_path / "meeting"
    meeting.mkdir()
    meeting.chmod(0o777)
    line = f"touch {meeting}/at-work; while [ ! -e {meeting}/go ]; do sleep 0.05; done; {AGENT}"
    place = Place(tmp_path, None, make_repository(tmp_path / "repository", FILES))
    goal = Goal(agent=line, binds=(f"{meeting}:rw",))
    with open_app(Settings(home=place.home, max_agents=4)) as app:
        process = Process(app, LocalSession(app), tmp_path)
        change = process.session.submit(submission(place, goal, process.session.actor)).change
        wait(process, lambda: (meeting / "at-work").exists())
        ballast = fill(disk)

        (meeting / "go").touch()
        wait(process, lambda: bool(process.session.trouble(change)))
        trouble = process.session.trouble(change)
        ballast.unlink()
        process.session.adopt(change)
        state = process.finish(change)

        assert "full" in trouble or "no room" in trouble or "No space" in trouble, trouble
        assert state.status is ChangeStatus.COMPLETED, state.reason
        assert state.promoted is not None
        assert git(place.repository, "rev-parse", f"rhumbline/{change}") == state.promoted.commit
        canonical = app.ctx.canonicals.open(state.project)
        git(canonical.path, "fsck", "--full", "--strict", "--no-dangling")
        assert canonical.workspaces() == ()
        assert process.session.verify((), lambda *_: None)[1] == []


def wait(process: Process, true: object) -> None:
    while not true():  # type: ignore[operator]
        process.app.runner.require_alive()
        process.app.runner.wait_step(0.1)
