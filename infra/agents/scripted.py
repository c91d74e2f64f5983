"""An agent that answers from a script: for demos and tests, and with known costs."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

from commands.ports.agent import AgentReport, AgentTask
from commands.ports.sandbox import Bind, Sandbox
from infra.agents import worker
from infra.agents.execution import AgentHost, Process, execute
from infra.agents.inside import python_process
from infra.agents.script import Answer
from infra.agents.secret import read_variables, secrets_of
from infra.agents.settings import ScriptedSettings


class ScriptedAgent:
    """`Agent` over a script. Its actions are done by a small process inside the sandbox, never by the backend."""

    provider: Final = "scripted"

    def __init__(self, settings: ScriptedSettings, host: AgentHost) -> None:
        self._settings = settings
        self._host = host

    def reservation(self, key: str, attempt: int) -> int | None:
        answer = self._settings.script.answer(key, attempt)
        if answer is None:
            return 0
        return answer.cost_micros if answer.reserve_micros is None else answer.reserve_micros

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
        answer = self._settings.script.answer(task.planned.key, task.attempt)
        if answer is None:
            return _without_answer(task)
        process = _process(answer)
        outcome = execute(self._host, self._settings, process, task, workspace, sandbox, binds, cancel, on_output)
        printed = None if task.writes else outcome.output.decode(errors="replace")
        return AgentReport(
            exit_code=outcome.exit_code,
            killed=outcome.killed,
            output=outcome.output,
            output_truncated=outcome.output_truncated,
            duration=outcome.duration,
            report=printed if answer.report is None else answer.report,
            cost=answer.cost_micros,
            turns=1,
        )


def _without_answer(task: AgentTask) -> AgentReport:
    output = f"the script has no answer for attempt {task.attempt} of task {task.planned.key}\n".encode()
    return AgentReport(exit_code=1, killed=None, output=output, output_truncated=False, duration=0.0, cost=0, turns=0)


def _process(answer: Answer) -> Process:
    actions = [action.model_dump(mode="json", exclude_none=True) for action in answer.actions]
    work = json.dumps({"actions": actions, "exitCode": answer.exit_code})
    return python_process(worker, (), work.encode(), ())
