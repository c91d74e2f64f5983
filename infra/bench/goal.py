"""Own time from a goal to a promoted commit: the wall clock without the time in which an agent or a check works."""

import json
import statistics
import tempfile
import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

from commands.plan_file import read_plan_file
from commands.ports.agent import AgentRequest
from commands.ports.store import Stored
from commands.submit import Submission
from domain.change.event import BaseVerified, EvidenceRecorded
from domain.change.status import ChangeStatus
from domain.plan import WorkGraphPlan
from domain.run.event import RunFinished
from infra.app import open_app
from infra.demo.repository import GOAL, PLAN, SCRIPT, make_demo_repository
from infra.session import LocalSession
from infra.settings import Settings

RUNS: Final = 5

ONE_TASK: Final = {"answers": [{"costUsd": "0.01", "actions": [{"write": "greet/new.py", "text": "NEW = True\n"}]}]}

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class GoalMeasure:
    """Medians in seconds over `runs` goals on one home: all of the time, and what is left without agents and checks.

    one task, and the demo's work graph of five. open: starting the installation on an existing home, with PostgreSQL.
    """

    runs: int
    total: float
    own: float
    graph_total: float
    graph_own: float
    open: float


def measure(runs: int = RUNS) -> GoalMeasure:
    """On a fresh repository each time, scripted agents, real sandbox, store and git."""
    one, graph, opens = [], [], []
    with tempfile.TemporaryDirectory(prefix="rhb-") as folder:
        settings = Settings(home=Path(folder) / "home")
        for number in range(runs):
            began = time.perf_counter()
            with open_app(settings) as app:
                opens.append(time.perf_counter() - began)
                session, script = LocalSession(app), Path(folder) / "one.json"
                script.write_text(json.dumps(ONE_TASK))
                one.append(measure_goal(session, make_demo_repository(Path(folder) / f"one-{number}"), script, None))
                plan = read_plan_file(PLAN, GOAL)
                graph.append(
                    measure_goal(session, make_demo_repository(Path(folder) / f"graph-{number}"), SCRIPT, plan)
                )
    # The first start makes the database.
    columns = (*zip(*one, strict=True), *zip(*graph, strict=True), opens[1:])
    return GoalMeasure(runs, *(round(statistics.median(column), 3) for column in columns))


def measure_goal(session: LocalSession, repository: Path, script: Path, plan: WorkGraphPlan | None) -> Interval:
    """Take the demo's goal to a promoted commit: seconds in all, and seconds in which no agent or check was at work."""
    agent = AgentRequest("scripted", script=script)
    began = time.perf_counter()
    change = session.submit(Submission(GOAL, repository, session.actor, agent, budget=5_000_000, plan=plan)).change
    events = list(session.follow(change))
    total = time.perf_counter() - began
    state = session.ctx.writer.state(change)
    if state.status is not ChangeStatus.COMPLETED:
        raise RuntimeError(f"the goal wasn't promoted: {state.status} {state.reason}")
    return total, total - _covered([interval for stored in events for interval in _at_work(stored)])


def _at_work(stored: Stored) -> list[Interval]:
    """When an agent or a check of this event was at work: it ended right before the event was recorded."""
    match stored.envelope.event:
        case RunFinished(duration_ms=duration):
            durations = [duration]
        case EvidenceRecorded(evidence=evidence):
            durations = [evidence.duration_ms]
        case BaseVerified(evidence=pieces):
            # They ran one after the other.
            durations = [sum(piece.duration_ms for piece in pieces)]
        case _:
            durations = []
    end = stored.envelope.at
    return [((end - timedelta(milliseconds=each)).timestamp(), end.timestamp()) for each in durations]


def _covered(intervals: list[Interval]) -> float:
    """How much time at least one interval covers."""
    covered, reached = 0.0, float("-inf")
    for start, end in sorted(intervals):
        covered += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return covered
