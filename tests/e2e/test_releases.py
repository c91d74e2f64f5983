"""Real work: a package's older release becomes exactly the newer one, whichever of many agents did which part."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from commands.checks.resolve import person_checks
from commands.ports.agent import AgentRequest
from domain.change.state import ChangeState
from domain.change.status import ChangeStatus
from domain.plan import Complexity, PlannedTask, RiskTier, TaskKind, WorkGraphPlan
from tests.support.app import Process
from tests.support.cutting import Difference, Needs, Part, cut, differences, halves, hand_out, hunks, kinds, shared
from tests.support.release import Upgrade, as_repository, download
from tests.support.repository import git

TWELVE: Needs = {
    **{"a1": (), "a2": (), "a3": (), "a4": ()},
    **{"b1": ("a1", "a2"), "b2": ("a3",), "b3": ("a2", "a4"), "b4": ()},
    **{"c1": ("b1", "b3"), "c2": ("b2", "b4"), "c3": ("a1",), "d1": ("c1", "c2", "c3")},
}
DIAMOND: Needs = {"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c")}
PARALLEL: Needs = dict.fromkeys(("a", "b", "c", "d", "e", "f"), ())

PYGMENTS = Upgrade("pygments", "2.17.0", "2.19.2", "python3 -c 'import pygments.lexers'")
SOUP = Upgrade("beautifulsoup4", "4.12.3", "4.13.4", "python3 -m compileall -q bs4")
NBCONVERT = Upgrade("nbconvert", "7.6.0", "7.16.4", "python3 -m compileall -q nbconvert")
TOOLBAR = Upgrade("django_debug_toolbar", "3.8.1", "5.2.0", "python3 -m compileall -q debug_toolbar")
PYMDOWN = Upgrade("pymdown_extensions", "9.9", "10.12", "python3 -m compileall -q pymdownx")
URLLIB3 = Upgrade("urllib3", "2.0.7", "2.2.0", "python3 -m compileall -q src")


@dataclass(frozen=True)
class Releases:
    """Both releases as repositories with one commit each, and what differs."""

    upgrade: Upgrade
    older: Path
    newer: Path
    changes: Sequence[Difference]


@pytest.fixture(scope="session")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Upgrade], Releases]:
    """Each upgrade is downloaded once, when the first test wants it."""
    known: dict[Upgrade, Releases] = {}
    folder = tmp_path_factory.mktemp("releases")

    def of(upgrade: Upgrade) -> Releases:
        if upgrade not in known:
            older, newer = map(as_repository, download(upgrade, folder))
            git(older, "fetch", "-q", str(newer), "main:refs/newer")
            known[upgrade] = Releases(upgrade, older, newer, differences(older, "main", "refs/newer"))
        return known[upgrade]

    return of


def upgraded(process: Process, releases: Releases, needs: Needs, parts: Mapping[str, Part]) -> ChangeState:
    """Run a task for each part, and insist on the newer release."""
    assert all(part.removed or part.written or part.edited for part in parts.values())
    folder = process.folder / "parts"
    state = process.run(
        AgentRequest("command", command=hand_out(parts, needs, folder), binds=(str(folder),)),
        repository=releases.older,
        plan=plan(releases.upgrade, needs),
        checks=person_checks((releases.upgrade.check,)),
        approve=True,
    )
    assert state.status is ChangeStatus.COMPLETED, state.reason
    branch = f"rhumbline/{state.id}"
    assert git(releases.older, "diff", "--stat", "refs/newer", branch) == ""
    assert git(releases.older, "rev-parse", f"{branch}^{{tree}}") == git(releases.newer, "write-tree")
    return state


def plan(upgrade: Upgrade, needs: Needs) -> WorkGraphPlan:
    tasks = [
        PlannedTask(
            key=key, title=f"Part {key}", kind=TaskKind.IMPLEMENT, instructions="do it", depends_on=tuple(below)
        )
        for key, below in needs.items()
    ]
    return WorkGraphPlan(
        title=f"Upgrade {upgrade.package}", risk_tier=RiskTier.LOW, complexity=Complexity.LARGE, tasks=tuple(tasks)
    )


def attempts(state: ChangeState) -> set[int]:
    return {task.attempt for task in state.tasks.values()}


@pytest.mark.parametrize(
    ("upgrade", "needs", "at_least", "among"),
    [
        pytest.param(PYGMENTS, TWELVE, 301, {"mode", "rename", "deletion"}, id="pygments"),
        pytest.param(NBCONVERT, TWELVE, 200, {"binary", "rename", "deletion"}, id="nbconvert"),
        pytest.param(TOOLBAR, DIAMOND, 200, {"binary", "addition"}, id="django-debug-toolbar"),
        pytest.param(PYMDOWN, PARALLEL, 100, {"odd name", "deletion"}, id="pymdown-extensions"),
        pytest.param(SOUP, DIAMOND, 50, {"binary", "rename"}, id="beautifulsoup4"),
    ],
)
def test_the_older_release_becomes_exactly_the_newer_one(
    process: Process,
    releases: Callable[[Upgrade], Releases],
    upgrade: Upgrade,
    needs: Needs,
    at_least: int,
    among: set[str],
) -> None:
    both = releases(upgrade)
    assert len(both.changes) >= at_least
    assert kinds(both.changes) >= among

    state = upgraded(process, both, needs, cut(both.changes, needs))

    assert attempts(state) == {1}


def test_hunks_of_one_file_in_different_tasks_merge(process: Process, releases: Callable[[Upgrade], Releases]) -> None:
    both = releases(URLLIB3)
    parts = cut(both.changes, TWELVE, hunks)
    assert len(shared(parts)) > 20

    state = upgraded(process, both, TWELVE, parts)

    assert attempts(state) == {1}


@pytest.mark.parametrize(
    ("needs", "reruns", "restacks"),
    [pytest.param(PARALLEL, 1, 0, id="parallel"), pytest.param(DIAMOND, 0, 1, id="stacked")],
)
def test_adjoining_lines_in_different_tasks_are_done_again_on_top_of_each_other(
    process: Process, releases: Callable[[Upgrade], Releases], needs: Needs, reruns: int, restacks: int
) -> None:
    both = releases(URLLIB3)

    state = upgraded(process, both, needs, cut(both.changes, needs, halves))

    assert (state.reruns, state.restacks) == (reruns, restacks)
    assert max(attempts(state)) == 2
