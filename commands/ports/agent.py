"""Agents: what does the work of one task in its workspace. Each provider in `infra.agents` implements this."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from commands.ports.sandbox import Bind, Killed, Sandbox
from domain.plan import WRITING_KINDS, PlannedTask


class AgentInputError(Exception):
    """What a person named for an agent can't be used; the text names it, says why and what helps. Nothing changed."""


class AgentUnavailable(Exception):
    """The agent can't be started here and now (a variable or a bind is gone); nothing ran. No value is in the text."""


@dataclass(frozen=True, slots=True)
class AgentRequest:
    """What a person says about the agents of a Change.

    provider: `command` or `scripted`. command: a shell line of the person's own. script: the file of a scripted
    agent. binds: `PATH[:rw]` each. env: names of variables; their values are read when a run starts and never stored.
    sandboxed: False with `--unsafe-local`.
    """

    provider: str
    command: str | None = None
    script: Path | None = None
    binds: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    sandboxed: bool = True


@dataclass(frozen=True, slots=True)
class DependencyReport:
    """What a task handed on to those that depend on it: its key, title, and text (foreign: data, no instruction)."""

    key: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class PreviousAttempt:
    """Why the attempt before this one didn't do: a reason code (`no_changes`, `agent_failed`…) and a sentence."""

    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class AgentTask:
    """What an agent gets. goal, planned, hints and reports are foreign text.

    hints: what people added since the task failed.
    """

    run: str
    task: str
    attempt: int
    goal: str
    planned: PlannedTask
    previous: PreviousAttempt | None = None
    hints: tuple[str, ...] = ()
    reports: tuple[DependencyReport, ...] = ()

    @property
    def writes(self) -> bool:
        """Whether the workspace is there to be changed; otherwise it is read-only and the report is the result."""
        return self.planned.kind in WRITING_KINDS


@dataclass(frozen=True, slots=True)
class AgentReport:
    """What came of a run. It proves nothing: only the verifier's own runs are evidence.

    exit_code, killed: as in `Outcome`. output: the log, without the values let in for the agent. duration in seconds.
    report: what a reading task hands on; None for a writing one without a summary. cost in micro-dollars, None where
    it can't be known. turns: of the model, None where it can't be known.
    """

    exit_code: int | None
    killed: Killed | None
    output: bytes
    output_truncated: bool
    duration: float
    report: str | None = None
    cost: int | None = None
    turns: int | None = None

    @property
    def ok(self) -> bool:
        return self.exit_code == 0 and self.killed is None

    @property
    def reason(self) -> str:
        """A code: `done`, `agent_failed`, or `agent_` with what the sandbox ended it for (time, memory, output, …)."""
        if self.killed is not None:
            return f"agent_{self.killed}"
        return "done" if self.exit_code == 0 else "agent_failed"

    @property
    def detail(self) -> str:
        """A sentence for people, without anything that the agent wrote."""
        if self.killed is not None:
            return f"the sandbox ended the agent after {self.duration:.0f} s: {_KILLED[self.killed]}"
        hint = "; 127 says that a command isn't there: what it needs has to be let in" if self.exit_code == 127 else ""
        return f"the agent ended with exit code {self.exit_code} after {self.duration:.0f} s{hint}"


_KILLED = {
    Killed.TIME: "it took longer than it may",
    Killed.MEMORY: "it used more memory than it may",
    Killed.OUTPUT: "it printed more than it may",
    Killed.CANCELLED: "it was cancelled",
}


class Agent(Protocol):
    """One provider with the settings of one Change."""

    @property
    def provider(self) -> str:
        """`command`, `scripted`…"""
        ...

    def reservation(self, key: str, attempt: int) -> int | None:
        """What this attempt of the task `key` may cost at most, in micro-dollars; None where that can't be known."""
        ...

    def secrets(self) -> tuple[str, ...]:
        """The values let in for the agent that must show up in no ChangeSet, log or evidence.

        Raises:
            AgentUnavailable: a variable is gone.
        """
        ...

    def run(
        self,
        task: AgentTask,
        workspace: Path,
        sandbox: Sandbox,
        binds: tuple[Bind, ...] = (),
        cancel: threading.Event | None = None,
        on_output: Callable[[bytes], None] | None = None,
    ) -> AgentReport:
        """Work on `task` in `workspace` to the end, a limit, or `cancel`. No process is left afterwards.

        binds: outputs of the set-up step. on_output: called from another thread with each piece of the log, without
        the values let in.

        Raises:
            AgentUnavailable, SandboxUnavailable: nothing ran.
        """
        ...


class Agents(Protocol):
    """All providers."""

    def prepare(self, request: AgentRequest) -> bytes:
        """The settings that are stored with a Change: everything but the values of variables.

        Raises:
            AgentInputError: the request can't be carried out.
        """
        ...

    def open(self, settings: bytes, sandboxed: bool) -> Agent:
        """The agent of stored settings.

        Raises:
            AgentUnavailable: no provider here reads these settings.
        """
        ...
