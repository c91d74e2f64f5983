"""Slices are reserved and settled; open slices defer, only spent money blocks; spent only grows."""

import pytest

from domain.budget.command import OpenBudget, RaiseLimit, ReserveSlice, SettleSlice
from domain.budget.decide import BUDGET
from domain.budget.error import BudgetSpent, LimitGoesDown, MayNotRaise, SlicesOpen
from domain.budget.event import BudgetLimitRaised, BudgetOpened, SliceReserved, SliceSettled
from domain.kernel.errors import DomainError, ImpossibleHistory, InvalidInput, NotFound, StaleAttempt, UnknownEvent
from domain.kernel.event import Command, Event
from domain.project.role import Role
from domain.run.event import TurnRecorded
from tests.domain.bookkeeping import OWNER, by
from tests.support.decider import scenarios

given = scenarios(BUDGET)

OPENED = BudgetOpened(owner="prj_1", month="2026-03", limit=100)
UNLIMITED = BudgetOpened(owner="prj_1", month="2026-03", limit=None)


def reserve(run: str, amount: int) -> ReserveSlice:
    return ReserveSlice(**by(), run=run, amount=amount)


def reserved(run: str, amount: int) -> SliceReserved:
    return SliceReserved(run=run, amount=amount)


def settle(run: str, cost: int | None) -> SettleSlice:
    return SettleSlice(**by(), run=run, cost=cost)


def settled(run: str, amount: int, estimated: bool = False) -> SliceSettled:
    return SliceSettled(run=run, amount=amount, estimated=estimated)


def raise_limit(limit: int | None, role: Role | None = Role.OWNER, actor: str = OWNER) -> RaiseLimit:
    return RaiseLimit(**by(actor), limit=limit, role=role)


class TestOpening:
    def test_it_is_opened_once_and_keeps_its_limit(self) -> None:
        command = OpenBudget(**by(), owner="prj_1", month="2026-03", limit=100)
        state = given().when(command).then(OPENED)
        assert (state.id, state.spent, state.held) == ("bud_prj_1_2026-03", 0, 0)
        given(OPENED).when(command.model_copy(update={"limit": 5})).then_nothing()

    def test_one_stream_is_one_owner_s_month(self) -> None:
        given(OPENED).when(OpenBudget(**by(), owner="prj_2", month="2026-03", limit=100)).then_raises(InvalidInput)

    @pytest.mark.parametrize("command", [reserve("run_1", 1), settle("run_1", 1), raise_limit(5)])
    def test_nothing_is_held_without_a_budget(self, command: Command) -> None:
        given().when(command).then_raises(NotFound)


class TestReserving:
    def test_up_to_the_limit(self) -> None:
        given(OPENED).when(reserve("run_1", 100)).then(reserved("run_1", 100))
        given(OPENED, reserved("run_1", 60)).when(reserve("run_2", 40)).then(reserved("run_2", 40))

    def test_open_slices_defer(self) -> None:
        refusal = given(OPENED, reserved("run_1", 60)).when(reserve("run_2", 41)).then_raises(SlicesOpen)
        assert isinstance(refusal, SlicesOpen)
        assert (refusal.held, refusal.amount) == (60, 41)

    def test_spent_money_blocks(self) -> None:
        before = (OPENED, reserved("run_1", 60), settled("run_1", 60))
        given(*before).when(reserve("run_2", 41)).then_raises(BudgetSpent, r"\$0.0001")
        given(*before).when(reserve("run_2", 40)).then(reserved("run_2", 40))

    def test_spent_money_blocks_also_while_slices_are_open(self) -> None:
        """No settling of others could make room, so waiting for them would never end."""
        before = (OPENED, reserved("run_1", 60), settled("run_1", 60), reserved("run_2", 30))
        given(*before).when(reserve("run_3", 41)).then_raises(BudgetSpent)

    def test_a_slice_greater_than_the_limit_never_fits(self) -> None:
        given(OPENED).when(reserve("run_1", 101)).then_raises(BudgetSpent)

    def test_without_a_limit_nothing_is_refused(self) -> None:
        given(UNLIMITED, reserved("run_1", 10**12)).when(reserve("run_2", 10**12)).then(reserved("run_2", 10**12))

    def test_a_run_has_one_slice(self) -> None:
        given(OPENED, reserved("run_1", 60)).when(reserve("run_1", 60)).then_nothing()
        given(OPENED, reserved("run_1", 60)).when(reserve("run_1", 61)).then_raises(InvalidInput)
        given(OPENED, reserved("run_1", 6), settled("run_1", 6)).when(reserve("run_1", 6)).then_raises(StaleAttempt)


class TestSettling:
    @pytest.mark.parametrize("cost", [0, 10, 60, 90])
    def test_a_known_cost_counts_also_over_the_slice(self, cost: int) -> None:
        state = given(OPENED, reserved("run_1", 60)).when(settle("run_1", cost)).then(settled("run_1", cost))
        assert (state.spent, state.held) == (cost, 0)

    def test_an_unknown_cost_settles_at_the_full_slice(self) -> None:
        state = given(OPENED, reserved("run_1", 60)).when(settle("run_1", None)).then(settled("run_1", 60, True))
        assert state.spent == 60

    def test_once(self) -> None:
        before = (OPENED, reserved("run_1", 60), settled("run_1", 10))
        given(*before).when(settle("run_1", 50)).then_nothing()

    def test_only_what_is_held(self) -> None:
        given(OPENED).when(settle("run_1", 10)).then_raises(NotFound)


class TestRaising:
    @pytest.mark.parametrize("limit", [101, None])
    def test_upwards(self, limit: int | None) -> None:
        given(OPENED).when(raise_limit(limit)).then(BudgetLimitRaised(limit=limit))

    def test_to_what_it_is(self) -> None:
        given(OPENED).when(raise_limit(100)).then_nothing()
        given(UNLIMITED).when(raise_limit(None)).then_nothing()

    def test_never_down(self) -> None:
        given(OPENED).when(raise_limit(99)).then_raises(LimitGoesDown)
        given(UNLIMITED).when(raise_limit(10**9)).then_raises(LimitGoesDown)

    @pytest.mark.parametrize(
        ("role", "actor", "refused"),
        [
            (Role.OWNER, "usr_a", None),
            (Role.ADMIN, "usr_a", None),
            (Role.MEMBER, "usr_a", MayNotRaise),
            (None, "usr_a", MayNotRaise),
            (None, "prj_1", None),
        ],
    )
    def test_by_those_who_may(self, role: Role | None, actor: str, refused: type[DomainError] | None) -> None:
        result = given(OPENED).when(raise_limit(200, role, actor))
        if refused is None:
            result.then(BudgetLimitRaised(limit=200))
        else:
            result.then_raises(refused)

    def test_it_makes_room(self) -> None:
        before = (OPENED, reserved("run_1", 100), settled("run_1", 100), BudgetLimitRaised(limit=150))
        given(*before).when(reserve("run_2", 50)).then(reserved("run_2", 50))


class TestEvolve:
    @pytest.mark.parametrize(
        "events",
        [(reserved("run_1", 1),), (OPENED, OPENED), (OPENED, settled("run_1", 1))],
        ids=["no beginning", "two beginnings", "settled what isn't held"],
    )
    def test_an_impossible_history_is_never_guessed_over(self, events: tuple[Event, ...]) -> None:
        with pytest.raises(ImpossibleHistory):
            BUDGET.fold(events)

    def test_an_unknown_event_is_never_skipped(self) -> None:
        with pytest.raises(UnknownEvent):
            BUDGET.fold((OPENED, TurnRecorded(turn=1, tree=None, cost=None)))
