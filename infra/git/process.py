"""Every git process is started here: without hooks, without configuration of host, user or repository that executes."""

import functools
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from domain.kernel.value import clean_text

MINIMUM_VERSION: Final = (2, 38)
"""`merge-tree --write-tree` and `cat-file -z` came with it."""

EMPTY_TREE: Final = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

OBJECT_NAME: Final = re.compile(r"[0-9a-f]{40}")

NO_HOME: Final = "/nonexistent"
"""No home, so no attributes, ignore lists or configuration of a user are found there."""

BASE_ENVIRONMENT: Final[Mapping[str, str]] = {
    "HOME": NO_HOME,
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": "/dev/null",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_COMMITTER_NAME": "Rhumbline",
    "GIT_COMMITTER_EMAIL": "rhumbline@localhost",
}
"""Replacements and grafts are off: a commit is what its hash says."""

QUIET_CONFIG: Final = (
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.attributesFile", "/dev/null"),
    ("core.excludesFile", "/dev/null"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("advice.graftFileDeprecated", "false"),
)
"""Stronger than any repository's own configuration. The last: a file of grafts is named only so that none is read."""

Config = Sequence[tuple[str, str]]
"""Keys and values of configuration for one process; a key may come more than once."""


class GitMissing(Exception):
    """There is no git on PATH, or one that is too old; the text says which is needed."""


class GitFailed(RuntimeError):
    """A git command that ended with an exit code nobody expected. `stderr` is its first lines, made harmless."""

    def __init__(self, verb: str, exit_code: int, stderr: bytes) -> None:
        self.verb, self.exit_code = verb, exit_code
        self.stderr = clean_text(stderr[:2_000].decode(errors="replace")).strip()
        super().__init__(f"git {verb} ended with {exit_code}: {self.stderr}")


@dataclass(frozen=True, slots=True)
class Finished:
    """What a git process left: its exit code (one of those that the caller expects) and its output."""

    exit_code: int
    stdout: bytes
    stderr: bytes


@functools.cache
def executable() -> str:
    """The absolute path of git.

    Raises:
        GitMissing: none on PATH, or older than `MINIMUM_VERSION`.
    """
    needed = ".".join(map(str, MINIMUM_VERSION))
    found = shutil.which("git")
    if found is None:
        raise GitMissing(f"git isn't installed; Rhumbline needs git {needed} or newer")
    shown = subprocess.run([found, "version"], stdout=subprocess.PIPE, check=True).stdout.decode(errors="replace")
    version = re.search(r"(\d+)\.(\d+)", shown)
    if version is None or (int(version[1]), int(version[2])) < MINIMUM_VERSION:
        raise GitMissing(f"{shown.strip()} is too old; Rhumbline needs git {needed} or newer")
    return found


@functools.cache
def exec_path() -> Path:
    """Where git keeps its own programs, real path."""
    shown = subprocess.run([executable(), "--exec-path"], stdout=subprocess.PIPE, check=True).stdout
    return Path(os.fsdecode(shown.rstrip(b"\n"))).resolve()


def environment(extra: Mapping[str, str] | None = None, config: Config = ()) -> dict[str, str]:
    """The whole environment of a git process: nothing of the host's but PATH and TMPDIR."""
    kept = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
    return {**kept, **confined_environment(config), **(extra or {})}


def confined_environment(config: Config = ()) -> dict[str, str]:
    """The same without anything of the host's, for a git process in the sandbox."""
    settings = (*QUIET_CONFIG, *config)
    counted = {"GIT_CONFIG_COUNT": str(len(settings))}
    for index, (key, value) in enumerate(settings):
        counted |= {f"GIT_CONFIG_KEY_{index}": key, f"GIT_CONFIG_VALUE_{index}": value}
    return {**BASE_ENVIRONMENT, **counted}


def command(arguments: Sequence[str | bytes], git_dir: Path | None) -> list[str | bytes]:
    """The full argument vector; `git_dir` given means no discovery and no ownership check."""
    where = () if git_dir is None else (f"--git-dir={git_dir}",)
    return [executable(), *where, *arguments]


def verb(arguments: Sequence[str | bytes]) -> str:
    """The git subcommand in `arguments`, for messages: options before it may carry paths."""
    words = iter(os.fsdecode(a) for a in arguments)
    for word in words:
        if word in ("-c", "-C"):
            next(words, None)
        elif not word.startswith("-"):
            return word
    return "?"


def git(
    *arguments: str | bytes,
    git_dir: Path | None = None,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    config: Config = (),
    expect: Sequence[int] = (0,),
    seconds: float | None = None,
) -> Finished:
    """Run git to its end.

    Raises:
        GitFailed: an exit code that isn't in `expect`.
        GitMissing: no usable git on this machine.
        subprocess.TimeoutExpired: it took longer than `seconds`.
    """
    done = subprocess.run(
        command(arguments, git_dir),
        input=stdin,
        capture_output=True,
        env=environment(env, config),
        timeout=seconds,
        check=False,
    )
    if done.returncode not in expect:
        raise GitFailed(verb(arguments), done.returncode, done.stderr)
    return Finished(done.returncode, done.stdout, done.stderr)


def line(*arguments: str | bytes, git_dir: Path | None = None, config: Config = ()) -> str:
    """The single line that a git command prints, without its line feed."""
    return os.fsdecode(git(*arguments, git_dir=git_dir, config=config).stdout.rstrip(b"\n"))


@contextmanager
def reading(
    *arguments: str | bytes, git_dir: Path, stdin: IO[bytes] | None = None, env: Mapping[str, str] | None = None
) -> Iterator[IO[bytes]]:
    """The output of a git process as a stream. Whoever leaves before its end ends the process.

    Raises:
        GitFailed: at the end of the output, an exit code other than 0.
    """
    with (
        tempfile.TemporaryFile() as complaints,
        subprocess.Popen(
            command(arguments, git_dir),
            stdin=subprocess.DEVNULL if stdin is None else stdin,
            stdout=subprocess.PIPE,
            stderr=complaints,
            env=environment(env),
        ) as process,
    ):
        assert process.stdout is not None
        try:
            yield process.stdout
            if not process.stdout.read(1) and process.wait() != 0:
                complaints.seek(0)
                raise GitFailed(verb(arguments), process.returncode, complaints.read())
        finally:
            process.kill()


def require_object_name(text: str) -> str:
    """`text`, if it is a full SHA-1 name in lower-case hex: nothing else becomes an argument where one is expected.

    Raises:
        ValueError: it isn't.
    """
    if not OBJECT_NAME.fullmatch(text):
        raise ValueError(f"not a full object name: {text!r}")
    return text
