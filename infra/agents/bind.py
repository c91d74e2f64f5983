"""What of the host a person may let an agent see: a file, folder or socket by its path, never a part of the system."""

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from commands.ports.agent import AgentInputError, AgentUnavailable
from commands.ports.sandbox import WORKSPACE, Bind
from infra.agents.settings import AgentBind

CLOSED: Final = tuple(map(Path, ("/proc", "/sys", "/dev", "/boot", "/run", "/var/run")))
"""Never visible, at any depth: the kernel's files, and the sockets that command the host (Docker, systemd, buses)."""

SYSTEM: Final = tuple(map(Path, ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc")))
"""Never writable, at any depth; and never a target as a whole, because the sandbox has its own."""

_WHOLE: Final = (*map(Path, ("/", "/home", "/root", "/tmp", "/var", "/opt", "/mnt", "/media", "/srv")), *SYSTEM)


def parse_bind(text: str, home: Path, own: Sequence[Path]) -> AgentBind:
    """`PATH[:rw]` as a bind at the same path inside. home: the person's; own: the folders of Rhumbline's state.

    Raises:
        AgentInputError: nothing is there, or it must not be let in.
    """
    path, writable = (text[:-3], True) if text.endswith(":rw") else (text.removesuffix(":ro"), False)
    if not path:
        raise AgentInputError("--agent-bind needs a path")
    target = Path(os.path.abspath(os.path.expanduser(path)))  # noqa: PTH100, PTH111 - keeps links as they are named
    try:
        source = target.resolve(strict=True)
        mode = source.stat().st_mode
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it can't be resolved"
        raise AgentInputError(f"--agent-bind {path}: {reason}") from error
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISSOCK(mode)):
        raise AgentInputError(f"--agent-bind {path}: neither a file nor a folder nor a socket")
    for each in dict.fromkeys((target, source)):
        _require_harmless(path, each, writable, home.resolve(), [folder.resolve() for folder in own])
    return AgentBind(source=str(source), target=str(target), writable=writable)


def require_access(bind: AgentBind) -> None:
    """Rhumbline started as root runs agents as a user of their own, who has no more than everybody's rights.

    Raises:
        AgentInputError: that user couldn't read (or write) what is let in.
    """
    if os.geteuid() != 0:
        return
    mode = Path(bind.source).stat().st_mode
    reading = stat.S_IROTH | (stat.S_IXOTH if stat.S_ISDIR(mode) else 0)
    writing = stat.S_IWOTH if bind.writable or stat.S_ISSOCK(mode) else 0
    if mode & (reading | writing) != reading | writing:
        what = "read" if mode & reading != reading else "write"
        raise AgentInputError(
            f"--agent-bind {bind.target}: as root, agents run as a user of their own, who can't {what} it: "
            "allow it to others, or start Rhumbline as an ordinary user"
        )


def _require_harmless(named: str, path: Path, writable: bool, home: Path, own: Sequence[Path]) -> None:
    why = _harm(path, writable, home, own)
    if why:
        raise AgentInputError(f"--agent-bind {named}: {why}")


def _harm(path: Path, writable: bool, home: Path, own: Sequence[Path]) -> str | None:
    if path in _WHOLE or home.is_relative_to(path):
        return f"{path} is too much to let in as a whole: name what the agent needs in it"
    closed = next((each for each in CLOSED if path.is_relative_to(each)), None)
    if closed is not None:
        return f"nothing below {closed} can be let in"
    state = next((folder for folder in own if path.is_relative_to(folder) or folder.is_relative_to(path)), None)
    if state is not None:
        return f"Rhumbline's own state lies in {state}: it can't be let in"
    if path.is_relative_to(WORKSPACE) or WORKSPACE.is_relative_to(path):
        return f"{WORKSPACE} is the workspace's place inside"
    if writable and any(path.is_relative_to(each) for each in SYSTEM):
        return "a part of the system can't be let in writable"
    return None


def open_binds(binds: tuple[AgentBind, ...], home: Path, own: Sequence[Path]) -> tuple[Bind, ...]:
    """The binds as they are now: what was a harmless path when the Change was made may be a link today.

    Raises:
        AgentUnavailable: one is gone or leads elsewhere.
    """
    opened = []
    for bind in binds:
        try:
            now = parse_bind(bind.target + (":rw" if bind.writable else ":ro"), home, own)
        except AgentInputError as error:
            raise AgentUnavailable(str(error)) from error
        if now != bind:
            raise AgentUnavailable(f"--agent-bind {bind.target} leads to {now.source} now, and led to {bind.source}")
        opened.append(Bind(Path(bind.source), Path(bind.target), bind.writable))
    return tuple(opened)
