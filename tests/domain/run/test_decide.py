"""A Run starts once and ends once; what its worker writes after that counts no more."""

from typing import Any

import pytest

from domain.budget.event import BudgetLimitRaised
from domain.kernel.errors import ImpossibleHistory, InvalidInput, NotFound, StaleAttempt, UnknownEvent
from domain.kernel.event import BlobRef, Command, Event
from domain.run.command import DecideRoute, FinishRun, RecordTurn, StartRun
from domain.run.decide import RUN
from domain.run.event import Continues, RouteDecided, RunFinished, RunStarted, TurnRecorded
from domain.run.status import RUN_TABLE, RunOutcome, RunStatus
from tests.domain.bookkeeping import COMMIT, OTHER_COMMIT, TREE, by
from tests.support.decider import scenarios

given = scenarios(RUN)

UUID = "00000000-0000-4000-8000-000000000001"
TASK = f"tsk_{UUID}_t1"
LOG = BlobRef(sha256="e" * 64, size=3)

STARTED = RunStarted(
    task=TASK,
    change=f"chg_{UUID}",
    project="prj_1",
    attempt=2,
    provider="scripted",
    base_commit=COMMIT,
    reservation=500,
    budget="bud_prj_1_2026-03",
    sandboxed=True,
    continues=None,
)
ROUTED = RouteDecided(tier="sonnet", model="m-1", reason="kind")
TURN_1 = TurnRecorded(turn=1, tree=TREE, cost=100)


def start(**changed: object) -> StartRun:
    return StartRun.model_validate(by() | STARTED.model_dump(by_alias=False) | changed)


def finish(outcome: RunOutcome = RunOutcome.COMPLETED, **changed: object) -> FinishRun:
    fields = {"outcome": outcome, "reason": "done", "exit_code": 0, "cost": 300, "log": LOG, "duration_ms": 1200}
    return FinishRun.model_validate(by() | fields | changed)


def finished(outcome: RunOutcome = RunOutcome.COMPLETED, **changed: object) -> RunFinished:
    fields = {
        "outcome": outcome,
        "reason": "done",
        "exit_code": 0,
        "cost": 300,
        "log": LOG,
        "commit": None,
        "tree": None,
        "report": None,
        "duration_ms": 1200,
    }
    return RunFinished.model_validate(fields | changed)


COMMANDS: list[Command] = [
    DecideRoute(**by(), tier="sonnet", model="m-1", reason="kind"),
    RecordTurn(**by(), turn=1, tree=TREE, cost=100),
    finish(),
]


class TestStarting:
    def test_it_is_named_after_task_and_attempt(self) -> None:
        state = given().when(start()).then(STARTED)
        assert (state.id, state.status) == (f"run_{UUID}_t1_2", RunStatus.RUNNING)

    def test_an_attempt_number_is_never_used_twice(self) -> None:
        given(STARTED).when(start(base_commit=OTHER_COMMIT)).then_raises(StaleAttempt)

    def test_it_may_go_on_with_a_lost_run_s_work(self) -> None:
        continues = Continues(run=f"run_{UUID}_t1_1", turn=3, tree=TREE)
        given().when(start(continues=continues)).then(STARTED.model_copy(update={"continues": continues}))

    @pytest.mark.parametrize("command", COMMANDS, ids=lambda command: type(command).__name__)
    def test_nothing_happens_before_it(self, command: Command) -> None:
        given().when(command).then_raises(NotFound)


class TestRoute:
    def test_it_is_decided_once(self) -> None:
        given(STARTED).when(COMMANDS[0]).then(ROUTED)
        given(STARTED, ROUTED).when(DecideRoute(**by(), tier="opus", reason="again")).then_raises(
            InvalidInput, "sonnet"
        )


class TestTurns:
    def test_they_count_from_1_without_a_gap(self) -> None:
        state = given(STARTED).when(RecordTurn(**by(), turn=1, tree=TREE, cost=100)).then(TURN_1)
        assert (state.turn, state.tree, state.cost) == (1, TREE, 100)
        given(STARTED).when(RecordTurn(**by(), turn=2, tree=TREE, cost=1)).then_raises(InvalidInput)

    def test_an_earlier_turn_is_recorded_already(self) -> None:
        second = TurnRecorded(turn=2, tree=None, cost=None)
        given(STARTED, TURN_1, second).when(RecordTurn(**by(), turn=1, tree=TREE, cost=100)).then_nothing()

    def test_a_turn_has_one_tree(self) -> None:
        given(STARTED, TURN_1).when(RecordTurn(**by(), turn=1, tree="9" * 40, cost=100)).then_raises(InvalidInput)

    def test_an_unknown_cost_adds_nothing_known(self) -> None:
        second = TurnRecorded(turn=2, tree=TREE, cost=None)
        state = given(STARTED, TURN_1).when(RecordTurn(**by(), turn=2, tree=TREE, cost=None)).then(second)
        assert state.cost == 100


