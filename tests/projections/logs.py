"""Logs for the tests of read models: events in envelopes, with positions."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

from domain.kernel.event import GENESIS_HASH, Command, Envelope, Event, seal
from infra.bench.synthetic import History
from projections.core import Key, ReadModel, Row
from projections.fold import FanOut, Fold

AT = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
CHG = "chg_00000000-0000-4000-8000-000000000001"
T1 = "tsk_00000000-0000-4000-8000-000000000001_t1"
PRJ = "prj_00000000-0000-4000-8000-000000000002"


def enveloped(stream: str, events: Iterable[Event], actor: str = "usr_ada") -> list[tuple[int, Envelope]]:
    """The events of one stream, a second apart, at positions from 1 on."""
    log: list[tuple[int, Envelope]] = []
    hash_ = GENESIS_HASH
    for number, event in enumerate(events, 1):
        command = Command(command_id=f"cmd-{number}", actor=actor, at=AT + timedelta(seconds=number))
        envelope, _, hash_ = seal(stream, number, hash_, event, command)
        log.append((number, envelope))
    return log


def made_up(seed: int, events: int) -> list[tuple[int, Envelope]]:
    """A possible history of many streams."""
    return list(enumerate(_envelopes(seed, events), 1))


def _envelopes(seed: int, events: int) -> Iterator[Envelope]:
    for commit in History(seed, projects=2, in_flight=3).commits(events):
        for append in commit.appends:
            for sealed in append.events:
                yield sealed.envelope


def folded(model: ReadModel, log: list[tuple[int, Envelope]]) -> dict[Key, Row]:
    """The rows after this log; every event has to fit."""
    fold = Fold(model)
    FanOut([fold]).feed(log)
    assert fold.failure is None, fold.failure
    return fold.rows
