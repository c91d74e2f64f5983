"""The server process: found, started, waited for, stopped. The caller holds the start lock."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil
import psycopg

from infra.postgres.binaries import ENVIRONMENT, command
from infra.postgres.cluster import Cluster
from infra.postgres.errors import PostgresError, failure
from infra.postgres.settings import PORT, conninfo, server_arguments

READY_SECONDS: Final = 120.0
"""Recovery after a crash may take this long."""
STOP_SECONDS: Final = 60.0
POLL_SECONDS: Final = 0.02
PROGRESS_SECONDS: Final = 1.0
LOG_LIMIT_BYTES: Final = 8 * 1024**2
KILLED: Final = (-signal.SIGKILL, 128 + signal.SIGKILL)
"""Exit codes of a killed server, without and with bubblewrap around it."""
MAX_KILLED: Final = 3
"""Servers killed while they start, until it is given up."""
SHARED_MEMORY_IN_USE: Final = "pre-existing shared memory block"

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Running:
    """A server process of this cluster and the folder of its socket."""

    process: psutil.Process
    socket_folder: Path


class Server:
    """The one server process on a cluster."""

    def __init__(self, cluster: Cluster, socket_folder: Path, ready_seconds: float = READY_SECONDS) -> None:
        self._cluster = cluster
        self._socket_folder = socket_folder
        self._ready_seconds = ready_seconds
        self._pid_file = cluster.data / "postmaster.pid"

    def running(self) -> Running | None:
        """The living server of this cluster, whoever started it; a stale postmaster.pid is not one."""
        try:
            lines = self._pid_file.read_text(errors="replace").splitlines()
            process = psutil.Process(int(lines[0]))
            alive = process.status() != psutil.STATUS_ZOMBIE and Path(process.cwd()) == self._cluster.data.resolve()
        except (FileNotFoundError, IndexError, ValueError, psutil.NoSuchProcess, psutil.AccessDenied):
            return None
        folder = Path(lines[4]) if len(lines) > 4 and lines[4] else self._socket_folder
        return Running(process, folder) if alive else None

    def ensure(self, progress: Progress) -> str:
        """Start the server unless it runs, wait until it accepts connections; returns the DSN of its `postgres`.

        Raises:
            PostgresError: it doesn't start or doesn't become ready in time.
        """
        deadline = time.monotonic() + self._ready_seconds
        killed = 0
        while True:
            since = self._cluster.log_size()
            found = self.running()
            child = None if found else self._start()
            folder = found.socket_folder if found else self._socket_folder
            if self._await_ready(folder, child, deadline, progress):
                return conninfo(folder, self._cluster.passfile, "postgres")
            if child is None and time.monotonic() < deadline:
                # The one that ran has ended while we waited (it was shutting down): now it is ours to start.
                continue
            if child is not None and child.returncode in KILLED and killed < MAX_KILLED:
                # By somebody, or because memory ran out: that says nothing about the cluster.
                killed += 1
                continue
            tail = self._cluster.log_tail(since)
            # Backends of a killed server need a moment to notice; until then its memory is in use.
            if SHARED_MEMORY_IN_USE not in tail or time.monotonic() > deadline:
                raise self._failure("PostgreSQL doesn't start.", tail)
            time.sleep(POLL_SECONDS)

    def _start(self) -> subprocess.Popen[bytes]:
        self._remove_stale_locks()
        self._rotate_log()
        arguments = server_arguments(self._cluster.data, self._socket_folder)
        descriptor = os.open(self._cluster.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            # A session of its own: Ctrl-C and a closed terminal reach the person's command, never the database.
            child = subprocess.Popen(
                command("postgres", *arguments),
                stdin=subprocess.DEVNULL,
                stdout=descriptor,
                stderr=descriptor,
                env=ENVIRONMENT,
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            raise PostgresError(f"PostgreSQL doesn't start: {error}") from error
        finally:
            os.close(descriptor)
        # Whoever stops the server, its exit is collected here and leaves no zombie.
        threading.Thread(target=child.wait, name="postgres-reaper", daemon=True).start()
        return child

    def _remove_stale_locks(self) -> None:
        """A process ID is reused after a reboot; PostgreSQL would then believe its old lock files."""
        self._pid_file.unlink(missing_ok=True)
        lock = self._socket_folder / f".s.PGSQL.{PORT}.lock"
        if lock.exists() and self._is_other_server(lock):
            raise PostgresError(f"another PostgreSQL uses the socket folder {self._socket_folder}")
        lock.unlink(missing_ok=True)

    @staticmethod
    def _is_other_server(lock: Path) -> bool:
        try:
            process = psutil.Process(int(lock.read_text().splitlines()[0]))
            return process.status() != psutil.STATUS_ZOMBIE and process.name() == "postgres"
        except (IndexError, ValueError, psutil.NoSuchProcess):
            return False

    def _rotate_log(self) -> None:
        if self._cluster.log_size() > LOG_LIMIT_BYTES:
            self._cluster.log.rename(self._cluster.log.with_suffix(".log.1"))

    def _await_ready(
        self, folder: Path, child: subprocess.Popen[bytes] | None, deadline: float, progress: Progress
    ) -> bool:
        """True when it accepts connections, False when the process has ended.

        Raises:
            PostgresError: it still isn't ready at the deadline, or refuses us for another reason.
        """
        dsn = conninfo(folder, self._cluster.passfile, "postgres")
        begun = told = time.monotonic()
        while True:
            try:
                psycopg.connect(dsn, connect_timeout=5).close()
                return True
            except psycopg.OperationalError as error:
                refusal = str(error)
            if "authentication failed" in refusal:
                raise PostgresError(f"PostgreSQL doesn't take the password in {self._cluster.passfile}")
            if child.poll() is not None if child else self.running() is None:
                return False
            now = time.monotonic()
            if now > deadline:
                raise self._failure(f"PostgreSQL isn't ready after {self._ready_seconds:.0f} s.", refusal)
            if now - told >= PROGRESS_SECONDS:
                told = now
                progress(f"PostgreSQL is starting or recovering ({now - begun:.0f} s)")
            time.sleep(POLL_SECONDS)

    def _failure(self, what: str, detail: str) -> PostgresError:
        return failure(self._cluster.folder, what, detail, f"Log: {self._cluster.log}")

    def stop(self) -> None:
        """Shut down cleanly: open transactions roll back, a checkpoint is written.

        Raises:
            PostgresError: it is still there after `STOP_SECONDS`.
        """
        found = self.running()
        if found is None:
            return
        found.process.send_signal(signal.SIGINT)
        try:
            found.process.wait(STOP_SECONDS)
        except psutil.TimeoutExpired as error:
            raise self._failure(f"PostgreSQL doesn't stop within {STOP_SECONDS:.0f} s.", "") from error
