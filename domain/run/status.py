"""The transition table of a Run. A Run ends once; whatever comes after is a stale attempt's."""

from enum import StrEnum
from typing import Final

from domain.kernel.table import Transition, TransitionTable


class RunStatus(StrEnum):
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    STOPPED = "stopped"
    CANCELLED = "cancelled"
    LOST = "lost"


class RunOutcome(StrEnum):
    """How a Run ended: the statuses of `RunStatus` beside running.

    completed: the agent ended by itself and well (also without a change). failed: the agent or its result is broken.
    stopped: a budget or a limit. cancelled: its Change ended. lost: the worker is gone.
    """

    COMPLETED = "completed"
    FAILED = "failed"
    STOPPED = "stopped"
    CANCELLED = "cancelled"
    LOST = "lost"


TERMINAL_RUN: Final = (
    RunStatus.COMPLETED,
    RunStatus.FAILED,
    RunStatus.STOPPED,
    RunStatus.CANCELLED,
    RunStatus.LOST,
)

RUN_TABLE: Final = TransitionTable(
    "Run",
    (
        Transition(None, "run.started", "running", "admitted"),
        Transition("running", "model.route.decided", "running", "model tier chosen"),
        Transition("running", "run.turn_recorded", "running", "a turn is over, its tree is kept"),
        Transition("running", "run.finished", "completed", "the agent ended by itself"),
        Transition("running", "run.finished", "failed", "the agent or its result is broken"),
        Transition("running", "run.finished", "stopped", "budget or limit stop"),
        Transition("running", "run.finished", "cancelled", "the Change ended"),
        Transition("running", "run.finished", "lost", "the worker is gone"),
    ),
    TERMINAL_RUN,
)
