"""PostgreSQL under a home: started by its first user, shared by all, stopped by the last."""

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import psycopg
from psycopg import sql

from infra.postgres.cluster import Cluster
from infra.postgres.errors import PostgresError
from infra.postgres.server import READY_SECONDS, Progress, Server
from infra.postgres.settings import DATABASE, PORT, conninfo

SOCKET_PATH_LIMIT: Final = 107
"""Bytes of a Unix socket's path on Linux."""


MAX_LOST: Final = 3
"""Times that the server may end before its database is there."""


def _silent(_: str) -> None:
    """No progress wanted."""


class EmbeddedPostgres:
    """A context in which `dsn` accepts connections.

    home: the installation's home; the cluster lies in its folder `postgres`.
    runtime: a short folder of ours (mode 0700) for the socket, the same for all processes on this home.
    ready_seconds: how long a start with recovery may take; `progress` is told about it once a second.

    The start lock is exclusive and short; each user holds a shared lock on another file as long as it lives, so that
    the kernel itself forgets a killed user. Whoever can make that lock exclusive is the last and stops the server.

    Raises (on entering):
        PostgresError: it can't be set up or started.
    """

    def __init__(
        self, home: Path, runtime: Path, *, ready_seconds: float = READY_SECONDS, progress: Progress = _silent
    ) -> None:
        self._cluster = Cluster(home.absolute() / "postgres")
        self._runtime = runtime.absolute()
        self._server = Server(self._cluster, self._runtime, ready_seconds)
        self._progress = progress
        self._user: int | None = None
        self._dsn = ""

    @property
    def dsn(self) -> str:
        """Connection string of the database; it names the password's file, not the password."""
        if self._user is None:
            raise PostgresError("the embedded PostgreSQL isn't entered")
        return self._dsn

    @property
    def data_folder(self) -> Path:
        """Where the data lie: for looking at free space."""
        return self._cluster.data

    def __enter__(self) -> Self:
        self._cluster.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._start_lock():
            self._user = _open_lock(self._cluster.folder / "users.lock")
            fcntl.flock(self._user, fcntl.LOCK_SH)
            try:
                self._start()
            except BaseException:
                self._leave()
                raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Leave; the last user stops the server. Idempotent."""
        if self._user is None:
            return
        with self._start_lock():
            self._leave()

    def ensure_running(self) -> None:
        """Start the server again if it ended (a full disk, an out-of-memory kill).

        Raises:
            PostgresError: it doesn't start.
        """
        with self._start_lock():
            self._start()

    def _start(self) -> None:
        self._prepare_runtime()
        self._cluster.ensure()
        self._ensure_database()
        running = self._server.running()
        folder = running.socket_folder if running else self._runtime
        self._dsn = conninfo(folder, self._cluster.passfile, DATABASE)

    def _ensure_database(self) -> None:
        for _ in range(MAX_LOST):
            try:
                _create_database(self._server.ensure(self._progress))
            except psycopg.OperationalError as error:
                # It accepted connections, and ended before it did this: it is started again.
                lost = error
            else:
                return
        raise PostgresError(f"PostgreSQL ends again and again while its database is made: {lost}") from lost

    def _leave(self) -> None:
        user, self._user = self._user, None
        if user is None:
            return
        try:
            fcntl.flock(user, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        else:
            self._server.stop()
        finally:
            os.close(user)

    @contextmanager
    def _start_lock(self) -> Iterator[None]:
        descriptor = _open_lock(self._cluster.folder / "start.lock")
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _prepare_runtime(self) -> None:
        longest = f"{self._runtime}/.s.PGSQL.{PORT}.lock"
        if len(os.fsencode(longest)) > SOCKET_PATH_LIMIT:
            raise PostgresError(f"the path of the socket folder is too long: {self._runtime}")
        self._runtime.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = self._runtime.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
            raise PostgresError(f"{self._runtime} must be a folder of this user with mode 0700")


def _open_lock(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _create_database(maintenance: str) -> None:
    """Make the database if it isn't there."""
    with psycopg.connect(maintenance, autocommit=True) as connection:
        there = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (DATABASE,)).fetchone()
        if there is None:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))
