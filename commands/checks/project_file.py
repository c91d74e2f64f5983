"""`.rhumbline.toml`: what a repository says about its checks, its set-up and its protected files.

    [checks]
    tests = "python3 -m pytest -q"
    lint = { run = "ruff check", timeout = 60, defining = ["ruff.toml"] }

    [setup]
    run = "npm ci"
    outputs = ["node_modules"]            # folders that the step makes; agents and checks see them read-only
    lockfiles = ["package-lock.json"]     # without it: the well-known ones that are there
    hosts = ["packages.example.org"]      # the only hosts that the step may reach
    timeout = 600                         # seconds, like every timeout here

    [policy]
    protected = ["deploy/*"]              # a change to these waits for a person

It is read from the base, never from the change that it judges.
"""

import re
import tomllib
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from domain.check import DEFAULT_CHECK_SECONDS, DEFAULT_SETUP_SECONDS, Check, CheckName, CheckSource, Setup
from domain.kernel.errors import DomainError
from domain.kernel.value import TEXT_LIMIT, Value, clean_text, encode_path

PROJECT_FILE: Final = ".rhumbline.toml"
PROJECT_FILE_BYTES: Final = 256 * 1024
MAX_CHECKS: Final = 32

LOCK_FILES: Final = (
    *("package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "package.json"),
    *("uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "requirements.txt", "requirements-dev.txt"),
    *("requirements_dev.txt", "requirements-test.txt", "dev-requirements.txt"),
    *("pyproject.toml", "setup.cfg", "setup.py"),
    *("Cargo.lock", "Cargo.toml", "go.sum", "go.mod", "Gemfile.lock", "composer.lock", "mix.lock"),
)
"""Files at the top that decide what a set-up step installs, where `[setup]` names none."""


class ProjectFileError(DomainError):
    """`.rhumbline.toml` can't be used; the text names the key and says why."""


def encode_pattern(raw: str) -> str:
    """A glob pattern over percent-encoded paths: like `encode_path`, but `?` stays a wildcard."""
    return encode_path(raw.encode("utf-8", "surrogateescape")).replace("%3F", "?")


def _relative(raw: str) -> str:
    parts = raw.rstrip("/").split("/")
    if raw.startswith("/") or any(part in ("", ".", "..", ".git") for part in parts):
        raise ValueError("must be a path within the repository, without '.', '..' or an empty part")
    return encode_path("/".join(parts).encode())


def _printable(raw: str) -> str:
    if clean_text(raw) != raw or not raw.strip():
        raise ValueError("must be text that isn't empty")
    return raw


_HOST: Final = re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(\.(?!-)[A-Za-z0-9-]{1,63})*\.?(:[0-9]{1,5})?")


def _host(raw: str) -> str:
    if len(raw) > 255 or not _HOST.fullmatch(raw):
        raise ValueError("must be the name of a host, if need be with a port: no address, path or wildcard")
    return raw.lower()


Command = Annotated[str, StringConstraints(max_length=TEXT_LIMIT), AfterValidator(_printable)]
Relative = Annotated[str, StringConstraints(min_length=1, max_length=1_000), AfterValidator(_relative)]
Pattern = Annotated[
    str, StringConstraints(min_length=1, max_length=1_000), AfterValidator(_printable), AfterValidator(encode_pattern)
]
Host = Annotated[str, AfterValidator(_host)]
Seconds = Annotated[int, Field(ge=1, le=86_400)]


class _Table(BaseModel):
    """Strict, so that a mistyped key or type is an error and never ignored."""

    model_config = ConfigDict(extra="forbid", strict=True, hide_input_in_errors=True)


class _Check(_Table):
    run: Command
    timeout: Seconds = DEFAULT_CHECK_SECONDS
    defining: list[Pattern] = []


class _Setup(_Table):
    run: Command
    outputs: Annotated[list[Relative], Field(min_length=1, max_length=32)]
    lockfiles: Annotated[list[Relative], Field(max_length=64)] | None = None
    hosts: Annotated[list[Host], Field(max_length=64)] = []
    timeout: Seconds = DEFAULT_SETUP_SECONDS


class _Policy(_Table):
    protected: list[Pattern] = []


class _Document(_Table):
    checks: dict[CheckName, _Check] = {}
    setup: _Setup | None = None
    policy: _Policy = _Policy()


class ProjectFile(Value):
    """What the base's `.rhumbline.toml` says; an absent one says nothing. protected: glob patterns, percent-encoded."""

    checks: tuple[Check, ...] = ()
    setup: Setup | None = None
    protected: tuple[str, ...] = ()


def read_project_file(paths: Sequence[str], read: Callable[[str, int], bytes | None]) -> ProjectFile:
    """The settings in a tree. paths: all of the tree's, percent-encoded; read: a file's content up to a limit, or None.

    Raises:
        ProjectFileError: it is there and can't be used.
    """
    if PROJECT_FILE not in paths:
        return ProjectFile()
    content = read(PROJECT_FILE, PROJECT_FILE_BYTES)
    if content is None:
        raise ProjectFileError(f"{PROJECT_FILE}: not a regular file, or larger than {PROJECT_FILE_BYTES // 1024} KiB")
    return parse_project_file(content, paths)


def parse_project_file(content: bytes, paths: Sequence[str]) -> ProjectFile:
    """The settings in `content`, checked against the tree's paths.

    Raises:
        ProjectFileError: no TOML, an unknown key, a wrong type, or a path that can't be what it is named as.
    """
    try:
        document = tomllib.loads(content.decode())
    except ValueError as error:
        raise ProjectFileError(f"{PROJECT_FILE} is no TOML: {error}") from None
    try:
        parsed = _Document.model_validate(_with_short_checks(document))
    except ValidationError as error:
        raise ProjectFileError("; ".join(map(_problem, error.errors(include_input=False)))) from None
    if len(parsed.checks) > MAX_CHECKS:
        raise ProjectFileError(f"{PROJECT_FILE}: [checks] has {len(parsed.checks)} checks; at most {MAX_CHECKS} can be")
    return ProjectFile(
        checks=tuple(_check(name, check) for name, check in parsed.checks.items()),
        setup=None if parsed.setup is None else _setup(parsed.setup, frozenset(paths)),
        protected=tuple(parsed.policy.protected),
    )


def _with_short_checks(document: dict[str, Any]) -> dict[str, Any]:
    """`name = "command"` is short for `name = { run = "command" }`."""
    checks = document.get("checks")
    if not isinstance(checks, dict):
        return document
    return {**document, "checks": {k: {"run": v} if isinstance(v, str) else v for k, v in checks.items()}}


_WORDS: Final = {
    "model_type": "must be a table, or for a check its command",
    "string_pattern_mismatch": "a check's name is made of letters, digits, '.', '_' and '-', at most 64",
    "missing": "must be there",
}
"""pydantic's codes in words that fit a file of settings."""


def _problem(item: Any) -> str:
    *tables, key = [str(part) for part in item["loc"] if part != "[key]"] or ["?"]
    table = f"[{'.'.join(tables)}] " if tables else ""
    if item["type"] == "extra_forbidden":
        return f"{PROJECT_FILE}: {table}{key}: there is no such key"
    words = _WORDS.get(item["type"]) or item["msg"].removeprefix("Value error, ")
    return f"{PROJECT_FILE}: {table}{key}: {words}"


def _check(name: str, check: _Check) -> Check:
    return Check(
        name=name,
        command=check.run,
        source=CheckSource.SETTINGS,
        seconds=check.timeout,
        defining=tuple(check.defining),
    )


def _setup(setup: _Setup, paths: frozenset[str]) -> Setup:
    lock_files = [name for name in LOCK_FILES if name in paths] if setup.lockfiles is None else setup.lockfiles
    missing = [name for name in lock_files if name not in paths]
    if missing:
        raise ProjectFileError(f"{PROJECT_FILE}: [setup] lockfiles: the repository has no file {', '.join(missing)}")
    outputs = tuple(dict.fromkeys(setup.outputs))
    for output in outputs:
        inside = next((other for other in outputs if other != output and is_within(output, other)), None)
        if inside is not None:
            raise ProjectFileError(f"{PROJECT_FILE}: [setup] outputs: {output} lies in {inside}, which is one too")
    made = Setup(
        command=setup.run,
        outputs=outputs,
        lock_files=tuple(dict.fromkeys(lock_files)),
        hosts=tuple(dict.fromkeys(setup.hosts)),
        seconds=setup.timeout,
    )
    tracked = outputs_in_the_way(made, paths)
    if tracked:
        raise ProjectFileError(
            f"{PROJECT_FILE}: [setup] outputs: files of the repository lie there ({', '.join(tracked[:3])}); "
            "an output is a folder that the step alone makes"
        )
    return made


def is_within(path: str, folder: str) -> bool:
    """Whether a percent-encoded path is `folder` or lies in it."""
    return path == folder or path.startswith(f"{folder}/")


def outputs_in_the_way(setup: Setup, paths: frozenset[str] | Sequence[str]) -> tuple[str, ...]:
    """Paths of a tree that an output would hide, or that stand where an output's folders must be; sorted.

    A change that adds such a path would be judged on something else than what it holds.
    """
    return tuple(
        sorted(
            path
            for path in paths
            if any(is_within(path, output) or is_within(output, path) for output in setup.outputs)
        )
    )
