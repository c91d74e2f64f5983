"""What the command line needs of an installation; the composition root hands it in, so no adapter is imported here."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from commands.context import Context
from commands.ports.git import ChangedFile
from commands.ports.store import Stored
from commands.submit import Submission, Submitted
from projections.cost import Cost
from projections.why import Why
from routers.cli.exits import Saying


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that Rhumbline needs of the machine: is it there, what was seen, and what helps if it isn't."""

    name: str
    ok: bool
    detail: str
    remedy: str
    required: bool = True


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference that `replay --verify` found between a read model and the log."""

    model: str
    text: str


@dataclass(frozen=True, slots=True)
class Demo:
    """A fresh sample repository, a goal for it, its Work Graph, and the script of the agent that reaches it."""

    repository: Path
    goal: str
    plan: Path
    script: Path


class Queries(Protocol):
    """The read models, as plain dictionaries with the columns of their tables (snake_case)."""

    def changes(self, limit: int, status: str | None = None) -> list[dict[str, Any]]: ...

    def change(self, change: str) -> dict[str, Any] | None: ...

    def changes_with_prefix(self, prefix: str, limit: int) -> list[str]:
        """The IDs of Changes that begin with `prefix` (`chg_` and hex digits or hyphens), at most `limit`."""
        ...

    def tasks(self, change: str) -> list[dict[str, Any]]: ...

    def candidates(self, change: str) -> list[dict[str, Any]]: ...

    def candidate(self, candidate: str) -> dict[str, Any] | None: ...

    def evidence(self, candidate: str) -> list[dict[str, Any]]: ...

    def base_evidence(self, change: str) -> list[dict[str, Any]]:
        """The runs of the checks on the base, before any agent."""
        ...

    def runs(self, change: str) -> list[dict[str, Any]]: ...

    def run(self, run: str) -> dict[str, Any] | None: ...

    def cost(self, change: str) -> Cost:
        """Of its planning and of all its runs, those that were lost or cancelled, too."""
        ...

    def timeline(self, change: str) -> list[dict[str, Any]]: ...

    def standstill(self, change: str) -> str | None:
        """Why nothing moves a Change that has work left: nobody works on it, or a fault; None if it goes on."""
        ...

    def why(self, identifier: str) -> Why:
        """See `projections.why`.

        Raises:
            NotFound: nothing has this ID.
        """
        ...


class Session(Protocol):
    """An open installation: its store runs, and this process works on the Changes that it adopts."""

    ctx: Context
    queries: Queries
    actor: str
    """The pseudonymous ID of the person at this terminal."""

    def submit(self, submission: Submission) -> Submitted:
        """Store the Change and adopt it; see `commands.submit` for what it raises."""
        ...

    def require_agents(self, change: str) -> None:
        """Check that agents of `change` can be started here, if any may be yet.

        Raises:
            AgentUnavailable: a variable or a bind that was let in for them isn't there.
        """
        ...

    def adopt(self, change: str) -> None:
        """Work on `change` here: its agents and checks run in this process from now on.

        Raises:
            ChangeBusy: another process works on it.
        """
        ...

    def follow(self, change: str, after: int = 0) -> Iterator[Stored]:
        """The events about `change` (its own stream, its runs, its project's generations) as they come.

        Ends when nothing more can happen without a person: the Change has ended and its effects are done, or it waits
        and no message, effect or step of the router is left.
        """
        ...

    def catch_up(self) -> None:
        """Return when the read models have taken in everything that is in the log now."""
        ...

    def diff_stat(self, project: str, base: str, commit: str) -> tuple[ChangedFile, ...]: ...

    def diff(self, project: str, base: str, commit: str) -> bytes: ...

    def replay(self, names: tuple[str, ...], progress: Callable[[str, int, int], None]) -> dict[str, int]:
        """Rebuild these read models (all if empty) beside the live ones; returns rows per model.

        progress: (what is done, events so far, events in all).
        """
        ...

    def verify(
        self, names: tuple[str, ...], progress: Callable[[str, int, int], None]
    ) -> tuple[dict[str, int], list[Difference]]:
        """Compare these read models (all if empty) with the log: rows compared per model, and the differences."""
        ...


class Installation(Protocol):
    """How the command line gets a session; nothing is started before it is asked for."""

    def open(
        self,
        progress: Callable[[str], None],
        on_output: Callable[[str, str, bytes], None] | None = None,
    ) -> AbstractContextManager[Session]:
        """Start or join the store and open the session.

        progress: told in a few words what is going on when it takes long. on_output: (effect ID, source, chunk) of
        what agents and checks print.
        """
        ...

    def doctor(self) -> tuple[Finding, ...]:
        """Look at the machine; works without a store."""
        ...

    def default_budget(self) -> int:
        """Micro-dollars."""
        ...

    def home(self) -> Path: ...

    def demo(self) -> Demo:
        """Make a fresh sample repository."""
        ...

    def known_errors(self) -> Mapping[type[Exception], Saying]:
        """The expected failures of the adapters and how they are told, beside those that `routers.cli.errors` knows."""
        ...


__all__ = ["Demo", "Difference", "Finding", "Installation", "Queries", "Session"]
