"""What every provider that runs in the sandbox does alike: task file, binds, variables, redaction."""

import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from commands.ports.agent import AgentTask
from commands.ports.sandbox import Bind, Execution, Limits, Outcome, Sandbox
from commands.prompt import TASK_FILE_VARIABLE, task_document
from infra.agents.bind import open_binds
from infra.agents.secret import Redactor, read_variables, redact, redacting, secrets_of
from infra.agents.settings import CommandSettings, ScriptedSettings

INSIDE: Final = Path("/run/rhumb")
"""Where what Rhumbline gives an agent lies inside."""

TASK_FILE: Final = INSIDE / "task.json"
"""Where the task's file lies inside; without a sandbox the variable names its real path."""


@dataclass(frozen=True, slots=True)
class AgentHost:
    """Where agents run. environ: the person's, of whom values are let in by name; home: the person's; own: the folders
    of Rhumbline's state; scratch: for files that live as long as a run."""

    environ: Mapping[str, str]
    home: Path
    own: tuple[Path, ...]
    scratch: Path
    limits: Limits


@dataclass(frozen=True, slots=True)
class Process:
    """The command that stands for the agent inside."""

    argv: tuple[str, ...]
    stdin: bytes
    binds: tuple[Bind, ...] = ()


def execute(
    host: AgentHost,
    settings: CommandSettings | ScriptedSettings,
    process: Process,
    task: AgentTask,
    workspace: Path,
    sandbox: Sandbox,
    binds: tuple[Bind, ...],
    cancel: threading.Event | None,
    on_output: Callable[[bytes], None] | None,
) -> Outcome:
    """Run `process` for `task`; the outcome's output is redacted.

    Raises:
        AgentUnavailable, SandboxUnavailable: nothing ran.
    """
    variables = read_variables(settings.env, host.environ)
    secrets = secrets_of(variables)
    redactor = Redactor(secrets)
    with _task_file(host.scratch, task) as file:
        outcome = sandbox.run(
            Execution(
                argv=process.argv,
                workspace=workspace,
                workspace_writable=task.writes,
                binds=(*binds, *process.binds, *open_binds(settings.binds, host.home, host.own), Bind(file, TASK_FILE)),
                env={**variables, TASK_FILE_VARIABLE: str(TASK_FILE)},
                stdin=process.stdin,
                limits=host.limits,
                on_output=redacting(on_output, redactor),
            ),
            cancel,
        )
    rest = redactor.end()
    if on_output is not None and rest:
        on_output(rest)
    return Outcome(
        exit_code=outcome.exit_code,
        killed=outcome.killed,
        output=redact(outcome.output, secrets),
        output_truncated=outcome.output_truncated,
        duration=outcome.duration,
    )


@contextmanager
def _task_file(scratch: Path, task: AgentTask) -> Iterator[Path]:
    """The task as JSON outside of the workspace, so that it gets into no ChangeSet."""
    scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="task-", dir=scratch.resolve()))
    try:
        file = folder / "task.json"
        file.write_bytes(task_document(task))
        # The sandbox's user is another one; the folder above stays closed to all but the owner.
        os.chmod(file, 0o444)  # noqa: PTH101
        yield file
    finally:
        shutil.rmtree(folder)
