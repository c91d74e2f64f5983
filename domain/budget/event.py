"""The events of a Budget. Their type names ARE the storage format; golden files freeze their JSON."""

from typing import ClassVar

from domain.kernel.event import Event
from domain.kernel.money import Micros
from domain.kernel.value import Text


class BudgetOpened(Event):
    """month: `YYYY-MM` in UTC. limit None: only recorded, never refused."""

    type: ClassVar[str] = "budget.opened"
    owner: Text
    month: str
    limit: Micros | None


class SliceReserved(Event):
    """`amount` is held for the run until it settles."""

    type: ClassVar[str] = "budget.reserved"
    run: str
    amount: Micros


class SliceSettled(Event):
    """amount: spent by the run, also over its slice. estimated: its cost is unknown, the whole slice counts."""

    type: ClassVar[str] = "budget.settled"
    run: str
    amount: Micros
    estimated: bool


class BudgetLimitRaised(Event):
    """limit None: none from now on."""

    type: ClassVar[str] = "budget.limit_raised"
    limit: Micros | None
