"""What grows with a home: own time of a Change after a thousand others, and memory with eight agents at work."""

import json
import os
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

import psutil

from commands.ports.agent import AgentRequest
from commands.submit import Submission
from domain.plan import Complexity, PlannedTask, RiskTier, TaskKind, WorkGraphPlan
from infra.app import App, open_app
from infra.bench.goal import ONE_TASK, measure_goal
from infra.bench.replay import load
from infra.bench.synthetic import History
from infra.demo.repository import make_demo_repository
from infra.session import LocalSession
from infra.settings import Settings

RUNS: Final = 5
OTHERS: Final = 1_000
EVENTS_PER_CHANGE: Final = 30
AGENTS: Final = 8
CATCH_UP_SECONDS: Final = 300.0


@dataclass(frozen=True, slots=True)
class ScaleMeasure:
    """young, old: median own seconds of a goal on a home with a few Changes, and after `others` more; ratio of both.

    memory_mib: resident memory of this process while `agents` agents are at work, those not counted.
    """

    others: int
    young: float
    old: float
    ratio: float
    agents: int
    memory_mib: float


def measure(runs: int = RUNS) -> ScaleMeasure:
    with tempfile.TemporaryDirectory(prefix="rhb-") as name:
        folder = Path(name)
        script = folder / "one.json"
        script.write_text(json.dumps(ONE_TASK))
        with open_app(Settings(home=folder / "home", max_agents=AGENTS)) as app:
            session = LocalSession(app)
            memory = _memory(session, folder)
            young = [
                measure_goal(session, make_demo_repository(folder / f"y{n}"), script, None)[1] for n in range(runs)
            ]
            load(app.store, History(seed=1), OTHERS * EVENTS_PER_CHANGE)
            _caught_up(app)
            old = [measure_goal(session, make_demo_repository(folder / f"o{n}"), script, None)[1] for n in range(runs)]
    return ScaleMeasure(
        OTHERS, round(median(young), 3), round(median(old), 3), round(median(old) / median(young), 2), AGENTS, memory
    )


def _caught_up(app: App) -> None:
    """Wait until the router has been through the loaded history."""
    idle = threading.Event()
    for _ in range(int(CATCH_UP_SECONDS)):
        if app.store.tracking.position("router") >= app.store.events.last_position():
            app.projector.catch_up()
            return
        idle.wait(1)
    raise RuntimeError("the router didn't catch up")


def _memory(session: LocalSession, folder: Path) -> float:
    """MiB of this process while each of the agents is at work and waits to be let go."""
    gate = folder / "gate"
    gate.mkdir(mode=0o755)
    name = "$(head -c 8 /dev/urandom | od -An -tx1 | tr -d ' \\n')"
    line = f"until test -e {gate}/open; do sleep 0.1; done; echo 1 > {name}"
    tasks = tuple(
        PlannedTask(key=f"k{n}", title="Wait", kind=TaskKind.IMPLEMENT, instructions="wait") for n in range(AGENTS)
    )
    plan = WorkGraphPlan(title="Wait", risk_tier=RiskTier.LOW, complexity=Complexity.SMALL, tasks=tasks)
    agent = AgentRequest("command", command=line, binds=(str(gate),))
    submission = Submission("Wait", make_demo_repository(folder / "m"), session.actor, agent, 5_000_000, plan=plan)
    change = session.submit(submission).change
    at_work, memory = 0, 0.0
    for stored in session.follow(change):
        at_work += stored.envelope.type == "run.started"
        if at_work == AGENTS and not memory:
            memory = psutil.Process(os.getpid()).memory_info().rss / 1024**2
            (gate / "open").touch()
    return round(memory, 1)
