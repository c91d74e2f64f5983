"""The obvious check on many layouts of repositories."""

import json

import pytest

from commands.checks.discovery import NoCheckFound, discover_check
from domain.check import CheckSource, Setup

Tree = dict[str, str]

PYTEST = "python3 -m pytest -q"
NPM = {"scripts": {"test": "node --test"}}


def found(tree: Tree, setup: Setup | None = None) -> str:
    check, _ = discover(tree, setup)
    return check


def discover(tree: Tree, setup: Setup | None = None) -> tuple[str, str]:
    def read(path: str, limit: int) -> bytes | None:
        return tree[path].encode() if len(tree[path]) <= limit else None

    check, sentence = discover_check(sorted(tree), read, setup)
    assert check.source is CheckSource.DISCOVERED
    assert check.command in sentence
    return check.command, sentence


@pytest.mark.parametrize(
    ("tree", "command"),
    [
        ({"pyproject.toml": "[project]", "tests/test_a.py": ""}, PYTEST),
        ({"pyproject.toml": "[tool.pytest.ini_options]", "tests/check.py": ""}, PYTEST),
        ({"pyproject.toml": "not TOML [", "tests/test_a.py": ""}, PYTEST),
        ({"setup.cfg": "[tool:pytest]\n", "tests/a.py": ""}, PYTEST),
        ({"setup.py": "", "pkg/tests/test_a.py": ""}, PYTEST),
        ({"tox.ini": "[pytest]", "tests/a.py": ""}, PYTEST),
        ({"pytest.ini": "", "deep/er/a_test.py": ""}, PYTEST),
        ({"conftest.py": "", "test_a.py": ""}, PYTEST),
        ({"requirements.txt": "", "test_a.py": ""}, PYTEST),
        ({"package.json": json.dumps(NPM)}, "npm test"),
        ({"Cargo.toml": ""}, "cargo test"),
        ({"go.mod": "module x"}, "go test ./..."),
        ({"Makefile": "all:\n\techo\ntest: all\n\techo\n"}, "make test"),
        ({"Makefile": "check :: x\n"}, "make check"),
        ({"makefile": "check:\ntest:\n"}, "make test"),
        ({"GNUmakefile": "test:\n", "Makefile": "all:\n"}, "make test"),
        ({"pyproject.toml": "", "package.json": json.dumps(NPM)}, "npm test"),
        ({"package.json": "{", "go.mod": ""}, "go test ./..."),
    ],
)
def test_finds_the_obvious(tree: Tree, command: str) -> None:
    assert found(tree) == command


@pytest.mark.parametrize(
    "tree",
    [
        {},
        {"README.md": "pytest"},
        {"test_a.py": ""},
        {"tests/a.py": "", "pyproject.toml": ""},
        {"pyproject.toml": "[tool.pytest.ini_options]"},
        {"package.json": "{}"},
        {"package.json": "[]"},
        {"package.json": '{"scripts": {"test": ""}}'},
        {"package.json": '{"scripts": {"test": 1}}'},
        {"package.json": '{"scripts": []}'},
        {"package.json": json.dumps({"scripts": {"test": 'echo "Error: no test specified" && exit 1'}})},
        {"package.json": "[" * 100_000},
        {"Makefile": "test := x\ntests:\n\ttest: no\n"},
        {"Makefile": "# test:\n .PHONY: test\n"},
        {"web/package.json": json.dumps(NPM)},
        {"sub/Cargo.toml": ""},
    ],
)
def test_finds_nothing_where_nothing_is_obvious_and_says_what_to_do(tree: Tree) -> None:
    with pytest.raises(NoCheckFound, match="--check"):
        discover(tree)


def test_of_several_the_order_decides_and_the_others_are_told() -> None:
    tree = {
        "Makefile": "test:\n",
        "go.mod": "",
        "Cargo.toml": "",
        "package.json": json.dumps(NPM),
        "pytest.ini": "",
        "test_a.py": "",
    }
    command, sentence = discover(tree)
    assert command == PYTEST
    assert "pytest.ini" in sentence
    assert "npm test, cargo test, go test ./..., make test" in sentence


def test_pytest_of_the_environment_that_the_set_up_makes() -> None:
    tree = {"pyproject.toml": "", "tests/test_a.py": ""}
    assert found(tree, Setup(command="x", outputs=("deps", ".venv"))) == ".venv/bin/python -m pytest -q"
    assert found(tree, Setup(command="x", outputs=("deps",))) == PYTEST


def test_an_odd_file_name_is_no_test() -> None:
    with pytest.raises(NoCheckFound):
        discover({"pyproject.toml": "", "test_%0A.txt": "", "tests/%FFtest.py.bak": ""})
