"""Why a Budget refuses."""

from domain.kernel.errors import DomainError
from domain.kernel.money import show_usd


class BudgetSpent(DomainError):
    """The money spent leaves no room for the slice, whatever the open slices settle at: this blocks."""

    def __init__(self, identifier: str, limit: int, spent: int, amount: int) -> None:
        super().__init__(
            f"budget {identifier} of {show_usd(limit)} has {show_usd(spent)} spent: no room for {show_usd(amount)}; "
            "raise it to go on"
        )
        self.limit, self.spent, self.amount = limit, spent, amount


class SlicesOpen(DomainError):
    """Other runs hold the room that is left; it may be free when they settle: this defers."""

    def __init__(self, identifier: str, held: int, amount: int) -> None:
        super().__init__(
            f"budget {identifier} holds {show_usd(held)} for runs at work: {show_usd(amount)} has to wait for them"
        )
        self.held, self.amount = held, amount


class LimitGoesDown(DomainError):
    """A budget can only be raised."""


class MayNotRaise(DomainError):
    """The actor is neither the budget's owner nor an owner or admin of the project that owns it."""
