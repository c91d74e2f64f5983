"""Messages between router and handlers."""

import threading
from typing import Any

import pytest

from commands.ports.store import Commit, Handling
from tests.infra.event_store.samples import AT, append, handled, later, message, notes


def due_ids(store: Any, at: float = 0, **more: Any) -> list[str]:
    return [entry.message.message_id for entry in store.outbox.due(later(at), 100, **more)]


def test_a_message_comes_back_as_it_was_sent(store: Any) -> None:
    sent = message("m1", change=None, causation=None, correlation=None)
    store.events.commit(Commit(messages=(sent,)))
    (entry,) = store.outbox.due(AT, 10)
    assert entry.message == sent
    assert (entry.attempts, entry.last_error) == (0, "")


def test_the_oldest_message_comes_first_up_to_the_limit(store: Any) -> None:
    store.events.commit(Commit(messages=tuple(message(f"m{n}") for n in (3, 1, 2))))
    store.events.commit(Commit(messages=(message("m0"),)))
    assert due_ids(store) == ["m3", "m1", "m2", "m0"]
    assert [e.message.message_id for e in store.outbox.due(AT, 2)] == ["m3", "m1"]


def test_only_messages_of_the_given_changes(store: Any) -> None:
    store.events.commit(Commit(messages=tuple(message(f"m{n}", change=f"chg_{n}") for n in range(3))))
    assert due_ids(store, changes=["chg_0", "chg_2"]) == ["m0", "m2"]
    assert due_ids(store, changes=[]) == []


def test_a_known_message_is_not_sent_again(store: Any) -> None:
    store.events.commit(Commit(messages=(message("m1", name="first"),)))
    store.events.commit(Commit(messages=(message("m1", name="second"), message("m2"))))
    assert [e.message.name for e in store.outbox.due(AT, 10)] == ["first", "candidate.create"]


@pytest.mark.parametrize("handling", list(Handling))
def test_handling_closes_the_message_for_good(store: Any, handling: Handling) -> None:
    store.events.commit(Commit(messages=(message("m1"), message("m2"))))
    store.events.commit(append(notes("s", "1"), handled=(handled("m1", handling, reason="because"),)))
    store.events.commit(Commit(messages=(message("m1"),)))
    assert due_ids(store) == ["m2"]


def test_a_message_whose_command_was_handled_before_is_never_sent(store: Any) -> None:
    store.events.commit(Commit(handled=(handled("m1"),)))
    store.events.commit(Commit(messages=(message("m1"),)))
    with store.transaction() as cursor:
        store.outbox.insert(cursor, [message("m1")])
    assert due_ids(store) == []


def test_a_refused_commit_sends_and_closes_nothing(store: Any) -> None:
    store.events.commit(append(notes("s", "1"), messages=(message("m1"),)))
    with pytest.raises(Exception, match="version 1"):
        store.events.commit(append(notes("s", "1"), handled=(handled("m1"),), messages=(message("m2"),)))
    assert due_ids(store) == ["m1"]


def test_not_before_holds_a_message_back(store: Any) -> None:
    store.events.commit(Commit(messages=(message("m1", not_before=later(10)), message("m2"))))
    assert due_ids(store) == ["m2"]
    assert due_ids(store, at=10) == ["m1", "m2"]


def test_a_clock_that_went_back_holds_no_message_for_long(store: Any) -> None:
    store.events.commit(Commit(messages=(message("m1"),)))
    store.outbox.defer("m1", later(5))
    assert due_ids(store, at=-300) == []
    assert due_ids(store, at=-86_400) == ["m1"]


def test_deferring_counts_no_failure(store: Any) -> None:
    store.events.commit(Commit(messages=(message("m1"),)))
    store.outbox.defer("m1", later(5))
    assert due_ids(store, at=4) == []
    (entry,) = store.outbox.due(later(5), 10)
    assert (entry.attempts, entry.message.not_before) == (0, later(5))


def test_failures_are_counted_with_reason_and_back_off(store: Any) -> None:
    store.events.commit(Commit(messages=(message("m1"),)))
    assert store.outbox.failed("m1", "broke\0n", later(1)) == 1
    assert store.outbox.failed("m1", "again", later(2)) == 2
    assert due_ids(store, at=1) == []
    (entry,) = store.outbox.due(later(2), 10)
    assert (entry.attempts, entry.last_error) == (2, "again")


def test_a_buried_message_is_dead_until_revived(store: Any) -> None:
    store.events.commit(Commit(messages=(message("m1"), message("m2"))))
    store.outbox.failed("m1", "first", later(0))
    store.outbox.bury("m1", "poison", later(3))
    assert due_ids(store, at=100) == ["m2"]
    (dead,) = store.outbox.dead(10)
    assert (dead.message.message_id, dead.last_error, dead.attempts) == ("m1", "poison", 1)
    assert store.outbox.failed("m1", "late", later(4)) == 0
    assert store.outbox.revive("m1")
    assert store.outbox.dead(10) == ()
    assert [e.attempts for e in store.outbox.due(later(0), 10)] == [0, 0]


def test_only_the_dead_are_revived(store: Any) -> None:
    store.events.commit(Commit(messages=(message("m1"), message("m2"))))
    store.outbox.bury("m2", "poison", AT)
    store.events.commit(Commit(handled=(handled("m2"),)))
    assert not store.outbox.revive("m1")
    assert not store.outbox.revive("m2")
    assert not store.outbox.revive("unknown")
    assert store.outbox.dead(10) == ()


def test_what_is_handled_is_neither_deferred_nor_failed_nor_buried(store: Any) -> None:
    store.events.commit(Commit(messages=(message("m1"),)))
    store.events.commit(Commit(handled=(handled("m1"),)))
    store.outbox.defer("m1", later(1))
    store.outbox.bury("m1", "late", AT)
    assert store.outbox.failed("m1", "late", later(1)) == 0
    assert (due_ids(store, at=100), store.outbox.dead(10)) == ([], ())


def test_messages_commit_with_the_position_of_their_sender(store: Any) -> None:
    wake = threading.Event()
    store.events.listen(wake)
    wake.clear()
    with store.transaction() as cursor:
        store.outbox.insert(cursor, [message("m1"), message("m2"), message("m1", name="again")])
        store.tracking.advance(cursor, "router", 4)
    assert due_ids(store) == ["m1", "m2"]
    assert wake.wait(10)


def test_messages_of_a_failed_transaction_are_not_there(store: Any) -> None:
    def crash() -> None:
        with store.transaction() as cursor:
            store.outbox.insert(cursor, [message("m1")])
            store.tracking.advance(cursor, "router", 4)
            raise RuntimeError("crash")

    with pytest.raises(RuntimeError, match="crash"):
        crash()
    assert (due_ids(store), store.tracking.position("router")) == ([], 0)
