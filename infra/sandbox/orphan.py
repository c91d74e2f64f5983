"""Sandboxes that never began: bubblewrap's inner process when the outer one was killed in between.

With `--die-with-parent` the outer process ends when we do. The inner one asks for the same only once the outer one has
told it to go on; if that is killed before, it waits for ever, with nothing mounted and nothing run.
"""

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Final

import structlog

log = structlog.get_logger(__name__)

_START: Final = b"bwrap\0--args\0"
"""How `infra.sandbox.session` names it."""


def end_orphans() -> int:
    """Kill those of this user, whoever started them; how many there were."""
    orphans = [int(entry.name) for entry in os.scandir("/proc") if entry.name.isdecimal() and _is_orphan(entry)]
    for process in orphans:
        log.info("sandbox.orphan_ended", pid=process)
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    return len(orphans)


def _is_orphan(entry: "os.DirEntry[str]") -> bool:
    """The outer process leads the session of both. Where it is alive, or this is it, all is well."""
    try:
        with Path(entry.path, "cmdline").open("rb", buffering=0) as file:
            if file.read(len(_START)) != _START or entry.stat().st_uid != os.geteuid():
                return False
        leader = os.getsid(int(entry.name))
    except OSError:
        # Gone meanwhile, or none of ours.
        return False
    return str(leader) != entry.name and not Path("/proc", str(leader)).exists()
