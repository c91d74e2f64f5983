"""One embedded PostgreSQL for the whole test run (all xdist workers share it), and a fresh database per test."""

import fcntl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg import conninfo, sql

from infra.event_store.migrate import migrate
from infra.postgres import EmbeddedPostgres

TEMPLATE = "migrated"


@dataclass(frozen=True)
class SharedPostgres:
    """The running server: `dsn` names its maintenance database, `url(name)` any other."""

    server: EmbeddedPostgres

    @property
    def dsn(self) -> str:
        return self.url("postgres")

    def url(self, database: str) -> str:
        return conninfo.make_conninfo(self.server.dsn, dbname=database)

    def execute(self, statement: sql.Composed) -> None:
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            connection.execute(statement)


@contextmanager
def _exclusively(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _ensure_template(shared: SharedPostgres) -> None:
    with psycopg.connect(shared.dsn) as connection:
        if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (TEMPLATE,)).fetchone():
            return
    unfinished = f"{TEMPLATE}_unfinished"
    shared.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(unfinished)))
    migrate(shared.url(unfinished))
    rename = sql.SQL("ALTER DATABASE {} RENAME TO {}")
    shared.execute(rename.format(sql.Identifier(unfinished), sql.Identifier(TEMPLATE)))


@pytest.fixture(scope="session")
def shared_postgres(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[SharedPostgres]:
    """The server; its last user among the workers stops it."""
    base = tmp_path_factory.getbasetemp()
    home = (base if worker_id == "master" else base.parent) / "postgres home"
    home.mkdir(exist_ok=True)
    # Socket paths are short; the folder of pytest may not be.
    runtime = Path(tempfile.gettempdir()) / f"rhumbline-test-{home.stat().st_dev:x}-{home.stat().st_ino:x}"
    with EmbeddedPostgres(home, runtime) as server:
        shared = SharedPostgres(server)
        with _exclusively(home / "template.lock"):
            _ensure_template(shared)
        yield shared
    # Empty once the last user has stopped the server.
    with suppress(OSError):
        runtime.rmdir()


@contextmanager
def database(shared: SharedPostgres, template: str) -> Iterator[str]:
    """A database of its own, gone afterwards."""
    name = f"test_{uuid4().hex}"
    shared.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(template)))
    try:
        yield shared.url(name)
    finally:
        shared.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture
def database_url(shared_postgres: SharedPostgres) -> Iterator[str]:
    """Connection string of a fresh database with all migrations applied."""
    with database(shared_postgres, TEMPLATE) as url:
        yield url


@pytest.fixture
def empty_database_url(shared_postgres: SharedPostgres) -> Iterator[str]:
    """Connection string of a fresh database without any table."""
    with database(shared_postgres, "template0") as url:
        yield url
