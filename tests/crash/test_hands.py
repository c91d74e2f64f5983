"""What people do to the repositories by hand while Rhumbline works with them."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from commands.effect import EffectKind
from commands.perform.performance import Performance
from commands.ports.agent import AgentRequest
from domain.change.state import ChangeState
from domain.change.status import ChangeStatus
from domain.project.state import ProjectState
from infra.runtime.performers import PERFORMERS
from tests.crash.lifecycle import AGENT, FILES, PLAN
from tests.support.app import Process
from tests.support.repository import commit_all, git, write

Deed = Callable[[Process, ChangeState], None]


def by_hand(repository: Path, *arguments: str) -> str:
    """git as a person runs it there: with that person's environment, and whatever exit code it has."""
    done = subprocess.run(
        ["git", *arguments], cwd=repository, env=dict(os.environ), capture_output=True, text=True, check=False
    )
    return done.stdout


def canonical_of(process: Process, state: ChangeState) -> Path:
    return process.app.ctx.canonicals.open(state.project).path


def collect_garbage(process: Process, state: ChangeState) -> None:
    for repository in (canonical_of(process, state), process.repository()):
        by_hand(repository, "pack-refs", "--all", "--prune")
        by_hand(repository, "reflog", "expire", "--expire=now", "--all")
        by_hand(repository, "gc", "--prune=now", "--quiet")
        by_hand(repository, "prune", "--expire=now")
        by_hand(repository, "repack", "-a", "-d", "-q")


def move_canonical(process: Process, state: ChangeState) -> None:
    canonical = canonical_of(process, state)
    foreign = git(canonical, "commit-tree", f"{state.base_commit}^{{tree}}", "-p", state.base_commit, "-m", "by hand")
    by_hand(canonical, "update-ref", "refs/heads/main", foreign)


def drop_canonical(process: Process, state: ChangeState) -> None:
    by_hand(canonical_of(process, state), "update-ref", "-d", "refs/heads/main")


def move_person(process: Process, _state: ChangeState) -> None:
    repository = process.repository()
    write(repository / f"own-{git(repository, 'rev-list', '--count', 'HEAD')}.txt", "mine\n")
    commit_all(repository, "Mine")


def rewrite_person(process: Process, _state: ChangeState) -> None:
    repository = process.repository()
    by_hand(repository, "commit", "--amend", "-q", "--allow-empty", "-m", "Another beginning")
    by_hand(repository, "reflog", "expire", "--expire=now", "--all")
    by_hand(repository, "gc", "--prune=now", "--quiet")


def run_with(process: Process, deed: Deed, *kinds: EffectKind) -> ChangeState:
    """The four tasks, with `deed` done each time before and after one of these effects is performed."""

    def disturbed(kind: EffectKind) -> Callable[[Performance], None]:
        def performer(performance: Performance) -> None:
            assert performance.effect.change is not None
            state = performance.ctx.writer.state(performance.effect.change)
            deed(process, state)
            PERFORMERS[kind](performance)
            deed(process, state)

        return performer

    process.app.engine.performers = {**PERFORMERS, **{kind: disturbed(kind) for kind in kinds}}
    agent = AgentRequest("command", command=AGENT)
    return process.run(agent, plan=PLAN, repository=process.repository(files=FILES))


@pytest.mark.parametrize(
    ("deed", "kinds"),
    [
        (collect_garbage, (EffectKind.RUN, EffectKind.COMPOSE, EffectKind.CHECK)),
        (move_canonical, (EffectKind.CHECK,)),
        (drop_canonical, (EffectKind.CHECK,)),
        (move_person, (EffectKind.CHECK, EffectKind.RUN)),
        (rewrite_person, (EffectKind.CHECK,)),
    ],
)
def test_a_change_is_promoted_all_the_same(process: Process, deed: Deed, kinds: tuple[EffectKind, ...]) -> None:
    state = run_with(process, deed, *kinds)

    assert state.status is ChangeStatus.COMPLETED, state.reason
    assert state.promoted is not None
    canonical = canonical_of(process, state)
    project: ProjectState = process.app.ctx.writer.state(state.project)
    assert git(canonical, "rev-parse", "refs/heads/main") == project.commit == state.promoted.commit
    assert git(process.repository(), "rev-parse", f"rhumbline/{state.id}") == state.promoted.commit
    git(canonical, "fsck", "--full", "--strict", "--no-dangling")
    git(process.repository(), "fsck", "--full", "--no-dangling")


def test_what_was_on_a_main_moved_by_hand_is_kept(process: Process) -> None:
    state = run_with(process, move_canonical, EffectKind.CHECK)

    lost = git(canonical_of(process, state), "for-each-ref", "--format=%(refname) %(objectname)", "refs/lost/").split()
    assert lost[0] == f"refs/lost/{lost[1]}"


def test_a_persons_own_branch_is_left_where_it_is(process: Process) -> None:
    run_with(process, move_person, EffectKind.CHECK)
    repository = process.repository()

    assert git(repository, "branch", "--contains", "HEAD", "--format=%(refname:short)") == "main"
    assert git(repository, "status", "--porcelain") == ""
    # The next one takes in both lines.
    second = process.run("echo more > more.txt")
    assert second.status is ChangeStatus.COMPLETED, second.reason
    assert second.base_generation == 2
