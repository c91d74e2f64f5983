"""A Run under any sequence of commands, illegal ones included."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from domain.kernel.errors import DomainError
from domain.kernel.event import Command, Event
from domain.run.command import DecideRoute, FinishRun, RecordTurn, StartRun
from domain.run.decide import RUN
from domain.run.event import RunFinished, TurnRecorded
from domain.run.state import RunState
from domain.run.status import RUN_TABLE, RunOutcome
from tests.domain.bookkeeping import COMMIT, TREE, by

COSTS = st.none() | st.integers(0, 50)
HASHES = st.none() | st.sampled_from([TREE, COMMIT])


class RunMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.events: list[Event] = []
        self.state: RunState | None = None

    def send(self, command: Command) -> None:
        """Decide; a refusal changes nothing, and the same command again yields nothing."""
        before = self.state
        try:
            events = RUN.decide(before, command)
        except DomainError:
            return
        self.state = RUN.fold(events, before)
        self.events.extend(events)
        assert self.state is not None
        if events:
            assert RUN_TABLE.allows(before.status if before else None, events[0].type, self.state.status)
        assert RUN.decide(self.state, command) == ()

    @rule(attempt=st.integers(1, 2), reservation=COSTS)
    def start(self, attempt: int, reservation: int | None) -> None:
        self.send(
            StartRun(
                **by(),
                task="tsk_00000000-0000-4000-8000-000000000001_t1",
                change="chg_1",
                project="prj_1",
                attempt=attempt,
                provider="scripted",
                base_commit=COMMIT,
                reservation=reservation,
            )
        )

    @rule(tier=st.sampled_from(["haiku", "sonnet"]))
    def decide_route(self, tier: str) -> None:
        self.send(DecideRoute(**by(), tier=tier, reason="kind"))

    @rule(turn=st.integers(1, 5), tree=HASHES, cost=COSTS)
    def record_any_turn(self, turn: int, tree: str | None, cost: int | None) -> None:
        self.send(RecordTurn(**by(), turn=turn, tree=tree, cost=cost))

    @rule(tree=HASHES, cost=COSTS)
    def record_the_next_turn(self, tree: str | None, cost: int | None) -> None:
        self.send(RecordTurn(**by(), turn=self.state.turn + 1 if self.state else 1, tree=tree, cost=cost))

    @rule(outcome=st.sampled_from(RunOutcome), cost=COSTS, commit=HASHES, tree=HASHES)
    def finish(self, outcome: RunOutcome, cost: int | None, commit: str | None, tree: str | None) -> None:
        self.send(FinishRun(**by(), outcome=outcome, reason="done", cost=cost, commit=commit, tree=tree))

    @invariant()
    def it_ends_once_and_last(self) -> None:
        ends = [index for index, event in enumerate(self.events) if isinstance(event, RunFinished)]
        assert ends in ([], [len(self.events) - 1])

    @invariant()
    def turns_have_no_gap(self) -> None:
        turns = [event.turn for event in self.events if isinstance(event, TurnRecorded)]
        assert turns == list(range(1, len(turns) + 1))

    @invariant()
    def a_known_cost_covers_its_turns(self) -> None:
        if self.state and self.state.finished and self.state.finished.cost is not None:
            known = sum(event.cost or 0 for event in self.events if isinstance(event, TurnRecorded))
            assert self.state.finished.cost >= known

    @invariant()
    def the_log_gives_the_same_state(self) -> None:
        assert RUN.fold(self.events) == self.state


TestRunMachine = RunMachine.TestCase
TestRunMachine.settings = settings(max_examples=80, stateful_step_count=25, deadline=None)
