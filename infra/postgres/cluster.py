"""The database cluster on disk: made once, completely or not at all."""

import os
import secrets
import shutil
import subprocess
from pathlib import Path

from infra.postgres.binaries import ENVIRONMENT, command, program
from infra.postgres.errors import PostgresError, failure
from infra.postgres.settings import USER

INITDB_SECONDS = 120
LAST_LINES = 12


class Cluster:
    """The files of one embedded server below `folder` (the home's `postgres`)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.passfile = folder / "password"
        self.log = folder / "server.log"

    def ensure(self) -> bool:
        """Make the cluster if it isn't there; True if it was made now. The caller holds the start lock.

        Raises:
            PostgresError: initdb failed, or the data belong to another major version.
        """
        if self.data.is_dir():
            self._check_version()
            self._check_passfile()
            return False
        self._initialise()
        return True

    def _initialise(self) -> None:
        unfinished = self.folder / "data.new"
        shutil.rmtree(unfinished, ignore_errors=True)
        password = secrets.token_urlsafe(32)
        arguments = ["-D", str(unfinished), "-U", USER, "-A", "scram-sha-256", "--pwfile=/dev/stdin"]
        arguments += ["-E", "UTF8", "--locale=C", "--no-instructions", "--no-clean"]
        try:
            done = subprocess.run(
                command("initdb", *arguments),
                input=password + "\n",
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                env=ENVIRONMENT,
                cwd="/",
                timeout=INITDB_SECONDS,
                start_new_session=True,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as problem:
            raise PostgresError(f"initdb failed: {problem}") from problem
        if done.returncode != 0:
            # The disk is looked at before the unfinished files make room again.
            error = failure(self.folder, "PostgreSQL can't be set up.", last_lines(done.stdout))
            shutil.rmtree(unfinished, ignore_errors=True)
            raise error
        self._write_passfile(password)
        unfinished.rename(self.data)
        _sync_folder(self.folder)

    def _write_passfile(self, password: str) -> None:
        unfinished = self.passfile.with_suffix(".new")
        unfinished.unlink(missing_ok=True)
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(f"*:*:*:{USER}:{password}\n")
            file.flush()
            os.fsync(file.fileno())
        unfinished.rename(self.passfile)

    def _check_version(self) -> None:
        theirs = (self.data / "PG_VERSION").read_text().strip()
        asked = subprocess.run(
            [program("postgres"), "--version"], capture_output=True, text=True, env=ENVIRONMENT, check=True
        )
        ours = asked.stdout.split()[-1].partition(".")[0]
        if theirs != ours:
            raise PostgresError(
                f"the data in {self.data} were written by PostgreSQL {theirs}, this installation carries {ours}: "
                "install the Rhumbline that wrote them, or set DATABASE_URL"
            )

    def _check_passfile(self) -> None:
        if not self.passfile.is_file():
            raise PostgresError(f"{self.passfile} is missing: restore it beside {self.data}, nothing else opens them")
        self.passfile.chmod(0o600)

    def log_size(self) -> int:
        return self.log.stat().st_size if self.log.exists() else 0

    def log_tail(self, since: int = 0) -> str:
        """The log's last lines after byte `since`."""
        if not self.log.exists():
            return ""
        with self.log.open("rb") as file:
            file.seek(max(since, self.log_size() - 16_384))
            return last_lines(file.read().decode(errors="replace"))


def last_lines(text: str) -> str:
    """The last lines of a log for an error text."""
    return "\n".join(text.strip().splitlines()[-LAST_LINES:])


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
