"""What a Budget decides. A refusal while other slices are open defers; only spent money blocks (DESIGN, "Budget")."""

from typing import Final

from domain.budget.command import OpenBudget, RaiseLimit, ReserveSlice, SettleSlice
from domain.budget.error import BudgetSpent, LimitGoesDown, MayNotRaise, SlicesOpen
from domain.budget.event import BudgetLimitRaised, BudgetOpened, SliceReserved, SliceSettled
from domain.budget.state import BudgetState, evolve
from domain.kernel.decider import Decider
from domain.kernel.errors import InvalidInput, NotFound, StaleAttempt
from domain.kernel.event import Command, Event
from domain.kernel.money import show_usd


def decide(state: BudgetState | None, command: Command) -> tuple[Event, ...]:
    """The events of `command`; `()` when it is already so.

    Raises:
        DomainError: the rules refuse it.
    """
    if isinstance(command, OpenBudget):
        return _open(state, command)
    if state is None:
        raise NotFound("budget", "of that owner and month")
    match command:
        case ReserveSlice():
            return _reserve(state, command)
        case SettleSlice():
            return _settle(state, command)
        case RaiseLimit():
            return _raise_limit(state, command)
    raise InvalidInput(f"a Budget has no command {type(command).__name__}")


def _open(state: BudgetState | None, command: OpenBudget) -> tuple[Event, ...]:
    if state is None:
        return (BudgetOpened(owner=command.owner, month=command.month, limit=command.limit),)
    if (state.owner, state.month) != (command.owner, command.month):
        raise InvalidInput(f"budget {state.id} is another owner's or month's")
    return ()


def _reserve(state: BudgetState, command: ReserveSlice) -> tuple[Event, ...]:
    if command.run in state.settled:
        raise StaleAttempt(f"budget {state.id} has settled {command.run} already")
    held = state.slices.get(command.run)
    if held is not None:
        if held != command.amount:
            raise InvalidInput(f"budget {state.id} holds {show_usd(held)} for {command.run} already")
        return ()
    if state.limit is not None:
        if state.spent + command.amount > state.limit:
            raise BudgetSpent(state.id, state.limit, state.spent, command.amount)
        if state.spent + state.held + command.amount > state.limit:
            raise SlicesOpen(state.id, state.held, command.amount)
    return (SliceReserved(run=command.run, amount=command.amount),)


def _settle(state: BudgetState, command: SettleSlice) -> tuple[Event, ...]:
    if command.run in state.settled:
        return ()
    held = state.slices.get(command.run)
    if held is None:
        raise NotFound("slice of", f"{command.run} in budget {state.id}")
    if command.cost is None:
        return (SliceSettled(run=command.run, amount=held, estimated=True),)
    return (SliceSettled(run=command.run, amount=command.cost, estimated=False),)


def _raise_limit(state: BudgetState, command: RaiseLimit) -> tuple[Event, ...]:
    if command.actor != state.owner and not (command.role is not None and command.role.manages):
        raise MayNotRaise(f"{command.actor} may not raise budget {state.id}")
    if command.limit == state.limit:
        return ()
    if state.limit is None or (command.limit is not None and command.limit < state.limit):
        raise LimitGoesDown(f"budget {state.id} is {_limit(state.limit)}; it can only be raised")
    return (BudgetLimitRaised(limit=command.limit),)


def _limit(micros: int | None) -> str:
    return "without limit" if micros is None else show_usd(micros)


BUDGET: Final = Decider(decide, evolve)
