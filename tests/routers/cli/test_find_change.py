"""A Change is named by its ID or by an unambiguous beginning of it."""

import pytest

from domain.kernel.errors import InvalidInput, NotFound
from routers.cli.action.base import find_change
from tests.routers.cli.house import CHANGE, House

SIBLING = "chg_3f2b0000-0000-4000-8000-000000000002"


@pytest.fixture
def two(house: House) -> House:
    house.given(*house.history().created())
    house.given(*house.history(SIBLING).created(), change=SIBLING)
    house.catch_up()
    return house


@pytest.mark.parametrize(
    "named", [CHANGE, CHANGE.removeprefix("chg_"), "chg_3f2a", "3f2a", "3F2A", "3f2a…", " 3f2a0000-0000 "]
)
def test_found(two: House, named: str) -> None:
    assert find_change(two.queries, named)["id"] == CHANGE


@pytest.mark.parametrize("named", ["3f2c", "chg_ffff", "chg_3f2a0000-0000-4000-8000-000000000009"])
def test_not_found(two: House, named: str) -> None:
    with pytest.raises(NotFound, match="there is no Change chg_"):
        find_change(two.queries, named)


def test_an_ambiguous_beginning_names_those_it_fits(house: House) -> None:
    other = "chg_3f2a0000-0000-4000-8000-000000000002"
    house.given(*house.history().created())
    house.given(*house.history(other).created(), change=other)
    house.catch_up()
    with pytest.raises(InvalidInput, match="several Changes begin with chg_3f2a") as refusal:
        find_change(house.queries, "3f2a")
    assert CHANGE in str(refusal.value)
    assert other in str(refusal.value)


@pytest.mark.parametrize(
    "named", ["", "chg_", "3f2", "xyz1", "%", "3f2a%", "_3f2a", "chg_3f2a'; --", "\x1b[31m", "a" * 37, "tsk_3f2a", "-"]
)
def test_what_cannot_be_an_id(two: House, named: str) -> None:
    with pytest.raises(InvalidInput, match="isn't a Change") as refusal:
        find_change(two.queries, named)
    assert "\x1b" not in str(refusal.value)
