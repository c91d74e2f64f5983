"""What processes that were killed left behind: removed once nothing open refers to it.

A process cleans up after itself; this is for those that couldn't. Each duty tells what is in use by what the store or a
lock says, never by a file's age, so it may run at any time beside processes at work, and in two of them at once.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import structlog

from commands.context import Context
from commands.effect import EffectKind
from commands.ports.git import NoRoom
from commands.ports.sandbox import SandboxUnavailable
from commands.ports.store import StoreError
from infra.git.locks import LockWatch
from infra.git.process import GitFailed, GitMissing
from infra.git.quarantine import sweep
from infra.git.ref import PATIENCE
from infra.git.repository import InstallationMismatch, sweep_drafts
from infra.home import Home
from infra.sandbox.orphan import end_orphans

log = structlog.get_logger(__name__)

PAUSE_SECONDS: Final = 600.0
"""Between two rounds: what is left costs room, never correctness."""

END_OF_TIME: Final = datetime.max.replace(tzinfo=UTC)
NEEDS_WORKSPACE: Final = frozenset({EffectKind.RUN, EffectKind.STOP})


class Reconciler:
    """Rounds of the leader: one when it begins to lead, and then rarely."""

    def __init__(self, ctx: Context, home: Home, clock: Callable[[], float] = time.monotonic) -> None:
        self._ctx, self._home, self._clock = ctx, home, clock
        self._locks = LockWatch(clock)
        self._next = clock()

    @property
    def due(self) -> bool:
        return self._clock() >= self._next

    def run(self) -> None:
        """One round. A duty that fails is tried again with the next one and keeps no other from its work."""
        again = PAUSE_SECONDS
        for duty in (self._end_processes, self._free_places, self._close_workspaces, self._tidy_repositories):
            try:
                again = min(again, duty())
            except (
                StoreError,
                OSError,
                GitFailed,
                GitMissing,
                NoRoom,
                SandboxUnavailable,
                InstallationMismatch,
            ) as error:
                log.warning("reconcile.failed", duty=duty.__name__, error=str(error))
        self._next = self._clock() + again

    def _end_processes(self) -> float:
        end_orphans()
        return PAUSE_SECONDS

    def _free_places(self) -> float:
        self._ctx.leases.release_gone()
        self._ctx.slots.free_gone()
        return PAUSE_SECONDS

    def _close_workspaces(self) -> float:
        """Close the workspaces of runs that neither go on nor have to be stopped: their outcome is an event."""
        # Looked at before the effects: a workspace that is made meanwhile has an open effect since before.
        there = self._runs_with_files()
        if not there:
            return PAUSE_SECONDS
        needed = {
            str(effect.payload["run"])
            for effect in self._ctx.effects.open(END_OF_TIME)
            if effect.kind in NEEDS_WORKSPACE
        }
        for run in sorted(there - needed):
            state = self._ctx.writer.state(run)
            if state is None:
                log.warning("reconcile.unknown_run", run=run)
                continue
            self._ctx.canonicals.open(state.started.project).close_workspace(run)
            log.info("reconcile.workspace_closed", run=run)
        return PAUSE_SECONDS

    def _runs_with_files(self) -> set[str]:
        """Runs that have a workspace, or pins in a canonical repository."""
        places = [self._home.workspaces, *(path / "refs" / "ws" for path in self._repositories())]
        return {entry.name for place in places for entry in place.glob("run_*") if entry.is_dir()}

    def _tidy_repositories(self) -> float:
        again = PAUSE_SECONDS
        sweep_drafts(self._home.repositories)
        for path in self._repositories():
            sweep(path)
            if self._locks.look(path):
                again = 2 * PATIENCE
        return again

    def _repositories(self) -> list[Path]:
        return sorted(self._home.repositories.glob("prj_*.git"))
