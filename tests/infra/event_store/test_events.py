"""The log: what a commit promises."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from commands.ports.store import Commit, DuplicateCommand, Handling, StoreError, VersionConflict
from domain.kernel.event import GENESIS_HASH
from domain.kernel.value import sha256_hex
from tests.infra.event_store.conftest import OpenStore
from tests.infra.event_store.samples import AT, NoteTaken, append, handled, notes


def test_an_empty_store_has_nothing(store: Any) -> None:
    assert store.events.last_position() == 0
    assert store.events.read("s") == ()
    assert store.events.log(0, 10) == ()
    assert store.events.handled("cmd-1") is None


def test_events_come_back_as_they_were_sealed(store: Any) -> None:
    written = notes("s", "one", "zwei ☃ \u0001 'quoted'", run="run_1_t1_1")
    position = store.events.commit(append(written))
    read = store.events.read("s")
    assert [s.envelope for s in read] == [sealed.envelope for sealed in written.events]
    assert [s.hash for s in read] == [sha256_hex(sealed.stored) for sealed in written.events]
    assert read[0].envelope.previous_hash == GENESIS_HASH
    assert read[1].envelope.previous_hash == read[0].hash
    assert read[0].envelope.at == AT
    assert isinstance(read[0].envelope.event, NoteTaken)
    assert position == read[-1].position == store.events.last_position()


def test_a_stream_is_read_behind_a_version(store: Any) -> None:
    store.events.commit(append(notes("s", "1", "2", "3")))
    assert [s.envelope.version for s in store.events.read("s", after=1)] == [2, 3]
    assert store.events.read("s", after=3) == ()


def test_the_log_is_read_in_pages_in_commit_order(store: Any) -> None:
    first, second = notes("a", "1", "2"), notes("b", "1")
    store.events.commit(append(first, second))
    store.events.commit(append(notes("a", "3", after=first.events[-1])))
    read, after = [], 0
    while page := store.events.log(after, 2):
        read += [s.envelope.id for s in page]
        after = page[-1].position
    assert read == ["a:1", "a:2", "b:1", "a:3"]


def test_a_stale_append_is_a_conflict_and_nothing_of_its_commit_is_there(store: Any) -> None:
    store.events.commit(append(notes("s", "1")))
    with pytest.raises(VersionConflict, match="s is at version 1, not 0"):
        store.events.commit(append(notes("other", "1"), notes("s", "again"), handled=(handled("cmd-2"),)))
    assert store.events.read("other") == ()
    assert store.events.handled("cmd-2") is None


def test_an_append_on_another_history_is_a_conflict(store: Any) -> None:
    store.events.commit(append(notes("s", "1")))
    elsewhere = notes("s", "something else")
    with pytest.raises(VersionConflict, match="another history"):
        store.events.commit(append(notes("s", "2", after=elsewhere.events[-1])))


def test_a_version_gap_within_an_append_is_refused(store: Any) -> None:
    written = notes("s", "1", "2", "3")
    gap = replace(written, events=(written.events[0], written.events[2]))
    with pytest.raises(StoreError, match="no gaps"):
        store.events.commit(append(gap))
    assert store.events.last_position() == 0


def test_an_event_of_another_stream_is_refused(store: Any) -> None:
    with pytest.raises(StoreError):
        store.events.commit(append(replace(notes("s", "1"), stream="t")))


def test_a_broken_chain_of_hashes_is_refused(store: Any) -> None:
    one, other = notes("s", "1", "2"), notes("s", "x", "y")
    with pytest.raises(StoreError, match="hash"):
        store.events.commit(append(replace(one, events=(one.events[0], other.events[1]))))


def test_a_stream_appears_once_in_a_commit(store: Any) -> None:
    with pytest.raises(StoreError, match="twice"):
        store.events.commit(append(notes("s", "1"), notes("s", "1")))


def test_an_append_without_events_still_checks_the_version(store: Any) -> None:
    store.events.commit(append(notes("s", "1")))
    unchanged = replace(notes("s"), expected_version=1)
    assert store.events.commit(append(unchanged)) == store.events.last_position()
    with pytest.raises(VersionConflict):
        store.events.commit(append(replace(unchanged, expected_version=2)))


@pytest.mark.parametrize(
    "more",
    [
        {"handling": Handling.DONE},
        {"handling": Handling.REFUSED, "reason": "it's [/b] 100% done"},
        {"handling": Handling.ALREADY, "payload": {"goal": "☃", "n": 1e16}, "causation": "c", "correlation": "d"},
    ],
)
def test_a_handled_command_comes_back(store: Any, more: dict[str, Any]) -> None:
    store.events.commit(Commit(handled=(handled("cmd-1", **more),)))
    assert store.events.handled("cmd-1") == handled("cmd-1", **more)


def test_a_reason_is_made_storable(store: Any) -> None:
    refused = handled("cmd-1", Handling.REFUSED, reason="no\0pe \ud800")
    store.events.commit(Commit(handled=(refused,)))
    assert store.events.handled("cmd-1").reason == "nope \ufffd"


def test_a_command_is_recorded_once_also_without_events(store: Any) -> None:
    store.events.commit(Commit(handled=(handled("cmd-1"),)))
    with pytest.raises(DuplicateCommand):
        store.events.commit(append(notes("s", "1"), handled=(handled("cmd-1"),)))
    assert store.events.read("s") == ()


def test_a_duplicate_is_told_before_a_conflict(store: Any) -> None:
    first = append(notes("s", "1"), handled=(handled("cmd-1"),))
    store.events.commit(first)
    with pytest.raises(DuplicateCommand):
        store.events.commit(first)


def test_one_commit_names_a_command_once(store: Any) -> None:
    with pytest.raises(DuplicateCommand):
        store.events.commit(Commit(handled=(handled("cmd-1"), handled("cmd-1"))))
    assert store.events.handled("cmd-1") is None


def test_of_two_writers_at_one_version_one_wins(open_store: OpenStore) -> None:
    stores = [open_store("a"), open_store("b")]
    barrier = threading.Barrier(2)

    def write(index: int) -> str:
        barrier.wait()
        try:
            stores[index].events.commit(append(notes("s", f"by {index}"), handled=(handled(f"cmd-{index}"),)))
        except VersionConflict:
            return "conflict"
        return "won"

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(write, range(2))) == ["conflict", "won"]
    assert len(stores[0].events.read("s")) == 1


def test_a_commit_wakes_those_who_listen_also_in_another_process(open_store: OpenStore) -> None:
    mine, theirs = open_store("a"), open_store("b")
    wake = threading.Event()
    mine.events.listen(wake)
    wake.clear()
    theirs.events.commit(append(notes("s", "1")))
    assert wake.wait(10)
    mine.events.unlisten(wake)
    mine.events.unlisten(wake)


def test_a_follower_meets_no_gap_under_concurrent_writers(open_store: OpenStore) -> None:
    writers, commits = 4, 100
    stores = [open_store(f"w{index}") for index in range(writers)]
    reader, wake, done = open_store("reader"), threading.Event(), threading.Event()
    reader.events.listen(wake)

    def write(index: int) -> None:
        last = None
        for number in range(commits):
            fresh = notes(f"s{index}", *("x" * (number % 3 + 1)), after=last)
            stores[index].events.commit(append(fresh))
            last = fresh.events[-1]

    followed: list[int] = []

    def follow() -> None:
        while True:
            finishing = done.is_set()
            wake.clear()
            while page := reader.events.log(followed[-1] if followed else 0, 7):
                followed.extend(stored.position for stored in page)
            if finishing:
                return
            wake.wait(10)

    with ThreadPoolExecutor(writers + 1) as pool:
        following = pool.submit(follow)
        for writing in [pool.submit(write, index) for index in range(writers)]:
            writing.result()
        done.set()
        wake.set()
        following.result()
    everything = [stored.position for stored in reader.events.log(0, 100_000)]
    assert followed == everything
    assert len(everything) == sum(number % 3 + 1 for number in range(commits)) * writers
