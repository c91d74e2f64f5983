"""`make bench`: every measure once, as a table and as JSON."""

import json
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import psutil

from infra.app import sandbox_settings
from infra.bench import git, goal, replay, scale, start, store
from infra.event_store.migrate import migrate
from infra.postgres import EmbeddedPostgres
from infra.sandbox.bubblewrap import BubblewrapSandbox
from infra.settings import Settings

OUTPUT: Final = Path("build/bench.json")

GOALS: Final[dict[str, tuple[float, str]]] = {
    "goal.own": (1.5, "at most"),
    "goal.graph_own": (2.0, "at most"),
    "git.compose_ratio": (1.5, "at most"),
    "scale.memory_mib": (250, "at most"),
    "scale.ratio": (1.2, "at most"),
    "replay.rebuild_per_second": (50_000, "at least"),
    "start.help": (0.4, "at most"),
}


def _store() -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="rhb-") as folder:
        runtime = Path(folder) / "run"
        runtime.mkdir(mode=0o700)
        with EmbeddedPostgres(Path(folder) / "home", runtime) as postgres:
            migrate(postgres.dsn)
            return asdict(store.measure(postgres.dsn))


def _git() -> dict[str, Any]:
    measured = git.measure(BubblewrapSandbox(sandbox_settings(Settings())))
    return {**asdict(measured), "compose_ratio": measured.compose_ratio}


MEASURES: Final[dict[str, Callable[[], dict[str, Any]]]] = {
    "start": lambda: asdict(start.measure()),
    "store": _store,
    "replay": lambda: asdict(replay.measure()),
    "git": _git,
    "goal": lambda: asdict(goal.measure()),
    "scale": lambda: asdict(scale.measure()),
}


def main(names: list[str]) -> None:
    """Measure `names` (all if empty)."""
    machine = {"cpus": os.cpu_count(), "memoryGib": round(psutil.virtual_memory().total / 1024**3, 1)}
    print(f"machine: {machine['cpus']} cores, {machine['memoryGib']} GiB; medians")
    results: dict[str, Any] = {"machine": machine}
    for name in names or list(MEASURES):
        print(f"{name}: measuring …", file=sys.stderr)
        results[name] = MEASURES[name]()
        for figure, value in results[name].items():
            print(f"  {name}.{figure:<28} {_shown(value):>14}{_goal(f'{name}.{figure}', value)}")
    OUTPUT.parent.mkdir(exist_ok=True)
    OUTPUT.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    print(f"as JSON: {OUTPUT}")


def _shown(value: float) -> str:
    return f"{value:,.0f}" if isinstance(value, int) or value >= 1_000 else f"{value:,.3f}"


def _goal(figure: str, value: float) -> str:
    if figure not in GOALS:
        return ""
    bound, sense = GOALS[figure]
    met = value <= bound if sense == "at most" else value >= bound
    return f"   goal: {sense} {bound:,g}{'' if met else '  NOT MET'}"


if __name__ == "__main__":
    main(sys.argv[1:])
