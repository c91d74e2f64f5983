"""Any local command-line agent: a shell line of the person's, in the workspace, in the sandbox, prompt on stdin."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

from commands.ports.agent import AgentReport, AgentTask
from commands.ports.sandbox import Bind, Sandbox
from commands.prompt import build_prompt
from infra.agents.execution import AgentHost, Process, execute
from infra.agents.secret import read_variables, secrets_of
from infra.agents.settings import CommandSettings


class CommandAgent:
    """`Agent` over a command. Its cost is unknown, so time and attempts bound it. What a reading task prints is its
    report."""

    provider: Final = "command"

    def __init__(self, settings: CommandSettings, host: AgentHost) -> None:
        self._settings = settings
        self._host = host

    def reservation(self, key: str, attempt: int) -> int | None:
        return None

    def secrets(self) -> tuple[str, ...]:
        return secrets_of(read_variables(self._settings.env, self._host.environ))

    def run(
        self,
        task: AgentTask,
        workspace: Path,
        sandbox: Sandbox,
        binds: tuple[Bind, ...] = (),
        cancel: threading.Event | None = None,
        on_output: Callable[[bytes], None] | None = None,
    ) -> AgentReport:
        process = Process(("sh", "-c", self._settings.command), build_prompt(task).encode())
        outcome = execute(self._host, self._settings, process, task, workspace, sandbox, binds, cancel, on_output)
        return AgentReport(
            exit_code=outcome.exit_code,
            killed=outcome.killed,
            output=outcome.output,
            output_truncated=outcome.output_truncated,
            duration=outcome.duration,
            report=None if task.writes else outcome.output.decode(errors="replace"),
        )
