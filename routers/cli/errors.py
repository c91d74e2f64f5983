"""One table from a class of failure to its exit code and how it is told. Never a traceback for an expected one."""

import os
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from commands.checks.discovery import NoCheckFound
from commands.checks.project_file import ProjectFileError
from commands.ports.agent import AgentInputError, AgentUnavailable
from commands.ports.git import NoRoom, RepositoryError
from commands.ports.objects import ObjectMissing, ObjectsUnavailable
from commands.ports.sandbox import SandboxUnavailable
from commands.ports.store import StoreError
from domain.change.error import BudgetOnlyRises, RequestDiffers
from domain.kernel.errors import DomainError, InvalidInput, NotFound
from routers.cli.exits import Exit, Interrupted, Saying, UsageFault
from routers.cli.session import Installation
from routers.cli.terminal import Terminal

SAYINGS: Final[Mapping[type[Exception], Saying]] = {
    UsageFault: Saying(Exit.USAGE),
    InvalidInput: Saying(Exit.USAGE),
    NotFound: Saying(Exit.USAGE),
    RequestDiffers: Saying(Exit.USAGE),
    BudgetOnlyRises: Saying(Exit.USAGE),
    ProjectFileError: Saying(Exit.USAGE),
    NoCheckFound: Saying(Exit.USAGE),
    RepositoryError: Saying(Exit.USAGE),
    AgentInputError: Saying(Exit.USAGE),
    SandboxUnavailable: Saying(
        Exit.USAGE,
        "rhumb doctor says what this machine lacks; --unsafe-local runs agents and checks without any isolation",
    ),
    DomainError: Saying(Exit.NOT_PROMOTED),
    AgentUnavailable: Saying(Exit.USAGE),
    StoreError: Saying(Exit.NOT_PROMOTED, "what is recorded stays; the same command goes on when the store is back"),
    NoRoom: Saying(Exit.NOT_PROMOTED, "what is recorded stays; the same command goes on when there is room"),
    ObjectsUnavailable: Saying(Exit.NOT_PROMOTED),
    ObjectMissing: Saying(Exit.NOT_PROMOTED, "its content was erased, or the object store lost it"),
    Interrupted: Saying(Exit.INTERRUPTED),
}
"""The nearest class along the inheritance of an exception counts; the adapters add theirs (`known_errors`)."""


def saying_of(error: Exception, known: Mapping[type[Exception], Saying]) -> Saying | None:
    """How `error` is told; None for one that nobody expects."""
    for kind in type(error).__mro__:
        if (saying := known.get(kind) or SAYINGS.get(kind)) is not None:
            return saying
    return None


def tell(terminal: Terminal, installation: Installation, error: Exception) -> Exit:
    """Say what went wrong on standard error; returns the exit code."""
    saying = saying_of(error, installation.known_errors())
    if saying is None:
        return _tell_defect(terminal, installation, error)
    terminal.error(str(error) or type(error).__name__)
    if saying.hint:
        terminal.note(f"  {saying.hint}")
    return saying.exit


def _tell_defect(terminal: Terminal, installation: Installation, error: Exception) -> Exit:
    terminal.error(f"a defect of Rhumbline's own: {type(error).__name__}: {error}")
    try:
        file = _keep(installation.home() / "logs", error)
    except Exception as second:  # noqa: BLE001 - the first error is what counts; this one is told beside it
        terminal.note(f"  its details couldn't be kept: {type(second).__name__}: {second}")
        terminal.note(f"  it happened at {_place(error)}")
    else:
        terminal.note(f"  its details are in {file}; the log of everything is rhumb.log beside it")
    return Exit.DEFECT


def _keep(folder: Path, error: Exception) -> Path:
    """Write the traceback to a file that only this user can read."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = folder / f"crash-{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.getpid()}.log"
    text = "".join(traceback.format_exception(error))
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as opened:
        opened.write(text)
    return file


def _place(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "an unknown place"
