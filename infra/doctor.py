"""What Rhumbline needs of the machine, looked at and said in plain words."""

import shutil
import subprocess
import sys
from typing import Final

from infra.app import sandbox_settings
from infra.postgres import PostgresError
from infra.postgres.binaries import program
from infra.sandbox.probe import probe
from infra.settings import Settings
from routers.cli.session import Finding

GIT_MINIMUM: Final = (2, 38)
ROOM_BYTES: Final = 1024**3


def examine(settings: Settings) -> tuple[Finding, ...]:
    """Everything that a run needs, in the order in which a person would repair it."""
    sandbox = tuple(Finding(each.name, each.ok, each.detail, each.remedy) for each in probe(sandbox_settings(settings)))
    return (_python(), _git(), _postgres(settings), *sandbox, _room(settings))


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding("Python", sys.version_info >= (3, 11), version, "install Python 3.11 or newer")


def _git() -> Finding:
    remedy = f"install git {GIT_MINIMUM[0]}.{GIT_MINIMUM[1]} or newer"
    found = shutil.which("git")
    if found is None:
        return Finding("git", False, "not on PATH", remedy)
    words = subprocess.run([found, "version"], capture_output=True, text=True, check=False).stdout.split()
    numbers = tuple(int(part) for part in words[2].split(".")[:2] if part.isdigit()) if len(words) > 2 else ()
    return Finding("git", numbers >= GIT_MINIMUM, " ".join(words[2:3]) or "no answer", remedy)


def _postgres(settings: Settings) -> Finding:
    if settings.database_url is not None:
        return Finding("PostgreSQL", True, "the one that DATABASE_URL names", "")
    try:
        binary = program("postgres")
    except PostgresError as error:
        return Finding("PostgreSQL", False, str(error), "install Rhumbline again, or set DATABASE_URL")
    return Finding("PostgreSQL", True, f"embedded, {binary}", "")


def _room(settings: Settings) -> Finding:
    folder = settings.home
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    detail = f"{free / 1024**3:.1f} GiB free for {settings.home}"
    return Finding("disk", free >= ROOM_BYTES, detail, "make room, or set RHUMBLINE_HOME to another disk")
