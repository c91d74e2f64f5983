"""Several processes on one home: one leader, one bound, each Change's agents in the process that submitted it."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from infra.event_store.postgres import PostgresStore
from infra.runtime.engine import LEADER
from tests.crash.aftermath import faults
from tests.crash.conftest import ALL
from tests.crash.driver import Life, Orders, run, started, until
from tests.crash.lifecycle import FILES, Goal, Place
from tests.support.repository import make_repository

BOUND = 2
NAMES = ("first", "second")


@pytest.fixture(params=["one repository", "two repositories"] if ALL else ["one repository"])
def places(request: pytest.FixtureRequest, place: Place) -> tuple[Place, Place]:
    """The same home and database; each process's repository."""
    if request.param == "one repository":
        return place, place
    return place, replace(place, repository=make_repository(place.folder / "another", FILES))


def goal(name: str, meeting: Path, waits: bool = True, bound: int = 8) -> Goal:
    """Agents that note when they are at work and, if they are to, wait for leave to end."""
    log = meeting / "log"
    log.touch()
    # Each agent is another user.
    log.chmod(0o666)
    leave = f"while [ ! -e {meeting}/go ]; do sleep 0.05; done" if waits else ":"
    line = (
        'KEY=$(python3 -c \'import json, os; print(json.load(open(os.environ["RHUMB_TASK_FILE"]))["key"])\'); '
        f"echo begin >> {meeting}/log; touch {meeting}/{name}; {leave}; echo $KEY > {name}-$KEY.txt; "
        f"echo end >> {meeting}/log"
    )
    return Goal(request=name, agent=line, binds=(f"{meeting}:rw",), settings={"max_agents": bound})


def leader(place: Place) -> int | None:
    """The process that leads."""
    assert place.database_url is not None
    with PostgresStore(place.database_url) as store:
        holder = store.leases.holder_of(LEADER)
    return None if holder is None else int(holder.split("|")[3])


def agents_of(life: Life, name: str) -> list[str]:
    """The commands below a process that are agents of `name`."""
    words = []
    for child in psutil.Process(life.pid).children(recursive=True):
        # One that ended meanwhile is no agent any more.
        with suppress(psutil.NoSuchProcess):
            words.append(" ".join(child.cmdline()))
    return [line for line in words if f"{name}-$KEY.txt" in line]


def most_at_once(meeting: Path) -> int:
    lines = (meeting / "log").read_text().split()
    at_work = [lines[:n].count("begin") - lines[:n].count("end") for n in range(len(lines) + 1)]
    return max(at_work)


def test_each_has_its_own_agents_and_all_one_bound(places: tuple[Place, Place], meeting: Path) -> None:
    orders = [
        Orders(place, name, goal=goal(name, meeting, waits=False, bound=BOUND))
        for name, place in zip(NAMES, places, strict=True)
    ]
    with started(orders[0]) as first, started(orders[1]) as second:
        assert (first.end(), second.end()) == (0, 0), first.told() + second.told()

    assert most_at_once(meeting) <= BOUND
    assert faults(places[0], content=False) == []


def test_agents_run_in_the_process_that_submitted(places: tuple[Place, Place], meeting: Path) -> None:
    with started(Orders(places[0], "first", goal=goal("first", meeting))) as first:
        until((meeting / "first").exists, first)
        assert leader(places[0]) == first.pid
        with started(Orders(places[1], "second", goal=goal("second", meeting))) as second:
            until(lambda: told_of_two(places[0]), second)
            assert agents_of(first, "first")
            assert not agents_of(first, "second")
            assert not agents_of(second, "first")
            (meeting / "go").touch()
            assert (first.end(), second.end()) == (0, 0), first.told() + second.told()

    assert faults(places[0], content=False) == []


def told_of_two(place: Place) -> bool:
    """Whether both Changes are in the store."""
    assert place.database_url is not None
    with PostgresStore(place.database_url) as store:
        types = [stored.envelope.type for stored in store.events.log(0, 1_000)]
    return types.count("change.created") == 2


@pytest.mark.parametrize("way", ["leaves", "is killed"])
def test_the_leader_goes_first(places: tuple[Place, Place], meeting: Path, way: str) -> None:
    with started(Orders(places[0], "first", goal=goal("first", meeting, waits=way == "is killed"))) as first:
        until(lambda: leader(places[0]) == first.pid, first)
        waiting = goal("second", meeting)
        with started(Orders(places[1], "second", goal=waiting)) as second:
            if way == "leaves":
                assert first.end() == 0, first.told()
            else:
                until((meeting / "first").exists, first)
                first.process.kill()
                first.process.join()
            (meeting / "go").touch()
            assert second.end() == 0, second.told()

    if way == "is killed":
        again = run(Orders(places[0], "again", goal=goal("first", meeting)))
        assert again.process.exitcode == 0, again.told()
    assert faults(places[0], content=False) == []
