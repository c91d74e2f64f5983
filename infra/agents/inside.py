"""Programs of Rhumbline's own inside the sandbox: run by their source text, with the standard library alone."""

from pathlib import Path
from types import ModuleType

from commands.ports.sandbox import Bind
from infra.agents.execution import Process
from infra.sandbox.interpreter import interpreter_folders, python_binary


def python_process(program: ModuleType, arguments: tuple[str, ...], stdin: bytes, binds: tuple[Bind, ...]) -> Process:
    """`program` as a process, by Rhumbline's own Python, since the person's PATH may hold none."""
    assert program.__file__ is not None
    source = Path(program.__file__).read_text(encoding="utf-8")
    shown = tuple(Bind(folder, folder) for folder in interpreter_folders() if not folder.is_relative_to("/usr"))
    return Process((str(python_binary()), "-I", "-S", "-c", source, *arguments), stdin, (*shown, *binds))
