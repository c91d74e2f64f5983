"""A decision in the making: what was decided so far, and the state after it, so that one rule can follow another."""

from domain.change.evolve import evolve
from domain.change.state import ChangeState
from domain.kernel.event import Event


class Draft:
    """Starts from `state`, which it never changes; lives for one decision only."""

    def __init__(self, state: ChangeState) -> None:
        self.state = state
        self._events: list[Event] = []

    def record(self, *events: Event) -> None:
        for event in events:
            self.state = evolve(self.state, event)
            self._events.append(event)

    @property
    def events(self) -> tuple[Event, ...]:
        return tuple(self._events)
