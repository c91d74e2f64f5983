"""The router's home, in the database and in memory, and the router on both."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest

from commands.message import Name, derived
from commands.ports.store import Commit, EventStore, FenceLost, Lease, Sealed, StreamAppend
from domain.change.event import ChangeCreated
from domain.kernel.event import GENESIS_HASH, BlobRef, Command, seal
from infra.event_store.errors import TrackingConflict
from infra.event_store.memory import MemoryStore
from infra.event_store.postgres import PostgresStore
from infra.runtime.router import Router
from infra.runtime.router_home import MemoryRouterHome, PostgresRouterHome, RouterHome
from routers.causal.view import ChangeView

AT = datetime(2026, 1, 2, tzinfo=UTC)
PROJECT = "prj_00000000-0000-0000-0000-000000000001"
BLOB = BlobRef(sha256="a" * 64, size=1)


class Rig:
    """A store and the router's home on it."""

    def __init__(self, store: PostgresStore | MemoryStore, home: RouterHome) -> None:
        self.store, self.home = store, home

    @property
    def events(self) -> EventStore:
        return self.store.events

    def due(self) -> list[str]:
        return [each.message.message_id for each in self.store.outbox.due(AT, 100)]

    def lease(self) -> Lease:
        lease = self.store.leases.acquire("leader")
        assert lease is not None
        return lease


@contextmanager
def on_postgres(url: str) -> Iterator[Rig]:
    with PostgresStore(url) as store:
        yield Rig(store, PostgresRouterHome(store))


@pytest.fixture(params=["postgres", "memory"])
def rig(request: pytest.FixtureRequest) -> Iterator[Rig]:
    if request.param == "memory":
        store = MemoryStore(time.monotonic)
        yield Rig(store, MemoryRouterHome(store))
        return
    with on_postgres(request.getfixturevalue("database_url")) as made:
        yield made


def view(number: int, status: str = "running") -> ChangeView:
    change = f"chg_00000000-0000-0000-0000-{number:012}"
    return ChangeView(change=change, project=PROJECT, status=status, approver_in_advance=None)


def submitted(rig: Rig, number: int) -> str:
    change = view(number).change
    event = ChangeCreated(
        change=change,
        project=PROJECT,
        requester="usr_1",
        client_request_id=str(number),
        goal=BLOB,
        settings=BLOB,
        base_generation=0,
        base_commit="c",
        budget=1,
        policy="policy-1",
    )
    command = Command(command_id=f"cmd_{number}", actor="usr_1", at=AT, correlation=change)
    envelope, stored, digest = seal(change, 1, GENESIS_HASH, event, command)
    rig.events.commit(Commit(appends=(StreamAppend(change, 0, (Sealed(envelope, stored, digest),)),)))
    return change


def test_views_messages_and_position_go_together(rig: Rig) -> None:
    message = derived(Name.PLAN, cause="e:1", at=AT, project=PROJECT, change=view(1).change)

    rig.home.commit([view(1), view(2, "completed")], [message], 5, rig.lease())

    assert rig.home.position() == 5
    assert rig.home.load(view(1).change) == view(1)
    assert rig.home.load(view(3).change) is None
    assert rig.home.open_of(PROJECT) == (view(1),)
    assert rig.due() == ["e:1/change.plan"]


def test_a_view_is_replaced(rig: Rig) -> None:
    rig.home.commit([view(1)], [], 1, None)
    rig.home.commit([view(1, "failed")], [], 2, None)
    assert rig.home.load(view(1).change) == view(1, "failed")
    assert rig.home.open_of(PROJECT) == ()


def test_another_router_that_was_there_already_is_noticed(rig: Rig) -> None:
    rig.home.commit([], [], 5, None)
    with pytest.raises(TrackingConflict):
        rig.home.commit([view(1)], [], 5, None)
    assert rig.home.load(view(1).change) is None


def test_who_leads_no_more_routes_nothing(database_url: str) -> None:
    with on_postgres(database_url) as rig:
        lease = rig.lease()
        rig.store.leases.release(lease)
        change = submitted(rig, 1)
        router = Router(rig.events, rig.home)

        with pytest.raises(FenceLost):
            router.step(lease)
        assert (rig.home.position(), rig.home.load(change), rig.due()) == (0, None, [])

        assert router.step(rig.lease())
        assert rig.due() == [f"{change}:1/change.plan"]


def test_the_router_goes_on_from_where_it_was(rig: Rig) -> None:
    first = submitted(rig, 1)
    assert Router(rig.events, rig.home).step(None)
    second = submitted(rig, 2)
    again = Router(rig.events, rig.home)

    assert again.step(None)
    assert not again.step(None)
    assert rig.due() == [f"{first}:1/change.plan", f"{second}:1/change.plan"]
    assert [kept.change for kept in rig.home.open_of(PROJECT)] == [first, second]
