"""Leases, fences and slots."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from commands.ports.store import Commit, FenceLost, Lease
from infra.event_store.process import ProcessIdentity
from tests.infra.event_store.conftest import LEASE_TTL, FakeClock, OpenStore
from tests.infra.event_store.samples import append, handled, notes


@pytest.fixture
def gone() -> str:
    """The holder's name of a process of this machine that is over."""
    script = "from infra.event_store.process import ProcessIdentity; print(ProcessIdentity.current())"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_free_lease_is_taken_once(open_store: OpenStore) -> None:
    mine, theirs = open_store("a"), open_store("b")
    assert mine.leases.holder_of("leader") is None
    assert mine.leases.acquire("leader") == Lease("leader", "a", 1)
    assert theirs.leases.acquire("leader") is None
    assert theirs.leases.holder_of("leader") == "a"
    assert mine.leases.acquire("leader") == Lease("leader", "a", 1)


def test_a_released_lease_goes_on_with_a_higher_epoch(open_store: OpenStore) -> None:
    mine, theirs = open_store("a"), open_store("b")
    lease = mine.leases.acquire("leader")
    mine.leases.release(lease)
    assert mine.leases.holder_of("leader") is None
    assert theirs.leases.acquire("leader") == Lease("leader", "b", 2)
    mine.leases.release(lease)
    assert theirs.leases.holder_of("leader") == "b"


def test_a_lease_expires_after_its_counter_stood_still_for_the_ttl_on_the_watchers_clock(
    open_store: OpenStore, clock: FakeClock
) -> None:
    mine, theirs = open_store("a"), open_store("b")
    lease = mine.leases.acquire("leader")
    assert theirs.leases.acquire("leader") is None
    clock.advance(LEASE_TTL - 1)
    assert theirs.leases.acquire("leader") is None
    clock.advance(1)
    assert theirs.leases.acquire("leader") == Lease("leader", "b", 2)
    assert not mine.leases.renew(lease)
    assert mine.leases.acquire("leader") is None


def test_a_watcher_that_comes_late_waits_a_whole_ttl(open_store: OpenStore, clock: FakeClock) -> None:
    mine, theirs = open_store("a"), open_store("b")
    mine.leases.acquire("leader")
    clock.advance(1_000 * LEASE_TTL)
    assert theirs.leases.acquire("leader") is None


def test_each_heartbeat_starts_the_ttl_again(open_store: OpenStore, clock: FakeClock) -> None:
    mine, theirs = open_store("a"), open_store("b")
    lease = mine.leases.acquire("leader")
    for _ in range(5):
        assert theirs.leases.acquire("leader") is None
        clock.advance(LEASE_TTL - 1)
        assert mine.leases.renew(lease)


def test_the_lease_of_a_process_that_is_gone_is_taken_at_once(open_store: OpenStore, gone: str) -> None:
    dead, mine = open_store(gone), open_store("a")
    dead.leases.acquire("leader")
    assert mine.leases.acquire("leader") == Lease("leader", "a", 2)


def test_a_living_process_keeps_its_lease(open_store: OpenStore) -> None:
    living, mine = open_store(str(ProcessIdentity.current("other"))), open_store("a")
    living.leases.acquire("leader")
    assert mine.leases.acquire("leader") is None


def test_of_many_watchers_one_takes_over(open_store: OpenStore, gone: str) -> None:
    open_store(gone).leases.acquire("leader")
    watchers = [open_store(f"w{n}") for n in range(4)]
    with ThreadPoolExecutor(4) as pool:
        taken = [lease for lease in pool.map(lambda w: w.leases.acquire("leader"), watchers) if lease]
    assert [lease.epoch for lease in taken] == [2]


def test_a_commit_under_a_lease_that_was_taken_over_is_refused_whole(open_store: OpenStore, clock: FakeClock) -> None:
    mine, theirs = open_store("a"), open_store("b")
    old = mine.leases.acquire("change chg_1")
    mine.events.commit(append(notes("s", "1"), fences=(old,)))
    theirs.leases.acquire("change chg_1")
    clock.advance(LEASE_TTL)
    new = theirs.leases.acquire("change chg_1")
    last = mine.events.read("s")[-1]
    with pytest.raises(FenceLost):
        mine.events.commit(append(notes("s", "2", after=last), handled=(handled("c"),), fences=(old,)))
    assert mine.events.handled("c") is None
    theirs.events.commit(append(notes("s", "2", after=last), fences=(new,)))


@pytest.mark.parametrize("wrong", [{"epoch": 2}, {"holder": "b"}, {"name": "unknown"}])
def test_a_fence_must_match_whole(store: Any, wrong: dict[str, Any]) -> None:
    lease = store.leases.acquire("leader")
    with pytest.raises(FenceLost):
        store.events.commit(Commit(handled=(handled("c"),), fences=(replace(lease, **wrong),)))


