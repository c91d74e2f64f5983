"""What a Release decides. A failed release never deletes canonical history: recovery is one more generation."""

from typing import Final

from domain.kernel.decider import Decider
from domain.kernel.errors import InvalidInput, NotFound
from domain.kernel.event import Command, Event
from domain.release.command import (
    BuildRelease,
    FailRelease,
    QueueRelease,
    RecordSmokeCheck,
    RecordSmokeFailure,
    RecoverRelease,
)
from domain.release.error import NotStuck
from domain.release.event import (
    FailReason,
    ReleaseBuilding,
    Released,
    ReleaseDeployed,
    ReleaseFailed,
    ReleaseQueued,
    ReleaseSmokeFailed,
    ReleaseSuperseded,
)
from domain.release.state import ReleaseState, evolve
from domain.release.status import RELEASE_STUCK_AFTER, RELEASE_TABLE, ReleaseStatus


def decide(state: ReleaseState | None, command: Command) -> tuple[Event, ...]:
    """The events of `command`; `()` when it is already so.

    Raises:
        DomainError: the rules refuse it.
    """
    match command:
        case QueueRelease():
            return _queue(state, command)
        case RecoverRelease():
            return _recover(state, command)
    if state is None:
        raise NotFound("release", "of that generation")
    match command:
        case BuildRelease():
            return _build(state, command)
        case FailRelease():
            return _fail(state, command)
        case RecordSmokeCheck():
            return _record_smoke_check(state, command)
        case RecordSmokeFailure():
            return _record_smoke_failure(state, command)
    raise InvalidInput(f"a Release has no command {type(command).__name__}")


def _require_same(state: ReleaseState, released: Released) -> None:
    if state.released != released:
        raise InvalidInput(f"release {state.id} is about commit {state.released.commit}")


def _queue(state: ReleaseState | None, command: QueueRelease) -> tuple[Event, ...]:
    if state is None:
        return (ReleaseQueued(released=command.released),)
    _require_same(state, command.released)
    return ()


def _build(state: ReleaseState, command: BuildRelease) -> tuple[Event, ...]:
    if state.status is not ReleaseStatus.QUEUED:
        return ()
    released = state.released
    if command.canonical_generation > released.generation:
        return (ReleaseSuperseded(generation=command.canonical_generation),)
    if (command.canonical_generation, command.canonical_commit) != (released.generation, released.commit):
        return (ReleaseFailed(reason=FailReason.NOT_CANONICAL, released=None),)
    if command.target is None:
        return (ReleaseFailed(reason=FailReason.NO_TARGET, released=None),)
    return (ReleaseBuilding(target=command.target),)


def _fail(state: ReleaseState, command: FailRelease) -> tuple[Event, ...]:
    if state.status is ReleaseStatus.FAILED:
        return ()
    if state.status is not ReleaseStatus.BUILDING:
        # Only a build can lack its bundle or leave the pointer; the table's arrow from queued has other reasons.
        raise InvalidInput(f"release {state.id} is {state.status}, not building")
    return (ReleaseFailed(reason=command.reason, released=None),)


def _record_smoke_check(state: ReleaseState, command: RecordSmokeCheck) -> tuple[Event, ...]:
    if state.status is not ReleaseStatus.BUILDING:
        return _after_build(state)
    if command.canonical_generation > state.released.generation:
        return (ReleaseSuperseded(generation=command.canonical_generation),)
    if not command.passed:
        return (ReleaseSmokeFailed(smoke=command.output),)
    return (ReleaseDeployed(bundle=command.bundle, smoke=command.output),)


def _after_build(state: ReleaseState) -> tuple[Event, ...]:
    """A smoke check of a release that is over says nothing new; one of a release that wasn't built is refused."""
    if state.status is ReleaseStatus.QUEUED:
        RELEASE_TABLE.require(state.id, state.status, ReleaseDeployed.type)
    return ()


def _record_smoke_failure(state: ReleaseState, command: RecordSmokeFailure) -> tuple[Event, ...]:
    if state.status is ReleaseStatus.SMOKE_FAILED:
        return ()
    if state.status is ReleaseStatus.BUILDING:
        raise InvalidInput(f"release {state.id} isn't deployed yet: its own smoke check decides")
    RELEASE_TABLE.require(state.id, state.status, ReleaseSmokeFailed.type)
    return (ReleaseSmokeFailed(smoke=command.output),)


def _recover(state: ReleaseState | None, command: RecoverRelease) -> tuple[Event, ...]:
    if state is not None:
        _require_same(state, command.released)
        if state.status not in (ReleaseStatus.QUEUED, ReleaseStatus.BUILDING):
            return ()
    left = command.released.promoted_at + RELEASE_STUCK_AFTER - command.at
    if left.total_seconds() > 0:
        raise NotStuck(f"generation {command.released.generation} has {left} left to be released")
    if state is None:
        return (ReleaseFailed(reason=FailReason.NEVER_QUEUED, released=command.released),)
    return (ReleaseFailed(reason=FailReason.STUCK, released=None),)


RELEASE: Final = Decider(decide, evolve)
