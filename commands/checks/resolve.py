"""What judges a Change: the person's checks, or else the base's settings, or else the obvious one."""

import re
import shlex
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final

from commands.checks.discovery import discover_check
from commands.checks.project_file import MAX_CHECKS, read_project_file
from commands.ports.git import Canonical
from domain.check import Check, CheckSource, Setup
from domain.kernel.errors import InvalidInput
from domain.kernel.value import TEXT_LIMIT, Value, clean_text

NAME_LENGTH: Final = 40


class Judges(Value):
    """What judges a Change, all of it from the person or the base. `told`: a plain sentence on where checks come from.

    protected: glob patterns of files whose change waits for a person, percent-encoded.
    """

    checks: tuple[Check, ...]
    setup: Setup | None
    protected: tuple[str, ...]
    told: str


def judges_of_base(canonical: Canonical, commit: str, person: Sequence[Check]) -> Judges:
    """Read the base's settings, and find the checks.

    Raises:
        ProjectFileError: the base's `.rhumbline.toml` can't be used.
        NoCheckFound: nothing names a check and none is obvious.
    """
    paths = canonical.paths(commit)

    def read(path: str, limit: int) -> bytes | None:
        return canonical.read_file(commit, path, limit)

    file = read_project_file(paths, read)
    if person:
        checks, told = tuple(person), "the checks were named by --check"
    elif file.checks:
        checks, told = file.checks, "the checks are those of .rhumbline.toml"
    else:
        check, told = discover_check(paths, read, file.setup)
        checks = (check,)
    return Judges(checks=checks, setup=file.setup, protected=file.protected, told=told)


def person_checks(commands: Sequence[str]) -> tuple[Check, ...]:
    """The checks of `--check`, each with a name from its command.

    Raises:
        InvalidInput: an empty or overlong command, one that isn't text, or too many.
    """
    if len(commands) > MAX_CHECKS:
        raise InvalidInput(f"{len(commands)} checks were named; at most {MAX_CHECKS} can be")
    checks: list[Check] = []
    for command in commands:
        if not command.strip():
            raise InvalidInput("--check needs a command")
        if len(command) > TEXT_LIMIT or clean_text(command) != command:
            raise InvalidInput(f"--check: a command must be text of at most {TEXT_LIMIT} characters, without NUL")
        name = _unique(check_name(command) or f"check-{len(checks) + 1}", {check.name for check in checks})
        checks.append(Check(name=name, command=command, source=CheckSource.PERSON))
    return tuple(checks)


def check_name(command: str) -> str:
    """A name from a command's first words (`python3 -m pytest -q` → pytest, `npm test` → npm-test); may be empty."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    while words and re.fullmatch(r"[A-Za-z_]\w*=.*", words[0], re.DOTALL):
        words = words[1:]
    if len(words) > 2 and words[1] == "-m":
        words = words[2:3]
    plain = [word for word in words[1:2] if re.fullmatch(r"[A-Za-z][\w:-]*", word)]
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", "-".join([PurePosixPath(words[0]).name, *plain]) if words else "")
    return slug.strip("-._")[:NAME_LENGTH].rstrip("-._")


def _unique(name: str, taken: set[str]) -> str:
    if name not in taken:
        return name
    return next(each for n in range(2, MAX_CHECKS + 2) if (each := f"{name}-{n}") not in taken)