def test_a_released_lease_fences_no_more(store: Any) -> None:
    lease = store.leases.acquire("leader")
    store.leases.release(lease)
    with pytest.raises(FenceLost):
        store.events.commit(Commit(handled=(handled("c"),), fences=(lease,)))


def test_slots_are_bounded_across_processes(open_store: OpenStore) -> None:
    mine, theirs = open_store("a"), open_store("b")
    assert mine.slots.take("run_1", 2)
    assert theirs.slots.take("run_2", 2)
    assert not mine.slots.take("run_3", 2)
    assert mine.slots.take("run_1", 2)
    theirs.slots.free("run_2")
    theirs.slots.free("run_2")
    assert mine.slots.take("run_3", 2)


def test_nobody_frees_or_renews_anothers_slot(open_store: OpenStore) -> None:
    mine, theirs = open_store("a"), open_store("b")
    assert mine.slots.take("run_1", 1)
    assert theirs.slots.take("run_1", 1), "the run was taken over, and its slot with it"
    mine.slots.renew("run_1")
    mine.slots.free("run_1")
    assert not mine.slots.take("run_2", 1)


def test_what_is_gone_holds_nothing_after_tidying_up(open_store: OpenStore, gone: str) -> None:
    dead, mine = open_store(gone), open_store("a")
    for store in (dead, mine):
        assert store.leases.acquire(f"lease of {store.leases.holder}")
        assert store.slots.take(f"slot of {store.leases.holder}", 9)

    mine.leases.release_gone()
    mine.slots.free_gone()

    assert mine.leases.holder_of(f"lease of {gone}") is None
    assert mine.leases.holder_of("lease of a") == "a"
    assert mine.slots.take("another", 2)
    assert not mine.slots.take("one too many", 2)


@pytest.fixture
def stopped() -> Iterator[str]:
    """The identity of a process that is stopped."""
    with subprocess.Popen(["sleep", "600"]) as process:
        process.send_signal(signal.SIGSTOP)
        while psutil.Process(process.pid).status() != psutil.STATUS_STOPPED:
            continue
        started = ProcessIdentity.current()
        ticks = int(Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[19])
        yield str(replace(started, pid=process.pid, started=ticks))
        process.kill()


def test_a_stopped_process_is_silent_and_loses_its_slot(open_store: OpenStore, clock: FakeClock, stopped: str) -> None:
    theirs, mine = open_store(stopped), open_store("a")
    theirs.leases.acquire("change chg_1")
    assert theirs.slots.take("run_1", 1)
    assert mine.leases.is_silent("change chg_1")
    assert not mine.slots.take("run_2", 1)
    clock.advance(LEASE_TTL - 1)
    theirs.slots.renew("run_1")
    assert not mine.slots.take("run_2", 1)
    clock.advance(LEASE_TTL)
    assert mine.slots.take("run_2", 1)


def test_a_living_process_and_oneself_are_not_silent(open_store: OpenStore) -> None:
    living, mine = open_store(str(ProcessIdentity.current("other"))), open_store("a")
    living.leases.acquire("theirs")
    mine.leases.acquire("ours")
    assert [mine.leases.is_silent(name) for name in ("theirs", "ours", "nobody's")] == [False, False, False]


def test_no_more_than_the_bound_under_contention(open_store: OpenStore) -> None:
    stores = [open_store(f"p{n}") for n in range(4)]
    with ThreadPoolExecutor(4) as pool:
        taken = list(pool.map(lambda n: stores[n % 4].slots.take(f"run_{n}", 3), range(20)))
    assert sum(taken) == 3


def test_slots_of_a_process_that_is_gone_are_freed(open_store: OpenStore, gone: str) -> None:
    dead, mine = open_store(gone), open_store("a")
    assert dead.slots.take("run_1", 1)
    assert mine.slots.take("run_2", 1)
    assert not mine.slots.take("run_1", 1)


def test_slots_of_a_living_process_stay(open_store: OpenStore, clock: FakeClock) -> None:
    living, mine = open_store(str(ProcessIdentity.current("other"))), open_store("a")
    assert living.slots.take("run_1", 1)
    assert not mine.slots.take("run_2", 1)
    clock.advance(10 * LEASE_TTL)
    assert not mine.slots.take("run_2", 1)


def test_a_slot_of_another_machine_is_freed_when_its_owner_is_silent(open_store: OpenStore, clock: FakeClock) -> None:
    elsewhere = str(replace(ProcessIdentity.current(), boot="another"))
    theirs, mine = open_store(elsewhere), open_store("a")
    assert theirs.slots.take("run_1", 1)
    assert not mine.slots.take("run_2", 1)
    clock.advance(LEASE_TTL - 1)
    assert theirs.slots.take("run_1", 1)
    assert not mine.slots.take("run_2", 1)
    clock.advance(LEASE_TTL)
    assert mine.slots.take("run_2", 1)
