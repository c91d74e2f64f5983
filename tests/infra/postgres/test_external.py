"""A database that somebody else runs."""

from pathlib import Path

import pytest
from psycopg import conninfo

from infra.postgres import ExternalPostgres, PostgresError


def test_a_reachable_database_is_used_as_given(database_url: str) -> None:
    with ExternalPostgres(database_url) as database:
        assert database.dsn == database_url
        database.ensure_running()


def test_an_unreachable_database_is_named_without_its_password(tmp_path: Path) -> None:
    dsn = conninfo.make_conninfo(host=str(tmp_path), dbname="d", user="u", password="hunter2")
    with pytest.raises(PostgresError, match="can't be reached") as refused:
        ExternalPostgres(dsn, ready_seconds=0).__enter__()
    assert str(tmp_path) in str(refused.value)
    assert "hunter2" not in str(refused.value)


def test_a_wrong_password_is_an_error_without_it(database_url: str, tmp_path: Path) -> None:
    none = tmp_path / "none"
    dsn = conninfo.make_conninfo(database_url, passfile=str(none), password="hunter2")
    with pytest.raises(PostgresError, match="password authentication failed") as refused:
        ExternalPostgres(dsn, ready_seconds=0).__enter__()
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("dsn", ["mysql://u:hunter2@h/d", "no such thing hunter2"])
def test_what_is_no_connection_string_is_told_without_repeating_it(dsn: str) -> None:
    with pytest.raises(PostgresError, match="isn't a PostgreSQL connection string") as refused:
        ExternalPostgres(dsn, ready_seconds=0).__enter__()
    assert "hunter2" not in str(refused.value)
