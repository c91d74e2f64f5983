"""approve, reject, cancel, resume: what a person decides, and how the Change goes on."""

import pytest

from domain.change import event as e
from domain.change.status import ChangeStatus
from tests.routers.cli.history import RESULT
from tests.routers.cli.house import CHANGE, House, Rhumb


@pytest.fixture
def waiting(house: House) -> House:
    """A Change that waits for approval."""
    history = house.history()
    house.given(*history.composed(), *history.judged(), *history.gated())
    return house


def types(house: House) -> list[str]:
    return [stored.envelope.type for stored in house.store.events.read(CHANGE)]


def test_approve_approves_and_follows_to_the_promotion(waiting: House, rhumb: Rhumb) -> None:
    waiting.then(*waiting.history().promoted(ChangeStatus.AWAITING_APPROVAL))
    ended = rhumb("approve", CHANGE)
    assert ended.code == 0
    assert f"promoted  {RESULT}" in ended.out
    assert "approval.granted" in types(waiting)
    assert waiting.adopted == [CHANGE]
    assert "planning began" not in ended.err, "only what happens from here on is news"


def test_approve_in_json(waiting: House, rhumb: Rhumb) -> None:
    waiting.then(*waiting.history().promoted(ChangeStatus.AWAITING_APPROVAL))
    assert rhumb("approve", "3f2a", "--json").document["commit"] == RESULT


def test_approve_that_is_refused_by_the_compare_and_swap_waits_again(waiting: House, rhumb: Rhumb) -> None:
    waiting.then(
        e.PromotionRequested(
            candidate=waiting.history().candidate, trigger="person", before=ChangeStatus.AWAITING_APPROVAL
        ),
        e.PromotionRefused(
            candidate=waiting.history().candidate, reason="stale_base", target=ChangeStatus.AWAITING_APPROVAL
        ),
    )
    assert rhumb("approve", CHANGE).code == 3


def test_approve_without_anything_to_approve_ends_1(house: House, rhumb: Rhumb) -> None:
    house.given(*house.history().ready())
    ended = rhumb("approve", CHANGE)
    assert ended.code == 1
    assert "no verified candidate" in ended.err
    assert house.adopted == []


def test_reject_ends_0_once_it_is_rejected(waiting: House, rhumb: Rhumb) -> None:
    ended = rhumb("reject", CHANGE)
    assert ended.code == 0
    assert f"{CHANGE} was rejected" in ended.err
    assert "candidate.rejected" in types(waiting)


def test_cancel_ends_0_once_it_is_cancelled(house: House, rhumb: Rhumb) -> None:
    house.given(*house.history().ready())
    ended = rhumb("cancel", CHANGE, "--json")
    assert ended.code == 0
    assert ended.document["status"] == "cancelled"
    assert "change.cancelled" in types(house)


def test_cancel_works_while_another_process_has_the_change(house: House, rhumb: Rhumb) -> None:
    house.given(*house.history().ready())
    house.busy = True
    ended = rhumb("cancel", CHANGE)
    assert ended.code == 0
    assert "following it from here" in ended.err


def test_a_promoted_change_is_not_cancelled(house: House, rhumb: Rhumb) -> None:
    house.given(*house.history().whole())
    ended = rhumb("cancel", CHANGE)
    assert ended.code == 1
    assert "can't be cancelled" in ended.err
    assert "change.cancelled" not in types(house)


def test_resume_goes_on_where_it_stopped(house: House, rhumb: Rhumb) -> None:
    history = house.history()
    house.given(*history.composed())
    house.then(*history.judged(), *history.selected(), *history.promoted())
    ended = rhumb("resume", CHANGE)
    assert ended.code == 0
    assert house.adopted == [CHANGE]


def test_resume_raises_the_budget(house: House, rhumb: Rhumb) -> None:
    house.given(*house.history().ready(), e.ChangeBudgetBlocked(reason="budget_spent"))
    ended = rhumb("resume", CHANGE, "--budget", "9")
    assert "budget.raised" in types(house)
    assert house.queries.change(CHANGE)["budget_micros"] == 9_000_000
    assert ended.code == 3


def test_resume_with_a_lower_budget_changes_nothing(house: House, rhumb: Rhumb) -> None:
    house.given(*house.history().ready(), e.ChangeBudgetBlocked(reason="budget_spent"))
    before = types(house)
    ended = rhumb("resume", CHANGE, "--budget", "1")
    assert ended.code == 2
    assert "can't go down" in ended.err
    assert types(house) == before


def test_resume_with_a_budget_that_is_none_opens_nothing(house: House, rhumb: Rhumb) -> None:
    assert rhumb("resume", CHANGE, "--budget", "lots").code == 2
    assert house.opened == 0


def test_resume_brings_dead_letters_back(house: House, rhumb: Rhumb) -> None:
    history = house.history()
    house.given(*history.ready(), *history.dead_letter())
    ended = rhumb("resume", CHANGE)
    assert "1 dead-lettered task brought back" in ended.err
    assert "task.unblocked" in types(house)


def test_resume_of_an_ended_change_says_how_it_ended(house: House, rhumb: Rhumb) -> None:
    house.given(*house.history().whole())
    assert rhumb("resume", CHANGE).code == 0


@pytest.mark.parametrize("command", ["approve", "reject", "cancel", "resume", "show", "diff", "logs", "why"])
def test_an_unknown_change_ends_2(house: House, rhumb: Rhumb, command: str) -> None:
    house.given(*house.history().ready())
    ended = rhumb(command, "chg_ffffffff-0000-4000-8000-000000000001")
    assert ended.code == 2
    assert ended.out == ""
    assert "there is no Change chg_ffffffff" in ended.err
    assert house.adopted == []
