"""Numbered migrations: each runs once, in one transaction, under a lock, and is never changed afterwards."""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psycopg

from commands.ports.store import StoreError
from infra.event_store.errors import translate

FOLDER: Final = Path(__file__).with_name("migrations")
LOCK_KEY: Final = 7305808869229538402
_NAME: Final = re.compile(r"(?P<number>\d{4})_(?P<name>[a-z0-9_]+)\.sql")


class MigrationError(StoreError):
    """The database isn't one that this code may use; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One file of `migrations/`."""

    number: int
    name: str
    statements: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.statements.encode()).hexdigest()


def known_migrations(folder: Path = FOLDER) -> tuple[Migration, ...]:
    """The migrations of this code in order.

    Raises:
        MigrationError: a file name of another form, or a number missing or used twice.
    """
    found = []
    for path in sorted(folder.glob("*.sql")):
        match = _NAME.fullmatch(path.name)
        if match is None:
            raise MigrationError(f"not the name of a migration: {path.name}")
        found.append(Migration(int(match["number"]), match["name"], path.read_text(encoding="utf-8")))
    if [m.number for m in found] != list(range(1, len(found) + 1)):
        raise MigrationError(f"the migrations in {folder.name} aren't numbered without gaps")
    return tuple(found)


def migrate(dsn: str, folder: Path = FOLDER) -> int:
    """Bring the database to this code's version; returns how many migrations ran now.

    Raises:
        MigrationError: the database is newer than the code, or an applied migration was changed since.
        StoreError: the database failed.
    """
    known = known_migrations(folder)
    try:
        with psycopg.connect(dsn, autocommit=True) as connection:
            if len(_pending(connection, known)) == 0:
                return 0
            # The session's lock outlives the single transactions; a second process waits, then finds nothing to do.
            connection.execute("SELECT pg_advisory_lock(%s)", (LOCK_KEY,))
            pending = _pending(connection, known)
            for migration in pending:
                _apply(connection, migration)
            return len(pending)
    except psycopg.Error as error:
        raise translate(error) from error


def _pending(connection: psycopg.Connection[tuple[object, ...]], known: tuple[Migration, ...]) -> tuple[Migration, ...]:
    there = connection.execute("SELECT to_regclass('schema_migrations')").fetchone()
    if there is None or there[0] is None:
        return known
    applied = connection.execute("SELECT number, name, checksum FROM schema_migrations ORDER BY number").fetchall()
    if len(applied) > len(known):
        raise MigrationError(
            f"the database is at version {len(applied)}, this Rhumbline knows {len(known)}: use the newer Rhumbline"
        )
    for (number, name, checksum), migration in zip(applied, known, strict=False):
        if (number, checksum) != (migration.number, migration.checksum):
            raise MigrationError(f"migration {number} ({name}) was changed after it ran on this database")
    return known[len(applied) :]


def _apply(connection: psycopg.Connection[tuple[object, ...]], migration: Migration) -> None:
    with connection.transaction():
        connection.execute(
            "CREATE TABLE IF NOT EXISTS schema_migrations (number integer PRIMARY KEY, name text NOT NULL,"
            " checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())"
        )
        connection.execute(migration.statements.encode())
        connection.execute(
            "INSERT INTO schema_migrations (number, name, checksum) VALUES (%s, %s, %s)",
            (migration.number, migration.name, migration.checksum),
        )
