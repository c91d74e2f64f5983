"""`given(*events).when(command).then(*events)`: what an aggregate decides, read like a sentence.

A test module makes its own `given = scenarios(PROJECT)`. `when` also checks what every command promises: decided again
on the state that it led to, it yields nothing.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from domain.kernel.decider import Decider
from domain.kernel.errors import DomainError
from domain.kernel.event import Command, Event


@dataclass(frozen=True)
class Result:
    """What came of a command: events, or the refusal. `state` is the one afterwards."""

    events: tuple[Event, ...]
    refusal: DomainError | None
    state: Any

    def then(self, *expected: Event) -> Any:
        """Exactly these events; returns the state after them."""
        if self.refusal is not None:
            raise AssertionError(f"refused: {self.refusal!r}") from self.refusal
        assert self.events == expected
        assert expected, "for no events say then_nothing()"
        return self.state

    def then_nothing(self) -> Any:
        """It was so already."""
        if self.refusal is not None:
            raise AssertionError(f"refused: {self.refusal!r}") from self.refusal
        assert self.events == ()
        return self.state

    def then_raises(self, error: type[DomainError], match: str = "") -> DomainError:
        """Refused by exactly this rule."""
        assert self.refusal is not None, f"not refused: {self.events}"
        assert type(self.refusal) is error, repr(self.refusal)
        assert re.search(match, str(self.refusal)), str(self.refusal)
        return self.refusal


@dataclass(frozen=True)
class Given:
    decider: Decider[Any]
    state: Any

    def when(self, command: Command) -> Result:
        """Decide `command`. Again on what it led to, it yields nothing."""
        try:
            events = self.decider.decide(self.state, command)
        except DomainError as refusal:
            return Result((), refusal, self.state)
        after = self.decider.fold(events, self.state)
        assert self.decider.decide(after, command) == (), "the same command again changes something"
        return Result(events, None, after)


def scenarios(decider: Decider[Any]) -> Callable[..., Given]:
    """`given` for one aggregate: folds the events that happened before."""

    def given(*events: Event) -> Given:
        return Given(decider, decider.fold(events))

    return given
