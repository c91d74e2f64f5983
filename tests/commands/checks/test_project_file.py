"""`.rhumbline.toml`: what it may say, and that whatever else it says is an error that names the place."""

import pytest

from commands.checks.project_file import (
    PROJECT_FILE,
    ProjectFile,
    ProjectFileError,
    encode_pattern,
    outputs_in_the_way,
    parse_project_file,
    read_project_file,
)
from domain.check import Check, CheckSource, Setup

WHOLE = b"""
[checks]
tests = "python3 -m pytest -q"
lint = { run = "ruff check", timeout = 60, defining = ["ruff.toml", "t?sts/*"] }

[setup]
run = "npm ci"
outputs = ["node_modules/", "web/a b"]
lockfiles = ["web/package-lock.json"]
hosts = ["Packages.example.org", "other.example.org:8443"]
timeout = 600

[policy]
protected = ["deploy/*"]
"""


def test_reads_all_that_can_be_said() -> None:
    file = parse_project_file(WHOLE, ["web/package-lock.json", "deploy/x"])
    assert file.checks == (
        Check(name="tests", command="python3 -m pytest -q", source=CheckSource.SETTINGS),
        Check(
            name="lint",
            command="ruff check",
            source=CheckSource.SETTINGS,
            seconds=60,
            defining=("ruff.toml", "t?sts/*"),
        ),
    )
    assert file.setup == Setup(
        command="npm ci",
        outputs=("node_modules", "web/a b"),
        lock_files=("web/package-lock.json",),
        hosts=("packages.example.org", "other.example.org:8443"),
        seconds=600,
    )
    assert file.protected == ("deploy/*",)


def test_an_empty_file_says_nothing() -> None:
    assert parse_project_file(b"", []) == ProjectFile()


def test_without_lockfiles_those_that_are_there_count() -> None:
    setup = parse_project_file(b'[setup]\nrun = "x"\noutputs = ["o"]', ["a", "package-lock.json", "uv.lock"]).setup
    assert setup is not None
    assert setup.lock_files == ("package-lock.json", "uv.lock")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"=", "is no TOML"),
        (b"\xff", "is no TOML"),
        (b"[check]\ntests = 'x'", "check: there is no such key"),
        (b"checks = 'x'", "checks"),
        (b"[checks]\ntests = ''", "[checks.tests] run: must be text"),
        (b"[checks]\ntests = ['x']", "[checks] tests: must be a table, or for a check its command"),
        (b"[checks]\n'a b' = 'x'", "[checks] a b: a check's name"),
        (b"[checks]\n'-a' = 'x'", "[checks] -a: a check's name"),
        (b"[checks.tests]\ntimeout = 5", "[checks.tests] run: must be there"),
        (b"[checks.tests]\nrun = 'x'\ntimeouts = 5", "[checks.tests] timeouts: there is no such key"),
        (b"[checks.tests]\nrun = 'x'\ntimeout = '5'", "[checks.tests] timeout"),
        (b"[checks.tests]\nrun = 'x'\ntimeout = 0", "[checks.tests] timeout"),
        (b"[checks.tests]\nrun = 'x'\ntimeout = true", "[checks.tests] timeout"),
        (b"[setup]\noutputs = ['o']", "[setup] run: must be there"),
        (b"[setup]\nrun = 'x'", "[setup] outputs: must be there"),
        (b"[setup]\nrun = 'x'\noutputs = []", "[setup] outputs"),
        (b"[setup]\nrun = 'x'\noutputs = ['o']\nhost = []", "[setup] host: there is no such key"),
        (b"[setup]\nrun = 'x'\noutputs = ['o']\nlockfiles = ['missing']", "no file missing"),
        (b"[setup]\nrun = 'x'\noutputs = ['o', 'o/p']", "o/p lies in o"),
        (b"[setup]\nrun = 'x'\noutputs = ['src']", "files of the repository lie there (src/a.py)"),
        (b"[setup]\nrun = 'x'\noutputs = ['src/a.py/deps']", "files of the repository lie there (src/a.py)"),
        (b"[policy]\nprotect = ['x']", "[policy] protect: there is no such key"),
        (b"[policy]\nprotected = 'x'", "[policy] protected"),
    ],
)
def test_names_what_is_wrong_and_where(content: bytes, said: str) -> None:
    with pytest.raises(ProjectFileError) as refused:
        parse_project_file(content, ["src/a.py"])
    assert said in str(refused.value)
    assert str(refused.value).startswith(PROJECT_FILE)


@pytest.mark.parametrize("path", ["/o", "../o", "o/../p", ".", "", "o//p", ".git", "o/.git/p"])
def test_an_output_stays_within_the_repository(path: str) -> None:
    with pytest.raises(ProjectFileError, match="outputs"):
        parse_project_file(f"[setup]\nrun = 'x'\noutputs = ['{path}']".encode(), [])


@pytest.mark.parametrize(
    "host",
    ["", "https://example.org", "*.example.org", "example.org/path", "a b", "u@example.org", "-a.org", "é.org"],
)
def test_a_host_is_a_name(host: str) -> None:
    with pytest.raises(ProjectFileError, match="hosts"):
        parse_project_file(f"[setup]\nrun = 'x'\noutputs = ['o']\nhosts = ['{host}']".encode(), [])


def test_more_checks_than_can_be_are_refused() -> None:
    content = "[checks]\n" + "\n".join(f"c{n} = 'true'" for n in range(33))
    with pytest.raises(ProjectFileError, match="33 checks"):
        parse_project_file(content.encode(), [])


def test_a_file_that_isn_t_regular_or_too_large_is_an_error() -> None:
    with pytest.raises(ProjectFileError, match="not a regular file"):
        read_project_file([PROJECT_FILE], lambda path, limit: None)


def test_without_the_file_nothing_is_read() -> None:
    def read(path: str, limit: int) -> bytes | None:
        raise AssertionError(path)

    assert read_project_file(["src/.rhumbline.toml"], read) == ProjectFile()


def test_a_pattern_keeps_its_wildcards() -> None:
    assert encode_pattern('a?/*[!x]/é "q"') == "a?/*[!x]/%C3%A9 %22q%22"


@pytest.mark.parametrize(
    ("path", "in_the_way"),
    [
        ("deps", True),
        ("deps/x", True),
        ("a/b/c", True),
        ("a", True),
        ("a/x", False),
        ("depsx", False),
        ("x/deps", False),
    ],
)
def test_what_stands_in_an_output_s_way(path: str, in_the_way: bool) -> None:
    setup = Setup(command="x", outputs=("deps", "a/b"))
    assert outputs_in_the_way(setup, [path]) == ((path,) if in_the_way else ())
