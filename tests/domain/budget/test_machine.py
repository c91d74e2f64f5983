"""The Budget under any sequence of commands, illegal ones included, against a plain model."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from domain.budget.command import OpenBudget, RaiseLimit, ReserveSlice, SettleSlice
from domain.budget.decide import BUDGET
from domain.budget.error import BudgetSpent, LimitGoesDown, SlicesOpen
from domain.budget.state import BudgetState
from domain.kernel.errors import DomainError
from domain.kernel.event import Command, Event
from domain.project.role import Role
from tests.domain.bookkeeping import by

RUNS = st.integers(1, 8).map("run_{}".format)
AMOUNTS = st.integers(0, 60)


class BudgetMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.events: list[Event] = []
        self.state: BudgetState | None = None
        self.limit: int | None = None
        self.held: dict[str, int] = {}
        self.costs: dict[str, int] = {}

    def send(self, command: Command) -> DomainError | None:
        """Decide; a refusal changes nothing, and the same command again yields nothing."""
        try:
            events = BUDGET.decide(self.state, command)
        except DomainError as refusal:
            return refusal
        spent = self.state.spent if self.state else 0
        self.state = BUDGET.fold(events, self.state)
        assert self.state is not None
        assert self.state.spent >= spent, "spent only grows"
        self.events.extend(events)
        assert BUDGET.decide(self.state, command) == ()
        return None

    @property
    def spent(self) -> int:
        return sum(self.costs.values())

    @initialize(limit=st.none() | st.integers(0, 200))
    def open(self, limit: int | None) -> None:
        self.limit = limit
        assert self.send(OpenBudget(**by(), owner="prj_1", month="2026-03", limit=limit)) is None

    @rule(run=RUNS, amount=AMOUNTS)
    def reserve(self, run: str, amount: int) -> None:
        refusal = self.send(ReserveSlice(**by(), run=run, amount=amount))
        if run in self.costs:
            assert refusal is not None
        elif run in self.held:
            assert (refusal is None) == (self.held[run] == amount)
        elif self.limit is not None and self.spent + amount > self.limit:
            assert isinstance(refusal, BudgetSpent)
        elif self.limit is not None and self.spent + sum(self.held.values()) + amount > self.limit:
            assert isinstance(refusal, SlicesOpen)
        else:
            assert refusal is None
            self.held[run] = amount

    @rule(run=RUNS, cost=st.none() | AMOUNTS)
    def settle(self, run: str, cost: int | None) -> None:
        refusal = self.send(SettleSlice(**by(), run=run, cost=cost))
        if run in self.held:
            held = self.held.pop(run)
            self.costs[run] = held if cost is None else cost
        assert (refusal is None) == (run in self.costs)

    @rule(limit=st.none() | st.integers(0, 400), role=st.none() | st.sampled_from(Role))
    def raise_limit(self, limit: int | None, role: Role | None) -> None:
        refusal = self.send(RaiseLimit(**by(), limit=limit, role=role))
        if refusal is None:
            assert role is not None
            assert role.manages
            assert limit is None or (self.limit is not None and limit >= self.limit)
            self.limit = limit
        elif role is not None and role.manages:
            assert isinstance(refusal, LimitGoesDown)

    @invariant()
    def it_agrees_with_the_model(self) -> None:
        if self.state is not None:
            assert (self.state.spent, self.state.slices, self.state.limit) == (self.spent, self.held, self.limit)

    @invariant()
    def the_log_gives_the_same_state(self) -> None:
        assert BUDGET.fold(self.events) == self.state


TestBudgetMachine = BudgetMachine.TestCase
TestBudgetMachine.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
