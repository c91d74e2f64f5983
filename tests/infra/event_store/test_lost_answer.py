"""A lost acknowledgement of a commit is not a failure, and nothing happens twice."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from commands.ports.store import Commit, DuplicateCommand, VersionConflict
from infra.event_store.datastore import PoolSettings
from infra.event_store.postgres import PostgresStore
from tests.infra.event_store.samples import AT, append, handled, intent, message, notes
from tests.support.lossy_link import LossyLink


@pytest.fixture
def link(database_url: str) -> Iterator[LossyLink]:
    with tempfile.TemporaryDirectory(prefix="rl-") as folder, LossyLink(database_url, Path(folder)) as link:
        yield link


@pytest.fixture
def store(link: LossyLink) -> Iterator[PostgresStore]:
    store = PostgresStore(link.dsn, pool=PoolSettings(max_size=1))
    # The statement is prepared now, so that the next exchange is the commit itself.
    store.events.commit(append(notes("warm", "1"), handled=(handled("warm"),)))
    yield store
    store.close()


@pytest.fixture
def beside(database_url: str) -> Iterator[PostgresStore]:
    with PostgresStore(database_url) as store:
        yield store


COMMITS = {
    "events and a command": append(notes("s", "1", "2"), handled=(handled("c"),)),
    "events only": append(notes("s", "1")),
    "a command only": Commit(handled=(handled("c", reason="no\0pe", payload={"a": [1]}),)),
    "messages and effects only": Commit(messages=(message("m1"),), effects=(intent("e1"),)),
}


@pytest.mark.parametrize("what", COMMITS)
@pytest.mark.parametrize("lost", ["answer", "request"])
def test_a_commit_whose_exchange_is_lost_is_there_once(
    link: LossyLink, store: PostgresStore, what: str, lost: str
) -> None:
    commit = COMMITS[what]
    link.lose_answer() if lost == "answer" else link.lose_request()
    position = store.events.commit(commit)
    assert link.lost == 1
    assert position == store.events.last_position() == 1 + sum(len(a.events) for a in commit.appends)
    for written in commit.appends:
        assert [s.hash for s in store.events.read(written.stream)] == [event.hash for event in written.events]
    assert [m.message.message_id for m in store.outbox.due(AT, 9)] == [m.message_id for m in commit.messages]
    assert [e.effect_id for e in store.effects.open(AT)] == [e.effect_id for e in commit.effects]


def test_after_a_lost_request_the_commit_of_another_is_still_a_conflict(
    link: LossyLink, store: PostgresStore, beside: PostgresStore
) -> None:
    link.lose_request()
    original = store.events.recorder.insert_events
    tries = 0

    def overtaken(*arguments: object, **more: object) -> object:
        nonlocal tries
        tries += 1
        if tries == 2:
            beside.events.commit(append(notes("s", "by another")))
        return original(*arguments, **more)  # type: ignore[arg-type]

    store.events.recorder.insert_events = overtaken  # type: ignore[method-assign,assignment]
    with pytest.raises(VersionConflict):
        store.events.commit(append(notes("s", "mine"), handled=(handled("c"),)))
    assert (tries, link.lost) == (2, 1)
    assert store.events.handled("c") is None


def test_without_a_lost_answer_a_repeated_commit_is_a_duplicate(store: PostgresStore) -> None:
    commit = COMMITS["events and a command"]
    store.events.commit(commit)
    with pytest.raises(DuplicateCommand):
        store.events.commit(commit)


def test_a_lost_read_is_read_again(link: LossyLink, store: PostgresStore) -> None:
    assert len(store.events.log(0, 10)) == 1
    link.lose_answer()
    assert len(store.events.log(0, 10)) == 1
    assert link.lost == 1
