"""Live lines on a terminal, plain ones without."""

import io
import threading

import pytest
from rich.console import Console

from routers.cli.action.watch import Watch
from routers.cli.terminal import Terminal
from tests.routers.cli.house import CHANGE, House, Rhumb


class Screen(Terminal):
    """A terminal whose output is kept. tty: whether it claims to be one."""

    def __init__(self, tty: bool) -> None:
        self.shown = io.StringIO()
        self.err = Console(  # type: ignore[misc]
            file=self.shown, force_terminal=tty, width=60, markup=False, highlight=False, soft_wrap=True
        )


@pytest.fixture
def working(house: House) -> House:
    house.given(*house.history().ready(), *house.history().started())
    house.then(*house.history().worked())
    return house


def test_without_a_terminal_there_are_only_lines(working: House) -> None:
    screen = Screen(tty=False)
    Watch(screen).follow(working, CHANGE, 0)  # type: ignore[arg-type]
    shown = screen.shown.getvalue()
    assert "Task t1 became ready" in shown
    assert "\x1b" not in shown
    assert f"{CHANGE}  running" not in shown


def test_a_terminal_shows_what_runs_and_is_left_clean(working: House) -> None:
    screen = Screen(tty=True)
    watch = Watch(screen)
    history = working.history()
    working.plays.appendleft(lambda: watch.on_output(f"run:{history.run}", "agent", b"first\nat [/b] work\xff\n"))
    rendered = threading.Event()
    working.plays.insert(1, rendered.set)
    watch.follow(working, CHANGE, 0)  # type: ignore[arg-type]
    shown = screen.shown.getvalue()
    assert rendered.is_set()
    assert "Task t1 became ready" in shown
    assert f"{CHANGE}" in shown
    assert shown.rstrip().endswith("\x1b[2K") or "\x1b[?25h" in shown, "the cursor is back"


def test_the_last_line_of_what_runs_is_shown_until_it_is_done(working: House) -> None:
    screen = Screen(tty=True)
    watch = Watch(screen)
    history = working.history()
    key = f"check:{history.candidate}:tests:as_is"
    watch.on_output(key, "tests", b"collecting\n\x1b[31m3 [/b] passed\n\n")
    assert "tests: \\x1b[31m3 [/b] passed" in lines(watch)
    working.then(*history.judged())
    watch.follow(working, CHANGE, 0)  # type: ignore[arg-type]
    assert "3 [/b] passed" not in lines(watch)


def test_output_without_text_leaves_the_last_line(working: House) -> None:
    watch = Watch(Screen(tty=True))
    watch.on_output("run:x", "agent", b"here\n")
    watch.on_output("run:x", "agent", b"\n  \n")
    assert "agent: here" in lines(watch)


def test_a_whole_run_on_a_terminal(house: House, rhumb: Rhumb) -> None:
    house.then(*house.history().whole()[2:])
    ended = rhumb.run(tty=True)
    assert ended.code == 0
    assert "\x1b[?25h" in ended.err, "the cursor is back"
    assert "Task t1 became ready" in ended.err


def lines(watch: Watch) -> str:
    with io.StringIO() as shown:
        Console(file=shown, width=200, markup=False).print(watch._render())
        return shown.getvalue()
