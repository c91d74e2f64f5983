"""What a check's command runs, as far as that can be told without running it.

A command is recognised only when each of its parts is; of any other one nothing is assumed, and it gets every pattern.
So does a runner that runs further commands of the repository's own (make, npm, tox): what these are can't be seen here.
"""

import re
import shlex
from typing import Final

from domain.judge.pattern import Kind
from domain.kernel.value import encode_path

EVERY_KIND: Final = frozenset(Kind)

DIRECT: Final[dict[str, Kind]] = {
    "pytest": Kind.PYTHON,
    "py.test": Kind.PYTHON,
    "jest": Kind.NODE,
    "vitest": Kind.NODE,
    "mocha": Kind.NODE,
    "ava": Kind.NODE,
}
"""Runners that run tests and no other command of the repository's."""

SUBCOMMANDS: Final[dict[str, tuple[Kind, frozenset[str]]]] = {
    "cargo": (Kind.CARGO, frozenset({"test", "nextest", "check", "build", "clippy", "fmt"})),
    "go": (Kind.GO, frozenset({"test", "vet", "build"})),
}

PREFIXES: Final = (
    ("env",),
    ("exec",),
    ("command",),
    ("time",),
    ("npx",),
    ("uv", "run"),
    ("poetry", "run"),
    ("pdm", "run"),
)
"""What may stand before a runner without changing what it is; any option of theirs makes the command unrecognised."""

HARMLESS: Final = frozenset({"cd", "true", ":", "echo", "export"})
"""Shell words that judge nothing."""

PYTHON: Final = re.compile(r"(python|pypy)[0-9.]*")
PYTHON_RUNNERS: Final = frozenset({"pytest", "unittest"})
ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
OPERATOR: Final = re.compile(r"[();<>|&]+")
EXPANSION: Final = re.compile(r"[`$\n{}*?\[#]")
"""A shell makes something else of these than what stands there."""

WORD: Final = re.compile(r"[^\s'\"=;|&<>(),:`]+")
MODULE: Final = re.compile(r"(?:^|\s)-[mp]\s*([A-Za-z_][A-Za-z0-9_.]*)")


def kinds_of(command: str) -> frozenset[Kind]:
    """The kinds of check in a shell command; every kind where that can't be told."""
    if EXPANSION.search(command):
        return EVERY_KIND
    try:
        lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        tokens = list(lexer)
    except ValueError:
        return EVERY_KIND
    found: set[Kind] = set()
    for part in _parts(tokens):
        kinds = _kinds_of_part(part)
        if kinds is None:
            return EVERY_KIND
        found |= kinds
    return frozenset(found) or EVERY_KIND


def _parts(tokens: list[str]) -> list[list[str]]:
    """The simple commands between the shell's operators."""
    parts: list[list[str]] = [[]]
    for token in tokens:
        if OPERATOR.fullmatch(token):
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]


def _kinds_of_part(words: list[str]) -> frozenset[Kind] | None:
    words = _without_prefixes(words)
    if not words:
        return None
    name, rest = words[0].rsplit("/", 1)[-1], words[1:]
    if "/" in words[0] and not words[0].startswith("/"):
        # A program of the repository's own, whatever it is called.
        return None
    if name in HARMLESS:
        return frozenset()
    if name in DIRECT:
        return frozenset({DIRECT[name]})
    if name in SUBCOMMANDS:
        kind, known = SUBCOMMANDS[name]
        return frozenset({kind}) if rest and rest[0] in known else None
    if PYTHON.fullmatch(name) and rest[:1] == ["-m"] and rest[1:2] and rest[1] in PYTHON_RUNNERS:
        return frozenset({Kind.PYTHON})
    return None


def _without_prefixes(words: list[str]) -> list[str]:
    while words:
        if ASSIGNMENT.match(words[0]):
            words = words[1:]
            continue
        prefix = next((p for p in PREFIXES if tuple(words[: len(p)]) == p), None)
        if prefix is None:
            break
        words = words[len(prefix) :]
    return words


def named_files(command: str) -> frozenset[str]:
    """Percent-encoded paths that a shell command may name, relative to some folder of the repository.

    `-c ci/x.ini`, `--config=ci/x.ini`, `-cci/x.ini`, `"./run.sh"`, `@flags.txt`; modules after `-m` and `-p` too.
    """
    words = set(WORD.findall(command)) | set(_shell_words(command))
    words |= {word[2:] for word in words if word.startswith("-")} | {word.lstrip("@") for word in words}
    names = {_normal(word) for word in words}
    names |= {path for name in MODULE.findall(command) for path in _module_paths(name)}
    return frozenset(encode_path(name.encode("utf-8", "surrogateescape")) for name in names if name)


def _shell_words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return []


def _normal(word: str) -> str:
    """`./a//b/../c` → `a/c`; a path that leaves its folder keeps what follows."""
    parts: list[str] = []
    for part in word.split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def _module_paths(name: str) -> tuple[str, ...]:
    path = name.replace(".", "/")
    return (f"{path}.py", f"{path}/__main__.py", f"{path}/__init__.py")
