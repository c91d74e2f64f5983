"""Agents in the real sandbox, with an environment and a home of their own."""

from collections.abc import Callable
from pathlib import Path

import pytest

from commands.ports.agent import Agent, AgentRequest, AgentTask
from commands.ports.sandbox import Limits, Sandbox
from domain.plan import PlannedTask, TaskKind
from infra.agents.agents import InstalledAgents
from infra.agents.execution import AgentHost
from infra.sandbox.bubblewrap import BubblewrapSandbox
from infra.sandbox.settings import SandboxSettings

CANARY = "canary-3f81c2d4"
LIMITS = Limits(seconds=60, memory_bytes=512 * 1024**2, processes=64, output_bytes=256 * 1024)


@pytest.fixture(scope="session")
def sandbox() -> Sandbox:
    return BubblewrapSandbox(SandboxSettings.from_environment())


@pytest.fixture
def person(tmp_path: Path) -> Path:
    """The home of the person."""
    home = tmp_path / "person's home"
    home.mkdir()
    return home


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """The folder of Rhumbline's state."""
    folder = tmp_path / "own state"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def environ() -> dict[str, str]:
    return {"SECRET_TOKEN": CANARY, "OTHER_SECRET": f"other-{CANARY}", "HOME": "/home/somebody"}


@pytest.fixture
def host(environ: dict[str, str], person: Path, own: Path) -> AgentHost:
    return AgentHost(environ=environ, home=person, own=(own,), scratch=own / "run", limits=LIMITS)


@pytest.fixture
def agents(host: AgentHost) -> InstalledAgents:
    return InstalledAgents(host)


@pytest.fixture
def workspace(tmp_path: Path, sandbox: Sandbox) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "old.txt").write_text("old\n")
    sandbox.own(folder)
    return folder


@pytest.fixture
def command(agents: InstalledAgents) -> Callable[..., Agent]:
    """An agent of a shell line, by way of its stored settings."""

    def make(line: str, binds: tuple[str, ...] = (), env: tuple[str, ...] = ()) -> Agent:
        request = AgentRequest(provider="command", command=line, binds=binds, env=env)
        return agents.open(agents.prepare(request), sandboxed=True)

    return make


@pytest.fixture
def scripted(agents: InstalledAgents, tmp_path: Path) -> Callable[..., Agent]:
    """An agent of a script's text, by way of its stored settings."""

    def make(text: str, env: tuple[str, ...] = ()) -> Agent:
        script = tmp_path / "script.toml"
        script.write_text(text)
        return agents.open(agents.prepare(AgentRequest(provider="scripted", script=script, env=env)), sandboxed=True)

    return make


@pytest.fixture
def task() -> AgentTask:
    return task_of(TaskKind.IMPLEMENT)


def task_of(kind: TaskKind, attempt: int = 1) -> AgentTask:
    planned = PlannedTask(
        key="t1",
        title="Make it ``` better",
        kind=kind,
        instructions="Do the thing",
        resources=("src/*",),
        acceptance=("it works",),
    )
    return AgentTask(run=f"run_c_t1_{attempt}", task="tsk_c_t1", attempt=attempt, goal="The goal", planned=planned)
