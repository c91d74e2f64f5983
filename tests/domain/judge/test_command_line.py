"""What a check's command runs: recognised as a whole, or nothing is assumed."""

import pytest

from domain.judge.command_line import EVERY_KIND, kinds_of, named_files
from domain.judge.pattern import Kind


@pytest.mark.parametrize(
    ("command", "kinds"),
    [
        ("pytest", {Kind.PYTHON}),
        ("pytest -q tests/unit -k 'not slow'", {Kind.PYTHON}),
        ("python -m pytest", {Kind.PYTHON}),
        ("python3.12 -m unittest discover", {Kind.PYTHON}),
        ("/usr/bin/python3 -m pytest -x", {Kind.PYTHON}),
        ("CI=1 PYTHONPATH=src pytest", {Kind.PYTHON}),
        ("env CI=1 pytest", {Kind.PYTHON}),
        ("uv run pytest", {Kind.PYTHON}),
        ("cd backend && pytest && echo done", {Kind.PYTHON}),
        ("npx jest --ci", {Kind.NODE}),
        ("vitest run", {Kind.NODE}),
        ("cargo test --workspace", {Kind.CARGO}),
        ("go test ./...", {Kind.GO}),
        ("pytest; go vet ./...", {Kind.PYTHON, Kind.GO}),
        ("cargo test | echo", {Kind.CARGO}),
    ],
)
def test_runners_that_are_recognised(command: str, kinds: set[Kind]) -> None:
    assert kinds_of(command) == kinds


@pytest.mark.parametrize(
    "command",
    [
        "make test",
        "npm test",
        "yarn test",
        "tox",
        "nox -s tests",
        "hatch run test",
        "cargo xtask",
        "cargo make test",
        "go run ./cmd/check",
        "go generate ./...",
        "sh run.sh",
        "./pytest",
        "bin/pytest -q",
        ".venv/bin/pytest",
        "python check.py",
        "python -m checks.all",
        "python -c 'import pytest'",
        "python -m",
        "pytest && sh more.sh",
        "pytest || true; ./x",
        "$RUNNER",
        "pytest $(cat args)",
        "pytest `cat args`",
        "pytest\n./evil",
        "pytest 'unclosed",
        "{ pytest; }",
        "true",
        "cd x",
        "cargo",
        "sudo pytest",
        "timeout 60 pytest",
        "pytest # really",
        "CI=1",
    ],
)
def test_of_anything_else_nothing_is_assumed(command: str) -> None:
    assert kinds_of(command) == EVERY_KIND


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("sh run.sh", "run.sh"),
        ("sh ./ci//run.sh", "ci/run.sh"),
        ("sh ci/../run.sh", "run.sh"),
        ("pytest -c ci/x.ini", "ci/x.ini"),
        ("pytest -cci/x.ini", "ci/x.ini"),
        ("pytest --config-file=ci/x.ini", "ci/x.ini"),
        ("pytest @ci/args.txt", "ci/args.txt"),
        ("sh 'my run.sh'", "my run.sh"),
        (r"sh my\ run.sh", "my run.sh"),
        ("a;sh b.sh&&c", "b.sh"),
        ("(sh b.sh)", "b.sh"),
        ("cat<in.txt>out.txt", "in.txt"),
        ("sh -c 'sh inner.sh'", "inner.sh"),
        ("python -m tools.check", "tools/check.py"),
        ("python -m tools.check", "tools/check/__main__.py"),
        ("pytest -p myplugin", "myplugin.py"),
        ("sh 'unclosed.sh", "unclosed.sh"),
        ("sh prüfung.sh", "pr%C3%BCfung.sh"),
    ],
)
def test_files_that_a_command_names(command: str, name: str) -> None:
    assert name in named_files(command)


def test_a_command_never_names_everything() -> None:
    assert {"", ".", "/"}.isdisjoint(named_files("pytest . ./ / .. 2>&1 -"))
