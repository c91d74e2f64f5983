"""The events of a Run. Their type names ARE the storage format; golden files freeze their JSON.

What agents and models wrote lies in the object store, under a `BlobRef`.
"""

from typing import Annotated, ClassVar

from pydantic import Field

from domain.kernel.event import BlobRef, Event
from domain.kernel.money import Micros
from domain.kernel.value import Text, Value
from domain.run.status import RunOutcome

Milliseconds = Annotated[int, Field(ge=0)]


class Continues(Value):
    """The lost Run whose work goes on here, its last turn (0: none was recorded), and the tree that it left."""

    run: str
    turn: Annotated[int, Field(ge=0)]
    tree: str | None


class RunStarted(Event):
    """base_commit: what the workspace starts on. sandboxed is False only by a person's `--unsafe-local`.

    reservation: micro-dollars held by the Budget whose ID is `budget`; None where the cost can't be known.
    """

    type: ClassVar[str] = "run.started"
    task: str
    change: str
    project: str
    attempt: int
    provider: Text
    base_commit: str
    reservation: Micros | None
    budget: str | None
    sandboxed: bool
    continues: Continues | None


class RouteDecided(Event):
    """The Decision Receipt of the model route. tier: of models; model: its ID; reason: a code of our own."""

    type: ClassVar[str] = "model.route.decided"
    tier: Text
    model: Text | None
    reason: Text


class TurnRecorded(Event):
    """tree: of the workspace after the turn, None for a reading task. cost: of the turn, None if unknown."""

    type: ClassVar[str] = "run.turn_recorded"
    turn: int
    tree: str | None
    cost: Micros | None


class RunFinished(Event):
    """reason: a code (`done`, `no_changes`, `agent_failed`, `lease_lost`…). cost: of the whole Run, None if unknown.

    exit_code: None where no process ended by itself. commit and tree: the ChangeSet's; a stopped Run may leave a tree.
    """

    type: ClassVar[str] = "run.finished"
    outcome: RunOutcome
    reason: Text
    exit_code: int | None
    cost: Micros | None
    log: BlobRef | None
    commit: str | None
    tree: str | None
    report: BlobRef | None
    duration_ms: Milliseconds
