"""Killed at every durable write of a lifecycle, before it and after it, and gone on with by another process.

`make test` takes a sample that is spread evenly over the lifecycle, `make test-crash` all windows. Each one that was
reached is listed in build/crash-windows.txt.
"""

from pathlib import Path
from zlib import crc32

import pytest

from tests.crash.aftermath import faults
from tests.crash.conftest import ALL, MakePlace
from tests.crash.driver import Orders, run
from tests.crash.lifecycle import Place
from tests.crash.writes import SIDES, Window

SHARES = 48 if ALL else 4
"""Tests among which the windows are dealt out, so that workers can share them."""

SAMPLE = 2
"""Windows of each share of the sample."""

LIST = Path(__file__).parents[2] / "build" / "crash-windows.txt"


def share(number: int, writes: list[str]) -> list[Window]:
    """The windows of one of `SHARES` shares; of the sample evenly spread, before and after in turn."""
    if ALL:
        # By name: each share records its own list, and threads come to their writes in another order each time.
        windows = [Window.parse(f"{write} {side}") for write in writes for side in SIDES]
        return [window for window in windows if crc32(str(window).encode()) % SHARES == number]
    places = range(number * SAMPLE, (number + 1) * SAMPLE)
    return [Window.parse(f"{writes[n * len(writes) // (SHARES * SAMPLE)]} {SIDES[n % 2]}") for n in places]


def killed(place: Place, window: Window) -> tuple[bool, list[str]]:
    """Whether the window was reached, and what is wrong after another process went on."""
    first = run(Orders(place, "first", window))
    if not first.died_at_its_window():
        # Threads come to their writes in another order each time: this one wasn't needed.
        return False, [] if first.process.exitcode == 0 else [first.told()]
    second = run(Orders(place, "second"))
    return True, faults(place) if second.process.exitcode == 0 else [second.told()]


@pytest.mark.timeout(4 * 3_600 if ALL else 300)
@pytest.mark.parametrize("number", range(SHARES))
def test_killed_at_a_write_it_is_gone_on_with(make_place: MakePlace, number: int) -> None:
    place = make_place()
    calm = run(Orders(place))
    assert calm.process.exitcode == 0, calm.told()
    assert faults(place) == []
    found: dict[str, list[str]] = {}
    reached: list[str] = []

    for window in share(number, calm.writes()):
        was_reached, wrong = killed(make_place(), window)
        reached += [str(window)] if was_reached else []
        found |= {str(window): wrong} if wrong else {}
        with LIST.open("a") as file:
            file.write(f"{window}: {'not reached' if not was_reached else wrong or 'gone on with'}\n")

    print(*reached, sep="\n")
    assert found == {}
    assert reached


@pytest.fixture(scope="session", autouse=True)
def _folder_of_the_list() -> None:
    LIST.parent.mkdir(exist_ok=True)
