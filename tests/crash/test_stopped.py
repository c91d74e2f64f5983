"""A process that is stopped for longer than its lease, and wakes up when another has gone on in its place."""

import signal
from pathlib import Path

import psutil

from infra.event_store.postgres import PostgresStore
from tests.crash.aftermath import faults
from tests.crash.driver import Orders, started, until
from tests.crash.lifecycle import AGENT, Goal, Place

LEASE_SECONDS = 1.5


def goal(meeting: Path) -> Goal:
    """Agents that say that they are at work, and wait for leave to go on."""
    line = f"touch {meeting}/at-work; while [ ! -e {meeting}/go ]; do sleep 0.05; done; {AGENT}"
    return Goal(agent=line, binds=(f"{meeting}:rw",), settings={"lease_seconds": LEASE_SECONDS})


def test_a_stopped_process_is_taken_over_and_its_writes_are_refused(place: Place, meeting: Path) -> None:
    with started(Orders(place, "first", goal=goal(meeting))) as first:
        until((meeting / "at-work").exists, first)
        first.send(signal.SIGSTOP)
        agents = psutil.Process(first.pid).children(recursive=True)
        with started(Orders(place, "second", goal=goal(meeting))) as second:
            until(lambda: holder(place) not in (None, first.pid), second)
            (meeting / "go").touch()
            # It wakes in the middle of the other's work: its agents have done theirs meanwhile.
            first.send(signal.SIGCONT)
            assert second.end() == 0, second.told()
        # Its follower sees the Change's end, whoever brought it there.
        assert first.end() == 0, first.told()
    _, alive = psutil.wait_procs(agents, timeout=30)

    assert alive == []
    assert "taken_over" in first.told() or "fenced" in first.told()
    assert faults(place) == []


def test_one_that_wakes_when_all_is_done_changes_nothing(place: Place, meeting: Path) -> None:
    (meeting / "go").touch()
    (meeting / "at-work").unlink(missing_ok=True)
    with started(Orders(place, "first", goal=goal(meeting))) as first:
        until((meeting / "at-work").exists, first)
        first.send(signal.SIGSTOP)
        with started(Orders(place, "second", goal=goal(meeting))) as second:
            assert second.end() == 0, second.told()
        before = last_position(place)
        first.send(signal.SIGCONT)
        assert first.end() == 0, first.told()

    assert last_position(place) == before
    assert faults(place) == []


def holder(place: Place) -> int | None:
    """The process that has the Change."""
    assert place.database_url is not None
    with PostgresStore(place.database_url) as store, store.transaction() as cursor:
        row = cursor.execute("SELECT holder FROM leases WHERE name LIKE 'change:%'").fetchone()
    return None if row is None or row["holder"] is None else int(str(row["holder"]).split("|")[3])


def last_position(place: Place) -> int:
    assert place.database_url is not None
    with PostgresStore(place.database_url) as store:
        return store.events.last_position()
