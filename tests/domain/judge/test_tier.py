"""What in a change needs a person, whatever the checks say."""

import pytest

from domain.change.command import TierRaise
from domain.check import Check, CheckSource
from domain.judge import ChangedPath, tier_raises
from domain.judge.tier import MAX_NAMED_FILES
from domain.plan import RiskTier
from domain.policy import DEFAULT_POLICY, Policy

SETTINGS = "changes the settings that judge this repository"
CI = "changes continuous integration"
GIT = "changes how git reads and merges files"
LOCKS = "changes dependencies"
SCHEMA = "changes a database schema"


def raises(*files: str, policy: Policy = DEFAULT_POLICY, command: str | None = None) -> dict[str, tuple[str, ...]]:
    """Reason → files, of `"M src/app.py"`…; every raise is to high."""
    checks = [] if command is None else [Check(name="tests", command=command, source=CheckSource.PERSON)]
    found = tier_raises([ChangedPath(file[2:], file[0]) for file in files], policy, checks)
    assert all(entry.tier is RiskTier.HIGH for entry in found)
    return {entry.reason: entry.files for entry in found}


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        ("M .rhumbline.toml", SETTINGS),
        ("A sub/.RHUMBLINE.TOML", SETTINGS),
        ("A .github/workflows/x.yml", CI),
        ("A .GitHub/workflows/x.yml", CI),
        ("M .gitlab-ci.yml", CI),
        ("M .ci/run", CI),
        ("D Jenkinsfile", CI),
        ("M .circleci/config.yml", CI),
        ("A azure-pipelines.yml", CI),
        ("M .pre-commit-config.yaml", CI),
        ("M .husky/pre-push", CI),
        ("A src/.gitattributes", GIT),
        ("A .gitmodules", GIT),
        ("M package-lock.json", LOCKS),
        ("M web/yarn.lock", LOCKS),
        ("M Cargo.lock", LOCKS),
        ("M uv.lock", LOCKS),
        ("M bun.lockb", LOCKS),
        ("M go.sum", LOCKS),
        ("M requirements-dev.txt", LOCKS),
        ("M requirements/base.txt", LOCKS),
        ("A app/migrations/0002_x.py", SCHEMA),
        ("A alembic/versions/1.py", SCHEMA),
        ("A db/migrate/1.rb", SCHEMA),
        ("M db/schema.rb", SCHEMA),
        ("M db/init.sql", SCHEMA),
        ("M backend/db/deep/x.SQL", SCHEMA),
        ("A sql/V2__x.sql", SCHEMA),
        ("T migrations", SCHEMA),
    ],
)
def test_files_that_raise_the_tier(file: str, reason: str) -> None:
    assert raises("M src/app.py", file) == {reason: (file[2:],)}


@pytest.mark.parametrize(
    "file",
    [
        "M src/app.py",
        "M tests/test_app.py",
        "A tests/test_new.py",
        "M package.json",
        "M pyproject.toml",
        "M docs/github/ci.md",
        "M src/lock.py",
        "M queries/report.sql",
        "M src/immigration.py",
        "D src/app.py",
    ],
)
def test_files_that_do_not(file: str) -> None:
    assert raises(file) == {}


def test_the_policy_s_protected_resources() -> None:
    policy = DEFAULT_POLICY.model_copy(update={"protected_resources": ("src/auth/**", "*.pem")})
    assert raises("M src/AUTH/x.py", "M a/b.pem", "M src/app.py", policy=policy) == {
        "changes a protected resource": ("a/b.pem", "src/AUTH/x.py")
    }


def test_each_reason_has_its_own_entry_with_sorted_files() -> None:
    found = raises("M b.lock", "M a.lock", "M .gitlab-ci.yml")
    assert list(found.items()) == [(CI, (".gitlab-ci.yml",)), (LOCKS, ("a.lock", "b.lock"))]


def test_deleted_tests() -> None:
    """Both runs of a check may pass without a test; the next change would be judged without it."""
    assert raises("D tests/test_a.py", "D src/a_test.go", "D src/a.py") == {
        "deletes tests": ("src/a_test.go", "tests/test_a.py")
    }


def test_tests_that_moved_are_not_deleted() -> None:
    assert raises("D tests/test_a.py", "A tests/unit/test_a.py") == {}


@pytest.mark.parametrize(
    ("command", "file", "raised"),
    [
        ("mypy app.py && pytest", "M app.py", True),
        ("python check.py", "M check.py", True),
        ("python -m tools.check", "M tools/check.py", True),
        ("sh run.sh", "M run.sh", False),
        ("pytest -c etc/x.ini", "M etc/x.ini", False),
        ("pytest tests/test_app.py", "M tests/test_app.py", False),
        ("mypy app.py", "M other.py", False),
    ],
)
def test_source_that_a_command_names(command: str, file: str, raised: bool) -> None:
    """The base's version is laid over it, so that nothing would judge the new one."""
    expected = {"changes a file that a check's command names": (file[2:],)} if raised else {}
    assert raises(file, command=command) == expected


def test_a_reason_names_a_bounded_number_of_files_and_counts_the_others() -> None:
    files = [f"M {n:04}.lock" for n in range(MAX_NAMED_FILES + 7)]
    ((reason, named),) = raises(*files).items()
    assert reason == f"{LOCKS} (7 more files than are named)"
    assert named == tuple(f"{n:04}.lock" for n in range(MAX_NAMED_FILES))


def test_names_that_are_not_utf_8() -> None:
    assert tier_raises([ChangedPath("%FF.lock", "A")], DEFAULT_POLICY) == (
        TierRaise(tier=RiskTier.HIGH, reason=LOCKS, files=("%FF.lock",)),
    )
