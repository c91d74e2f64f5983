"""A process of Rhumbline: submits its Change or goes on with it, counts its durable writes, dies at one of them.

Processes are forked from one that has everything imported, because the import takes longer than half a lifecycle.
"""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path

from tests.crash.lifecycle import Goal, Place, live
from tests.crash.writes import Window, Writes, instrument, journaled

SECONDS = 150
LOOK_SECONDS = 0.05


@dataclass(frozen=True)
class Orders:
    """What one process, called `name`, is to do."""

    place: Place
    name: str = "first"
    window: Window | None = None
    goal: Goal = field(default_factory=Goal)

    @property
    def journal(self) -> Path:
        return self.place.folder / f"{self.name}.journal"

    @property
    def output(self) -> Path:
        return self.place.folder / f"{self.name}.output"


def obey(orders: Orders) -> None:
    """The main function of the process: exit code 0 when its Change is promoted."""
    output = os.open(orders.output, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(output, 1)
    os.dup2(output, 2)
    # As for a command that a person started: whoever forked it may ignore it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    instrument(Writes(orders.journal, orders.window))
    state = live(orders.place, orders.goal)
    print(state.status, state.reason)
    sys.exit(0 if state.promoted else 1)


_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload(["tests.crash.driver", "obstore", "dulwich.refs"])


@dataclass(frozen=True)
class Life:
    """A started process."""

    orders: Orders
    process: BaseProcess

    @property
    def pid(self) -> int:
        assert self.process.pid is not None
        return self.process.pid

    def send(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def end(self) -> int:
        """Wait for its end; the exit code, negative for a signal."""
        self.process.join(SECONDS)
        assert self.process.exitcode is not None, f"it doesn't end:\n{self.told()}"
        return self.process.exitcode

    def told(self) -> str:
        """The end of what it printed and of the installation's log."""
        log = self.orders.place.home / "logs" / "rhumb.log"
        files = [file for file in (self.orders.output, log) if file.exists()]
        return "\n".join(file.read_text(errors="replace")[-4_000:] for file in files)

    def writes(self) -> list[str]:
        return journaled(self.orders.journal)[0]

    def died_at_its_window(self) -> bool:
        return journaled(self.orders.journal)[1]


@contextmanager
def started(orders: Orders) -> Iterator[Life]:
    """A process at work; whatever happens, it is gone at the end of the block."""
    process = _PROCESSES.Process(target=obey, args=(orders,))
    process.start()
    try:
        yield Life(orders, process)
    finally:
        process.kill()
        process.join()


def run(orders: Orders) -> Life:
    """A whole life of a process."""
    with started(orders) as life:
        life.end()
    return life


def until(true: Callable[[], bool], life: Life) -> None:
    """Look until `true()`; the process that is to make it true must be alive."""
    pause = threading.Event()
    while not true():
        assert life.process.is_alive(), life.told()
        pause.wait(LOOK_SECONDS)
