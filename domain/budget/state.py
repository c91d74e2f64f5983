"""What a Budget's decisions need to know, folded from its events."""

from dataclasses import dataclass, field, replace

from domain.budget.event import BudgetLimitRaised, BudgetOpened, SliceReserved, SliceSettled
from domain.kernel.errors import ImpossibleHistory, UnknownEvent
from domain.kernel.event import Event
from domain.kernel.ids import budget_id


@dataclass(frozen=True, slots=True)
class BudgetState:
    """Amounts in micro-dollars. slices: what is held, by run; settled: the runs that are accounted for."""

    owner: str
    month: str
    limit: int | None
    spent: int = 0
    slices: dict[str, int] = field(default_factory=dict)
    settled: frozenset[str] = frozenset()

    @property
    def id(self) -> str:
        return budget_id(self.owner, self.month)

    @property
    def held(self) -> int:
        return sum(self.slices.values())


def evolve(state: BudgetState | None, event: Event) -> BudgetState:
    """The state after `event`.

    Raises:
        UnknownEvent: not an event of a Budget.
        ImpossibleHistory: the log opens twice, starts otherwise, or settles what isn't held.
    """
    if isinstance(event, BudgetOpened):
        if state is not None:
            raise ImpossibleHistory(f"budget {state.id} is opened twice")
        return BudgetState(event.owner, event.month, event.limit)
    if state is None:
        raise ImpossibleHistory(f"a Budget's log starts with {event.type}")
    match event:
        case SliceReserved(run=run, amount=amount):
            return replace(state, slices={**state.slices, run: amount})
        case SliceSettled(run=run, amount=amount):
            return _settled(state, run, amount)
        case BudgetLimitRaised(limit=limit):
            return replace(state, limit=limit)
    raise UnknownEvent(f"budget {state.id}: {event.type}")


def _settled(state: BudgetState, run: str, amount: int) -> BudgetState:
    if run not in state.slices:
        raise ImpossibleHistory(f"budget {state.id} settles {run}, for which it holds nothing")
    left = {other: held for other, held in state.slices.items() if other != run}
    return replace(state, spent=state.spent + amount, slices=left, settled=state.settled | {run})
