"""What a Release's decisions need to know, folded from its events."""

from dataclasses import dataclass, replace

from domain.kernel.errors import ImpossibleHistory, UnknownEvent
from domain.kernel.event import Event
from domain.kernel.ids import release_id
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
from domain.release.status import RELEASE_TABLE, ReleaseStatus


@dataclass(frozen=True, slots=True)
class ReleaseState:
    """failure: why it failed; bundle: the SHA-256 of what was deployed."""

    released: Released
    status: ReleaseStatus
    target: str | None = None
    failure: FailReason | None = None
    bundle: str | None = None

    @property
    def id(self) -> str:
        return release_id(self.released.project, self.released.generation)


KNOWN = (ReleaseQueued, ReleaseBuilding, ReleaseSuperseded, ReleaseFailed, ReleaseDeployed, ReleaseSmokeFailed)


def evolve(state: ReleaseState | None, event: Event) -> ReleaseState:
    """The state after `event`.

    Raises:
        UnknownEvent: not an event of a Release.
        ImpossibleHistory: the log contradicts `RELEASE_TABLE`.
    """
    if not isinstance(event, KNOWN):
        raise UnknownEvent(f"Release: {event.type}")
    name = state.id if state else "of a new generation"
    status = ReleaseStatus(RELEASE_TABLE.after(name, state.status if state else None, event.type))
    if state is None:
        return _first(event, status)
    match event:
        case ReleaseBuilding(target=target):
            return replace(state, status=status, target=target)
        case ReleaseFailed(reason=reason):
            return replace(state, status=status, failure=reason)
        case ReleaseDeployed(bundle=bundle):
            return replace(state, status=status, bundle=bundle)
    return replace(state, status=status)


def _first(event: Event, status: ReleaseStatus) -> ReleaseState:
    match event:
        case ReleaseQueued(released=released):
            return ReleaseState(released, status)
        case ReleaseFailed(released=Released() as released, reason=reason):
            return ReleaseState(released, status, failure=reason)
    raise ImpossibleHistory(f"a Release's log starts with {event.type} and doesn't say of what")
