"""git in the sandbox: whatever touches files that an agent can write, or content of a repository as files."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from commands.ports.sandbox import Bind, Execution, Killed, Limits, Outcome, Sandbox
from infra.git.process import confined_environment, exec_path, executable

LIMITS: Final = Limits(seconds=600.0, processes=512, output_bytes=64 * 1024, file_bytes=8 * 1024**3)

_FEW_THREADS: Final = (("pack.threads", "2"),)
"""One thread a core would pass the limit of processes on a large machine."""

_GAVE_UP: Final = (1, 128)
"""Exit codes of a git that ran and didn't like what it found."""

_QUOTED: Final = re.compile(rb"['\"]([^'\"\n]+)['\"]")
"""A path in a complaint of git."""

_ALREADY_THERE: Final = (Path("/usr"), Path("/bin"))


NO_ROOM: Final = (b"No space left on device", b"Disk quota exceeded", b"Out of diskspace")
"""git's words for a full disk; every git here runs with LC_ALL=C."""


class ConfinedGitFailed(RuntimeError):
    """git in the sandbox ended badly; the text holds its last lines.

    too_much: it ran out of time or memory; no_room: the disk is full; gave_up: it ran and ended by itself;
    named: paths in its complaint, perhaps.
    """

    def __init__(self, outcome: Outcome) -> None:
        said = outcome.output[-2_000:].decode(errors="replace").strip()
        how = f"was stopped ({outcome.killed})" if outcome.killed else f"ended with {outcome.exit_code}"
        super().__init__(f"git in the sandbox {how}: {said}")
        self.too_much = outcome.killed in (Killed.TIME, Killed.MEMORY)
        self.no_room = any(mark in outcome.output for mark in NO_ROOM)
        self.gave_up = outcome.exit_code in _GAVE_UP
        self.named = tuple(dict.fromkeys(match[1] for match in _QUOTED.finditer(outcome.output)))


def run_script(
    sandbox: Sandbox,
    script: str,
    *arguments: str,
    folder: Path,
    writable: bool,
    readable: tuple[Path, ...],
    scratch: Path,
    env: Mapping[str, str],
) -> None:
    """Run the constant shell `script` with `$0` as git and `arguments` as `$1…`, `folder` as the work tree.

    `readable` folders and the writable `scratch` are at the same paths inside.

    Raises:
        ConfinedGitFailed: a command of the script failed.
        SandboxUnavailable: there is no sandbox; nothing ran.
    """
    binds = (*_own_programs(), *(Bind(place, place) for place in readable), Bind(scratch, scratch, writable=True))
    outcome = sandbox.run(
        Execution(
            argv=("/bin/sh", "-euc", script, str(_real_executable()), *arguments),
            workspace=folder,
            workspace_writable=writable,
            binds=binds,
            env={**confined_environment(_FEW_THREADS), **env},
            limits=LIMITS,
            toolchains=False,
        )
    )
    if not outcome.ok:
        raise ConfinedGitFailed(outcome)


def _real_executable() -> Path:
    return Path(executable()).resolve()


def _own_programs() -> tuple[Bind, ...]:
    """A git that isn't the system's is bound too."""
    places = (exec_path(), _real_executable().parent)
    return tuple(Bind(place, place) for place in places if not any(place.is_relative_to(r) for r in _ALREADY_THERE))