class TestFinishing:
    @pytest.mark.parametrize("outcome", RunOutcome)
    def test_each_outcome_is_a_status(self, outcome: RunOutcome) -> None:
        state = given(STARTED).when(finish(outcome)).then(finished(outcome))
        assert state.status == outcome.value

    def test_with_a_changeset(self) -> None:
        made: dict[str, Any] = {"commit": OTHER_COMMIT, "tree": TREE}
        given(STARTED).when(finish(**made)).then(finished(**made))

    @pytest.mark.parametrize(
        ("outcome", "tree"), [(RunOutcome.COMPLETED, None), (RunOutcome.STOPPED, TREE), (RunOutcome.LOST, TREE)]
    )
    def test_only_a_completed_run_has_one(self, outcome: RunOutcome, tree: str | None) -> None:
        given(STARTED).when(finish(outcome, commit=OTHER_COMMIT, tree=tree)).then_raises(InvalidInput, "ChangeSet")

    def test_a_stopped_run_leaves_its_tree(self) -> None:
        given(STARTED).when(finish(RunOutcome.STOPPED, tree=TREE)).then(finished(RunOutcome.STOPPED, tree=TREE))

    def test_spent_only_grows(self) -> None:
        given(STARTED, TURN_1).when(finish(cost=99)).then_raises(InvalidInput, "has cost")
        given(STARTED, TURN_1).when(finish(cost=100)).then(finished(cost=100))
        given(STARTED, TURN_1).when(finish(cost=None)).then(finished(cost=None))

    def test_the_same_end_again_is_no_event(self) -> None:
        given(STARTED, finished()).when(finish()).then_nothing()


ENDED = [finished(outcome) for outcome in RunOutcome]


class TestStatusCommand:
    """The whole product of Status × Command."""

    @pytest.mark.parametrize("command", COMMANDS, ids=lambda command: type(command).__name__)
    def test_running_allows_all(self, command: Command) -> None:
        events = RUN.decide(RUN.fold((STARTED,)), command)
        assert [RUN_TABLE.allows("running", event.type) for event in events] == [True]

    @pytest.mark.parametrize("end", ENDED, ids=lambda end: str(end.outcome))
    @pytest.mark.parametrize(
        "command",
        [
            start(attempt=3),
            DecideRoute(**by(), tier="opus", reason="late"),
            RecordTurn(**by(), turn=1, tree=TREE, cost=1),
            RecordTurn(**by(), turn=7, tree=TREE, cost=1),
            *(finish(outcome, reason="late") for outcome in RunOutcome),
        ],
        ids=lambda command: type(command).__name__,
    )
    def test_after_the_end_every_write_is_stale(self, end: RunFinished, command: Command) -> None:
        given(STARTED, end).when(command).then_raises(StaleAttempt)

    @pytest.mark.parametrize("end", ENDED, ids=lambda end: str(end.outcome))
    def test_after_the_end_a_repetition_is_no_event(self, end: RunFinished) -> None:
        before = (STARTED, ROUTED, TURN_1, end)
        for command in (start(), COMMANDS[0], COMMANDS[1], finish(end.outcome)):
            given(*before).when(command).then_nothing()


class TestEvolve:
    @pytest.mark.parametrize(
        "events",
        [
            (TURN_1,),
            (STARTED, STARTED),
            (STARTED, TURN_1, TURN_1),
            (STARTED, finished(), TURN_1),
            (STARTED, finished(), finished()),
        ],
        ids=["no beginning", "two beginnings", "a turn twice", "a turn after the end", "two ends"],
    )
    def test_an_impossible_history_is_never_guessed_over(self, events: tuple[Event, ...]) -> None:
        with pytest.raises(ImpossibleHistory):
            RUN.fold(events)

    def test_an_unknown_event_is_never_skipped(self) -> None:
        with pytest.raises(UnknownEvent):
            RUN.fold((STARTED, BudgetLimitRaised(limit=1)))

    def test_every_status_but_running_is_terminal(self) -> None:
        assert set(RUN_TABLE.statuses) == {status.value for status in RunStatus}
        assert {arrow.source for arrow in RUN_TABLE.transitions} == {None, "running"}
        assert {outcome.value for outcome in RunOutcome} == set(RUN_TABLE.terminal)
