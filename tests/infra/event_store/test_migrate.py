"""Migrations run once, in order, and are never changed."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from commands.ports.store import StoreError
from infra.event_store.errors import StoreUnavailable
from infra.event_store.migrate import MigrationError, known_migrations, migrate
from infra.event_store.postgres import PostgresStore


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "0001_first.sql").write_text("CREATE TABLE first (a int); INSERT INTO first VALUES (1);")
    (tmp_path / "0002_second.sql").write_text("CREATE TABLE second (a int);")
    return tmp_path


def rows(url: str, query: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(query.encode()).fetchall()


def test_each_migration_runs_once(empty_database_url: str, folder: Path) -> None:
    assert migrate(empty_database_url, folder) == 2
    assert migrate(empty_database_url, folder) == 0
    assert rows(empty_database_url, "SELECT * FROM first") == [(1,)]
    (folder / "0003_third.sql").write_text("INSERT INTO second VALUES (3);")
    assert migrate(empty_database_url, folder) == 1
    assert rows(empty_database_url, "SELECT number, name FROM schema_migrations ORDER BY 1") == [
        (1, "first"),
        (2, "second"),
        (3, "third"),
    ]


def test_processes_that_start_together_migrate_once(empty_database_url: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        ran = list(pool.map(migrate, [empty_database_url] * 4))
    assert sorted(ran) == [0, 0, 0, len(known_migrations())]


def test_a_failing_migration_leaves_nothing(empty_database_url: str, folder: Path) -> None:
    (folder / "0002_second.sql").write_text("CREATE TABLE second (a int); SELECT * FROM missing;")
    with pytest.raises(StoreError, match="missing"):
        migrate(empty_database_url, folder)
    assert rows(empty_database_url, "SELECT to_regclass('first')::text, to_regclass('second')::text") == [
        ("first", None)
    ]
    (folder / "0002_second.sql").write_text("CREATE TABLE second (a int);")
    assert migrate(empty_database_url, folder) == 1


def test_a_database_newer_than_the_code_is_refused(empty_database_url: str, folder: Path) -> None:
    migrate(empty_database_url, folder)
    (folder / "0002_second.sql").unlink()
    with pytest.raises(MigrationError, match="version 2, this Rhumbline knows 1"):
        migrate(empty_database_url, folder)


def test_a_changed_migration_is_refused(empty_database_url: str, folder: Path) -> None:
    migrate(empty_database_url, folder)
    (folder / "0001_first.sql").write_text("CREATE TABLE other (a int);")
    with pytest.raises(MigrationError, match=r"1 \(first\) was changed"):
        migrate(empty_database_url, folder)


@pytest.mark.parametrize("name", ["third.sql", "0004_gap.sql", "0002_again.sql"])
def test_migrations_are_numbered_without_gaps(folder: Path, name: str) -> None:
    (folder / name).write_text("")
    with pytest.raises(MigrationError):
        known_migrations(folder)


def test_an_unreachable_database_is_named_as_such(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable):
        migrate(f"host='{tmp_path}' dbname=x connect_timeout=1")


def test_installations_differ(database_url: str, empty_database_url: str) -> None:
    migrate(empty_database_url)
    one, other = PostgresStore(database_url), PostgresStore(empty_database_url)
    assert one.installation_id() != other.installation_id()
    one.close()
    other.close()
