"""Any local command-line agent: a shell line of the person's, in the workspace, in the sandbox, prompt on stdin."""

import os
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from commands.ports.agent import AgentReport, AgentTask
from commands.ports.sandbox import Bind, Outcome, Sandbox
from commands.prompt import build_prompt
from infra.agents import reporter
from infra.agents.execution import INSIDE, AgentHost, Process, execute
from infra.agents.inside import python_process
from infra.agents.secret import read_variables, redact, secrets_of
from infra.agents.settings import CommandSettings

REPORT_FOLDER: Final = INSIDE / "report"
REPORT_NAME: Final = "text"


class CommandAgent:
    """`Agent` over a command. Its cost is unknown, so time and attempts bound it.

    What a reading task prints on standard output is its report.
    """

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
        def done(process: Process) -> Outcome:
            return execute(self._host, self._settings, process, task, workspace, sandbox, binds, cancel, on_output)

        prompt = build_prompt(task).encode()
        if task.writes:
            return _report(done(Process(("sh", "-c", self._settings.command), prompt)), None)
        with _report_folder(self._host.scratch, sandbox) as folder:
            arguments = (str(REPORT_FOLDER / REPORT_NAME), self._settings.command)
            outcome = done(python_process(reporter, arguments, prompt, (Bind(folder, REPORT_FOLDER, writable=True),)))
            printed = _printed(folder, sandbox, self._host.limits.output_bytes)
        return _report(outcome, redact(printed, self.secrets()).decode(errors="replace"))


def _report(outcome: Outcome, report: str | None) -> AgentReport:
    return AgentReport(
        exit_code=outcome.exit_code,
        killed=outcome.killed,
        output=outcome.output,
        output_truncated=outcome.output_truncated,
        duration=outcome.duration,
        report=report,
    )


@contextmanager
def _report_folder(scratch: Path, sandbox: Sandbox) -> Iterator[Path]:
    """A folder that the agent may write in beside its read-only workspace."""
    scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="report-", dir=scratch.resolve()))
    try:
        sandbox.own(folder)
        yield folder
    finally:
        sandbox.remove(folder)


def _printed(folder: Path, sandbox: Sandbox, limit: int) -> bytes:
    """The report's file. The agent could put anything in its place, so nothing but a regular file is opened."""
    sandbox.disown(folder)
    try:
        descriptor = os.open(folder / REPORT_NAME, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return b""
    with os.fdopen(descriptor, "rb") as file:
        return file.read(limit)
