"""An aggregate as two pure functions; commands in, events out."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from domain.kernel.event import Command, Event

State = TypeVar("State")


@dataclass(frozen=True, slots=True)
class Decider(Generic[State]):
    """decide: the events that a command leads to (`()`: already so), or a refusal (`DomainError`).

    evolve: the state after an event; total, raises on what it doesn't know. A stream without events has state None.
    """

    decide: Callable[[State | None, Command], tuple[Event, ...]]
    evolve: Callable[[State | None, Event], State]

    def fold(self, events: Iterable[Event], state: State | None = None) -> State | None:
        """The state after `events`, from `state` on."""
        for event in events:
            state = self.evolve(state, event)
        return state
