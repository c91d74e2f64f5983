"""Set-up steps, each run once per command, lock files and toolchain; concurrent processes build an entry once.

Below the folder lie `<key>/<output>` (whole, never changed), `<key>.lock`, and `building-<key>-…` while a step runs.
"""

import dataclasses
import os
import stat
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

from commands.ports.git import Canonical
from commands.ports.sandbox import WORKSPACE, Bind, Execution, Limits, Outcome, Sandbox
from commands.setup import SetupFailed, setup_key
from domain.check import Setup
from domain.kernel.value import decode_path, sha256_hex
from infra.sandbox.ownership import open_up, remove_tree, walk_tree
from infra.setup.lock import BUILDING, EntryLock
from infra.setup.prune import prune

LOCK_FILE_BYTES: Final = 64 * 1024**2


class SetupCache:
    """`Setups` in a folder of about `keep_bytes`: each new entry makes the longest unused ones go.

    An entry that was used isn't pruned before `close` (or the end of the process). limits: those of a step, but for
    its time.
    """

    def __init__(self, folder: Path, limits: Limits, keep_bytes: int) -> None:
        self._folder, self._limits, self._keep_bytes = folder, limits, keep_bytes
        self._used: dict[str, EntryLock] = {}
        self._guard = threading.Lock()

    def prepare(
        self,
        setup: Setup,
        canonical: Canonical,
        commit: str,
        sandbox: Sandbox,
        cancel: threading.Event | None = None,
        on_output: Callable[[bytes], None] | None = None,
    ) -> tuple[Bind, ...]:
        """The read-only binds of the step's outputs for `commit`, running the step if its entry isn't there.

        Raises:
            SetupFailed: it failed, hung, was cancelled, or didn't make its outputs; nothing is cached then.
            SandboxUnavailable
        """
        key = setup_key(setup, _lock_files(setup, canonical, commit), sandbox.toolchain_fingerprint())
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        entry = self._folder / key
        lock = EntryLock(self._folder / f"{key}.lock")
        try:
            # Shared, the entry can't be pruned any more; while it isn't there, one of all that wait builds it.
            built = False
            while not lock.share(cancel, until=entry.is_dir):
                if lock.try_alone() and not entry.is_dir():
                    self._build(key, setup, canonical, commit, sandbox, cancel, on_output)
                    built = True
            lock.touch()
        except BaseException:
            lock.close()
            raise
        self._keep(key, lock)
        if built:
            prune(self._folder, self._keep_bytes)
        return tuple(Bind(_host(entry, output), _host(WORKSPACE, output)) for output in setup.outputs)

    def close(self) -> None:
        """Let go of all entries."""
        with self._guard:
            for lock in self._used.values():
                lock.close()
            self._used.clear()

    def _keep(self, key: str, lock: EntryLock) -> None:
        with self._guard:
            if key in self._used:
                lock.close()
            else:
                self._used[key] = lock

    def _build(
        self,
        key: str,
        setup: Setup,
        canonical: Canonical,
        commit: str,
        sandbox: Sandbox,
        cancel: threading.Event | None,
        on_output: Callable[[bytes], None] | None,
    ) -> None:
        """Run the step in a checkout of canonical's files and move its outputs to the entry, all or nothing."""
        for left in self._folder.glob(f"{BUILDING}{key}-*"):
            open_up(left)
            remove_tree(left)
        building = Path(tempfile.mkdtemp(prefix=f"{BUILDING}{key}-", dir=self._folder))
        try:
            checkout, entry = building / "checkout", building / "entry"
            checkout.mkdir()
            entry.mkdir(mode=0o755)
            canonical.checkout(commit, checkout)
            sandbox.own(checkout)
            try:
                outcome = sandbox.run(self._execution(setup, checkout, on_output), cancel)
            finally:
                sandbox.disown(checkout)
            _require_success(setup, outcome)
            for output in setup.outputs:
                _move(output, checkout, entry, outcome)
            # Everything is on the disk before the entry's name is: after a power cut it is whole or not there.
            os.sync()
            entry.rename(self._folder / key)
        finally:
            open_up(building)
            remove_tree(building)

    def _execution(self, setup: Setup, checkout: Path, on_output: Callable[[bytes], None] | None) -> Execution:
        return Execution(
            argv=("sh", "-c", setup.command),
            workspace=checkout,
            limits=dataclasses.replace(self._limits, seconds=setup.seconds),
            proxy_hosts=setup.hosts,
            on_output=on_output,
        )


def _lock_files(setup: Setup, canonical: Canonical, commit: str) -> dict[str, str]:
    hashes = {}
    for path in setup.lock_files:
        content = canonical.read_file(commit, path, LOCK_FILE_BYTES)
        if content is None:
            raise SetupFailed(f"the lock file {path} of [setup] isn't a regular file of the base, or is too large")
        hashes[path] = sha256_hex(content)
    return hashes


def _require_success(setup: Setup, outcome: Outcome) -> None:
    if outcome.killed is not None:
        limit = f" after {outcome.duration:.0f} s (its limit is {setup.seconds} s)" if outcome.killed == "time" else ""
        raise SetupFailed(f"the set-up step was ended by the sandbox{limit}: {outcome.killed}", outcome.output)
    if outcome.exit_code != 0:
        raise SetupFailed(f"the set-up step failed with exit code {outcome.exit_code}", outcome.output)


def _host(folder: Path, output: str) -> Path:
    return folder / os.fsdecode(decode_path(output))


def _move(output: str, checkout: Path, entry: Path, outcome: Outcome) -> None:
    """Move one output. The step's processes are gone, so what `lstat` says of a path stays so."""
    source, target = _host(checkout, output), _host(entry, output)
    for folder in (source, *source.parents):
        if folder == checkout:
            break
        if not _is_folder(folder):
            raise SetupFailed(f"the set-up step ended well, but made no folder {output}", outcome.output)
    target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    source.rename(target)
    _open_to_readers(target)


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False


def _open_to_readers(folder: Path) -> None:
    """Commands run as several users, and the cache's own folder keeps out all others: whoever gets it may read it."""

    def show(above: int, name: str, status: os.stat_result) -> None:
        mode = stat.S_IMODE(status.st_mode)
        if stat.S_ISDIR(status.st_mode):
            os.chmod(name, 0o755, dir_fd=above)
        elif stat.S_ISREG(status.st_mode):
            os.chmod(name, 0o755 if mode & 0o111 else 0o644, dir_fd=above)

    walk_tree(folder, show)
    folder.chmod(0o755)
