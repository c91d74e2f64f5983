"""Trouble with the store in the middle of work costs time at most; a defect of the engine is told, not waited out."""

from collections.abc import Callable
from typing import Any

import pytest

from commands.perform.performance import Performance
from commands.ports.git import RepositoryError
from commands.ports.store import StoreFull
from domain.change.status import ChangeStatus
from infra.session import LocalSession
from tests.support.app import Process


def full_once(real: Callable[..., Any]) -> tuple[Callable[..., Any], list[object]]:
    """`real`, whose first call finds a full disk; and the calls that did."""
    refused: list[object] = []

    def call(*arguments: Any, **keywords: Any) -> Any:
        if not refused:
            refused.append(arguments)
            raise StoreFull("the database's disk is full")
        return real(*arguments, **keywords)

    return call, refused


@pytest.mark.parametrize(
    ("part", "name"),
    [("slots", "free"), ("slots", "take"), ("effects", "begin"), ("effects", "open")],
)
def test_a_full_disk_at_any_step_of_the_engine_is_got_over(
    process: Process, monkeypatch: pytest.MonkeyPatch, part: str, name: str
) -> None:
    store = getattr(process.app.ctx, part)
    call, refused = full_once(getattr(store, name))
    monkeypatch.setattr(store, name, call)

    state = process.run("echo two > value.txt")

    assert refused
    assert state.status is ChangeStatus.COMPLETED
    process.app.runner.wait_step(5)
    assert process.app.store.slots.take("another", 1)


def test_a_full_disk_at_the_end_of_a_run_is_got_over(process: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    change = process.submit("echo two > value.txt")
    process.wait_for(change, lambda stored: stored.envelope.type == "run.started")
    call, refused = full_once(process.app.store.events.commit)
    monkeypatch.setattr(process.app.store.events, "commit", call)

    state = process.finish(change)

    assert refused
    assert state.status is ChangeStatus.COMPLETED


def test_a_defect_of_the_engine_is_told(process: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    class Defect(Exception):
        pass

    def broken(*_: object) -> bool:
        raise Defect("not foreseen")

    process.app.runner.require_alive()
    monkeypatch.setattr(process.app.ctx.effects, "begin", broken)

    with pytest.raises(Defect):
        process.run("echo two > value.txt")


def test_an_effect_that_always_fails_ends_the_following_and_goes_on_when_asked(
    process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(performance: Performance) -> None:
        raise RepositoryError("the repository is damaged")

    sound = process.app.engine.performers
    monkeypatch.setattr("infra.session.TROUBLED_ATTEMPTS", 2)
    process.app.engine.performers = {**sound, "compose": broken}
    told: list[str] = []
    session = LocalSession(process.app, told.append)

    change = session.submit(process.submission("echo two > value.txt")).change
    for _ in session.follow(change):
        pass

    assert process.state(change).status is ChangeStatus.VERIFYING
    assert any("the repository is damaged" in text for text in told)
    process.app.engine.performers = sound
    session.adopt(change)
    assert process.finish(change).status is ChangeStatus.COMPLETED
