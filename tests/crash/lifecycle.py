"""The lifecycle that is killed: four tasks, two of them on one file, one on top of two others."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from commands.checks.resolve import person_checks
from commands.ports.agent import AgentRequest
from commands.submit import Submission
from domain.change.state import ChangeState
from domain.plan import Complexity, PlannedTask, RiskTier, TaskKind, WorkGraphPlan
from infra.app import open_app
from infra.session import LocalSession
from infra.settings import Settings

FILES: dict[str, str | bytes] = {"value.txt": "one\n", "check.sh": "grep -q . value.txt\n"}

AGENT = """\
KEY=$(python3 -c 'import json, os; print(json.load(open(os.environ["RHUMB_TASK_FILE"]))["key"])')
case $KEY in
a|b) grep -qx $KEY value.txt || echo $KEY >> value.txt;;
d) test -f c.txt && grep -qx a value.txt && echo d > d.txt;;
*) echo $KEY > $KEY.txt;;
esac
"""
"""Comes to the same on what an attempt before it left."""


def planned(key: str, *needs: str) -> PlannedTask:
    return PlannedTask(
        key=key, title=f"Task {key}", kind=TaskKind.IMPLEMENT, instructions=f"do {key}", depends_on=needs
    )


PLAN = WorkGraphPlan(
    title="Four tasks",
    risk_tier=RiskTier.LOW,
    complexity=Complexity.MEDIUM,
    tasks=(planned("a"), planned("b"), planned("c"), planned("d", "a", "c")),
)


@dataclass(frozen=True)
class Place:
    """An installation as a test looks at it from outside; without a database URL it has the embedded server."""

    folder: Path
    database_url: str | None
    repository: Path

    @property
    def home(self) -> Path:
        return self.folder / "home"


@dataclass(frozen=True)
class Goal:
    """What is asked for: under the same `request` it is the same Change. `binds` are folders that the agents share."""

    request: str = "the one"
    agent: str = AGENT
    binds: tuple[str, ...] = ()
    plan: WorkGraphPlan | None = PLAN
    settings: dict[str, Any] = field(default_factory=dict)


def submission(place: Place, goal: Goal, requester: str) -> Submission:
    return Submission(
        goal="Four things",
        repository=place.repository,
        requester=requester,
        agent=AgentRequest("command", command=goal.agent, binds=goal.binds),
        budget=5_000_000,
        plan=goal.plan,
        checks=person_checks(("sh check.sh",)),
        client_request_id=goal.request,
    )


def live(place: Place, goal: Goal) -> ChangeState:
    """One process's life: submit, or go on with what was submitted under this ID, to the end."""
    database = SecretStr(place.database_url) if place.database_url else None
    settings = Settings(home=place.home, DATABASE_URL=database, **{"max_agents": 4, **goal.settings})
    with open_app(settings) as app:
        session = LocalSession(app)
        change = session.submit(submission(place, goal, session.actor)).change
        for _ in session.follow(change):
            pass
        state: ChangeState = app.ctx.writer.state(change)
        return state
