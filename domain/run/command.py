"""The commands of a Run. Each carries its time and new IDs; see `domain.kernel.event.Command`."""

from typing import Annotated

from pydantic import Field

from domain.kernel.event import BlobRef, Command
from domain.kernel.money import Micros
from domain.kernel.value import Text
from domain.run.event import Continues, Milliseconds
from domain.run.status import RunOutcome


class StartRun(Command):
    """In one transaction with the Task's start and the slice of the budget. See the event for the fields."""

    task: str
    change: str
    project: str
    attempt: Annotated[int, Field(ge=1)]
    provider: Text
    base_commit: str
    reservation: Micros | None
    budget: str | None = None
    sandboxed: bool = True
    continues: Continues | None = None


class DecideRoute(Command):
    """Once per Run: an escalation is a new attempt."""

    tier: Text
    model: Text | None = None
    reason: Text


class RecordTurn(Command):
    """Turns of a Run count from 1, without a gap."""

    turn: Annotated[int, Field(ge=1)]
    tree: str | None
    cost: Micros | None


class FinishRun(Command):
    """Ends the Run for good. `lost` is said by a watcher, all others by the worker."""

    outcome: RunOutcome
    reason: Text
    exit_code: int | None = None
    cost: Micros | None = None
    log: BlobRef | None = None
    commit: str | None = None
    tree: str | None = None
    report: BlobRef | None = None
    duration_ms: Milliseconds = 0
