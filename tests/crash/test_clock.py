"""The wall clock jumps a day while agents work: no lease is lost by it, and nothing waits for the day to pass."""

import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from commands.context import Deferred
from commands.effect import EffectKind
from commands.perform.performance import Performance, Performer
from domain.change.status import ChangeStatus
from infra.runtime.performers import PERFORMERS
from tests.support.app import Process

DAY = timedelta(days=1)


class JumpingClock:
    """The real clock, until somebody sets it."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead


@pytest.fixture
def clock(process: Process) -> JumpingClock:
    """The clock of everything in `process`."""
    clock = JumpingClock()
    app = process.app
    app.ctx = app.engine.ctx = process.session.ctx = replace(app.ctx, clock=clock)
    return clock


def once(first: Performer, then: Performer) -> Performer:
    """`first` the first time, from then on `then`."""
    performers = iter((first,))
    lock = threading.Lock()

    def performer(performance: Performance) -> None:
        with lock:
            chosen = next(performers, then)
        chosen(performance)

    return performer


@pytest.mark.parametrize("jump", [DAY, -DAY], ids=["forward", "back"])
@pytest.mark.parametrize("kind", [EffectKind.PLAN, EffectKind.RUN, EffectKind.CHECK, EffectKind.EXPORT])
def test_a_jump_in_the_middle_of_work_changes_nothing(
    process: Process, clock: JumpingClock, kind: EffectKind, jump: timedelta
) -> None:
    def jumps(performance: Performance) -> None:
        clock.ahead += jump
        process.app.engine.heartbeat()
        PERFORMERS[kind](performance)

    process.app.engine.performers = {**PERFORMERS, kind: once(jumps, PERFORMERS[kind])}
    change = process.submit("echo two > value.txt")
    lease = process.app.ctx.writer.held.get(change)

    state = process.finish(change)

    assert state.status is ChangeStatus.COMPLETED, state.reason
    assert [task.attempt for task in state.tasks.values()] == [1]
    assert process.app.ctx.writer.held.get(change) == lease


def put_off(_performance: Performance) -> None:
    raise Deferred("not now", 60)


def test_what_was_put_off_before_the_clock_went_back_is_not_put_off_for_a_day(
    process: Process, clock: JumpingClock
) -> None:
    performer = once(put_off, PERFORMERS[EffectKind.CHECK])
    process.app.engine.performers = {**PERFORMERS, EffectKind.CHECK: performer}
    change = process.submit("echo two > value.txt")
    while not any(e.kind == EffectKind.CHECK and e.not_before for e in process.app.store.effects.of_change(change)):
        process.app.runner.wait_step(0.2)
        process.app.runner.require_alive()

    clock.ahead -= DAY

    assert process.finish(change).status is ChangeStatus.COMPLETED
