"""An installation in this process: real store, git and sandbox; the agents are shell scripts."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from commands.checks.resolve import person_checks
from commands.ports.agent import AgentRequest
from commands.ports.store import Stored
from commands.submit import Submission
from domain.change.state import ChangeState
from infra.app import App, open_app
from infra.session import LocalSession
from infra.settings import Settings
from tests.support.repository import make_repository

FILES = {"value.txt": "one\n", "check.sh": "grep -q . value.txt\n"}


@dataclass
class Home:
    """One home on one database; `open` is one process's life on it."""

    folder: Path
    database_url: str
    settings: dict[str, Any] = field(default_factory=dict)

    @contextmanager
    def open(self) -> Iterator["Process"]:
        settings = Settings(home=self.folder / "home", DATABASE_URL=SecretStr(self.database_url), **self.settings)
        with open_app(settings) as app:
            yield Process(app, LocalSession(app), self.folder)


@dataclass
class Process:
    """A process that works on the home."""

    app: App
    session: LocalSession
    folder: Path

    def repository(self, name: str = "repo", files: dict[str, str | bytes] | None = None) -> Path:
        path = self.folder / name
        return path if path.exists() else make_repository(path, files or dict(FILES))

    def submission(self, agent: str | AgentRequest, **options: Any) -> Submission:
        """A goal whose agent is a shell line (or a request), judged by check.sh."""
        defaults: dict[str, Any] = {
            "goal": "Change the value",
            "repository": options.pop("repository", None) or self.repository(),
            "requester": self.session.actor,
            "agent": AgentRequest("command", command=agent) if isinstance(agent, str) else agent,
            "budget": 5_000_000,
            "checks": person_checks(("sh check.sh",)),
        }
        return Submission(**{**defaults, **options})

    def submit(self, agent: str | AgentRequest, **options: Any) -> str:
        return self.session.submit(self.submission(agent, **options)).change

    def finish(self, change: str) -> ChangeState:
        """Follow until nothing more happens without a person."""
        for _ in self.session.follow(change):
            pass
        return self.state(change)

    def run(self, agent: str | AgentRequest, **options: Any) -> ChangeState:
        return self.finish(self.submit(agent, **options))

    def wait_for(self, change: str, wanted: Callable[[Stored], bool]) -> Stored:
        """The first event about `change` that is wanted."""
        return next(stored for stored in self.session.follow(change) if wanted(stored))

    def state(self, change: str) -> ChangeState:
        state: ChangeState = self.app.ctx.writer.state(change)
        return state

    def types(self, change: str) -> list[str]:
        return [stored.envelope.type for stored in self.app.store.events.read(change)]


@pytest.fixture
def installation(tmp_path: Path, database_url: str) -> Home:
    return Home(tmp_path, database_url)


@pytest.fixture
def process(installation: Home) -> Iterator[Process]:
    with installation.open() as process:
        yield process
