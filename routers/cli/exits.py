"""Exit codes of `rhumb`, and how an expected failure is told. Light: imported at start-up."""

from dataclasses import dataclass
from enum import IntEnum


class Exit(IntEnum):
    """What a script can rely on.

    USAGE: the command line or what it names is wrong, or the machine can't do it; nothing was changed. NOT_PROMOTED
    also stands for whatever was refused or failed without being somebody's wrong input. DEFECT: of Rhumbline's own
    (`EX_SOFTWARE` of sysexits.h).
    """

    DONE = 0
    NOT_PROMOTED = 1
    USAGE = 2
    WAITS = 3
    DEFECT = 70
    INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Saying:
    """How a class of failure is told: its exit code, and what helps, in a sentence (`{change}` is filled in)."""

    exit: Exit
    hint: str = ""


class UsageFault(Exception):
    """What was typed can't be meant; the text says why and what to type instead. Nothing was opened."""


class Interrupted(Exception):
    """Ctrl-C while following a Change; what is recorded stays."""

    def __init__(self, change: str) -> None:
        super().__init__(f"interrupted: {change} stays as it is; go on with: rhumb resume {change}")
        self.change = change
