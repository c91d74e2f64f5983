"""The obvious check of a repository that names none.

pytest, npm test, cargo test, go test, make test, in this order.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from domain.check import Check, CheckSource, Setup
from domain.kernel.errors import DomainError

READ_BYTES: Final = 1024**2

_TEST_FILE: Final = re.compile(r"(.*/)?(test_[^/]*|[^/]*_test)\.py")
_PYTEST_FILES: Final = ("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "conftest.py")
_PYTHON_FILES: Final = ("pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "requirements.txt")
_ENVIRONMENTS: Final = (".venv", "venv")
_NPM_PLACEHOLDER: Final = "no test specified"
_MAKEFILES: Final = ("GNUmakefile", "makefile", "Makefile")
"""In the order in which make looks for them."""

Read = Callable[[str, int], bytes | None]


class NoCheckFound(DomainError):
    """Nothing says how to judge a change of this repository."""

    def __init__(self) -> None:
        super().__init__(
            "no check was named and none was found (looked for pytest, npm test, cargo test, go test, make test): "
            'name one with --check "COMMAND", or under [checks] in .rhumbline.toml'
        )


@dataclass(frozen=True, slots=True)
class Found:
    """A check, and the file that speaks for it."""

    name: str
    command: str
    because: str


def discover_check(paths: Sequence[str], read: Read, setup: Setup | None) -> tuple[Check, str]:
    """The first obvious check of a tree, and a plain sentence that names it, why, and what else was there.

    paths: all of the tree's, percent-encoded; read: a file's content up to a limit, or None.

    Raises:
        NoCheckFound
    """
    found = list(_candidates(frozenset(paths), read, setup))
    if not found:
        raise NoCheckFound
    first, *others = found
    sentence = f"no check was named: using `{first.command}`, because of {first.because}"
    if others:
        sentence += f" (also possible: {', '.join(other.command for other in others)}; --check names another)"
    return Check(name=first.name, command=first.command, source=CheckSource.DISCOVERED), sentence


def _candidates(paths: frozenset[str], read: Read, setup: Setup | None) -> Iterator[Found]:
    for look in (_pytest, _npm, _cargo, _go, _make):
        found = look(paths, read)
        if found is not None:
            yield _in_environment(found, setup)


def _in_environment(found: Found, setup: Setup | None) -> Found:
    """pytest of the virtual environment that the set-up step makes, if it makes one."""
    made = next((each for each in _ENVIRONMENTS if setup is not None and each in setup.outputs), None)
    if found.name != "pytest" or made is None:
        return found
    return Found(found.name, f"{made}/bin/python -m pytest -q", found.because)


def _pytest(paths: frozenset[str], read: Read) -> Found | None:
    tests = any(_TEST_FILE.fullmatch(path) for path in paths)
    configured = next((name for name in _PYTEST_FILES if name in paths), None) or _pytest_section(paths, read)
    in_folder = any(path.startswith("tests/") and path.endswith(".py") for path in paths)
    if configured is not None and (tests or in_folder):
        return Found("pytest", "python3 -m pytest -q", configured)
    project = next((name for name in _PYTHON_FILES if name in paths), None)
    if project is not None and tests:
        return Found("pytest", "python3 -m pytest -q", f"{project} and files named like tests")
    return None


def _pytest_section(paths: frozenset[str], read: Read) -> str | None:
    for name, mark in (("pyproject.toml", "tool.pytest"), ("setup.cfg", "[tool:pytest]"), ("tox.ini", "[pytest]")):
        text = _text(name, paths, read)
        if name == "pyproject.toml" and _has_pytest_table(text):
            return f"{mark} in {name}"
        if name != "pyproject.toml" and any(line.strip() == mark for line in text.splitlines()):
            return f"{mark} in {name}"
    return None


def _has_pytest_table(text: str) -> bool:
    try:
        tool = tomllib.loads(text).get("tool")
    except tomllib.TOMLDecodeError:
        return False
    return isinstance(tool, dict) and "pytest" in tool


def _npm(paths: frozenset[str], read: Read) -> Found | None:
    try:
        document = json.loads(_text("package.json", paths, read) or "null")
    except (ValueError, RecursionError):
        return None
    scripts = document.get("scripts") if isinstance(document, dict) else None
    script = scripts.get("test") if isinstance(scripts, dict) else None
    if not isinstance(script, str) or not script.strip() or _NPM_PLACEHOLDER in script:
        return None
    return Found("npm-test", "npm test", "scripts.test in package.json")


def _cargo(paths: frozenset[str], read: Read) -> Found | None:
    return Found("cargo-test", "cargo test", "Cargo.toml") if "Cargo.toml" in paths else None


def _go(paths: frozenset[str], read: Read) -> Found | None:
    return Found("go-test", "go test ./...", "go.mod") if "go.mod" in paths else None


def _make(paths: frozenset[str], read: Read) -> Found | None:
    name = next((name for name in _MAKEFILES if name in paths), None)
    if name is None:
        return None
    text = _text(name, paths, read)
    for target in ("test", "check"):
        if re.search(rf"^{target}[ \t]*::?(?![:=])", text, re.MULTILINE):
            return Found(f"make-{target}", f"make {target}", f"the target {target} in {name}")
    return None


def _text(name: str, paths: frozenset[str], read: Read) -> str:
    content = read(name, READ_BYTES) if name in paths else None
    return (content or b"").decode(errors="replace")
