"""A goal on a real public package: what is good is promoted, what breaks it isn't, whatever an agent says or bends."""

from pathlib import Path

import pytest

from tests.support.repository import git
from tests.support.rhumb import Ended, Rhumb

CHECK = "python3 -m pytest -q"
BREAK = "sed -i 's/return CSI + str(code)/return CSI + str(code) + \"x\"/' colorama/ansi.py"


def agent(tmp_path: Path, script: str) -> tuple[str, ...]:
    """A ten-line agent: a shell script of the person's own."""
    file = tmp_path / "agent.sh"
    file.write_text(f"#!/bin/sh\nset -e\ncat > /dev/null\n{script}\n")
    return "--provider", "command", "--agent-command", f"sh {file}", "--agent-bind", str(file), "--check", CHECK


def promoted(ended: Ended, repository: Path) -> dict[str, object]:
    document = ended.document
    assert document["status"] == "completed"
    assert document["branch"] == f"rhumbline/{document['change']}"
    assert git(repository, "rev-parse", str(document["branch"])) == document["commit"]
    return document


def no_difference(rhumb: Rhumb) -> None:
    rhumb("replay", "--verify", code=0)


def test_a_good_change_is_promoted(rhumb: Rhumb, repository: Path, tmp_path: Path) -> None:
    (repository / "untracked.txt").write_text("mine")
    before = git(repository, "status", "--porcelain"), git(repository, "rev-parse", "HEAD")
    good = "printf '\\ndef plain(text):\\n    return text\\n' >> colorama/ansi.py"

    ended = rhumb.run("Add a function plain", repository, *agent(tmp_path, good), code=0)

    document = promoted(ended, repository)
    assert document["generation"] == 1
    assert document["costUsd"] is None
    assert [task["status"] for task in document["tasks"]] == ["completed"]
    checks = document["candidates"][0]["checks"]
    assert checks
    assert all(check["passed"] and check["exitCode"] == 0 for check in checks)
    assert (git(repository, "status", "--porcelain"), git(repository, "rev-parse", "HEAD")) == before
    message = git(repository, "log", "-1", "--format=%an%n%B", str(document["branch"]))
    assert message.splitlines()[0].startswith("agt_")
    assert f"Rhumbline-Change: {document['change']}" in message
    assert f"Rhumbline-Task: {document['tasks'][0]['id']}" in message
    assert "def plain" in git(repository, "show", f"{document['branch']}:colorama/ansi.py")
    no_difference(rhumb)


def test_a_breaking_change_is_not_promoted_whatever_the_agent_prints(
    rhumb: Rhumb, repository: Path, tmp_path: Path
) -> None:
    script = f"{BREAK}\necho 'all 38 tests pass, ready to promote'"

    ended = rhumb.run("Improve the codes", repository, *agent(tmp_path, script), code=1)

    assert ended.document["status"] == "failed"
    assert ended.document["commit"] is None
    assert "exit code 1" in ended.err
    assert git(repository, "branch", "--list", "rhumbline/*") == ""
    no_difference(rhumb)


@pytest.mark.parametrize(
    ("bend", "named"),
    [
        ("rm colorama/tests/ansi_test.py colorama/tests/ansitowin32_test.py", "colorama/tests/ansi_test.py"),
        ("printf 'import os\\nos._exit(0)\\n' > conftest.py", "conftest.py"),
        ("printf '[pytest]\\naddopts = --co\\n' > pytest.ini", "pytest.ini"),
        ("printf 'import os\\nos._exit(0)\\n' > pytest.py", "pytest.py"),
    ],
)
def test_one_that_bends_what_judges_it_waits_for_a_person(
    rhumb: Rhumb, repository: Path, tmp_path: Path, bend: str, named: str
) -> None:
    ended = rhumb.run("Improve the codes", repository, *agent(tmp_path, f"{BREAK}\n{bend}"), code=3)

    assert ended.document["status"] == "awaiting_approval"
    assert named in ended.document["reason"]
    assert named in ended.err
    assert f"rhumb approve {ended.document['change']}" in ended.err
    no_difference(rhumb)


def test_a_package_json_whose_test_is_true_waits_for_a_person(rhumb: Rhumb, tmp_path: Path) -> None:
    from tests.support.repository import make_repository

    repository = make_repository(
        tmp_path / "node",
        {
            "package.json": '{"name": "x", "version": "1.0.0", "scripts": {"test": "sh ./judge.sh"}}\n',
            "judge.sh": "grep -q one value.txt\n",
            "value.txt": "one\n",
        },
    )
    npm = tmp_path / "bin" / "npm"
    npm.parent.mkdir()
    # npm itself isn't on every machine; what counts here is which package.json the check sees.
    npm.write_text('#!/bin/sh\nsh -c "$(sed -n \'s/.*"test": "\\([^"]*\\)".*/\\1/p\' package.json)"\n')
    npm.chmod(0o755)
    bend = "echo two > value.txt; sed -i 's/sh .\\/judge.sh/true/' package.json"
    options = agent(tmp_path, bend)[:-2]

    ended = rhumb.run("Change the value", repository, *options, "--check", f"{npm} test", code=1)

    assert ended.document["status"] == "failed"


def test_approve_promotes_what_waits(rhumb: Rhumb, repository: Path, tmp_path: Path) -> None:
    waits = rhumb.run("Bend", repository, *agent(tmp_path, "rm colorama/tests/ansi_test.py; " + BREAK), code=3)

    change = str(waits.document["change"])
    approved = rhumb("approve", change, "--json", code=0)

    promoted(approved, repository)
    no_difference(rhumb)


def test_reject_ends_it(rhumb: Rhumb, repository: Path, tmp_path: Path) -> None:
    waits = rhumb.run("Bend", repository, *agent(tmp_path, "rm colorama/tests/ansi_test.py; " + BREAK), code=3)

    ended = rhumb("reject", str(waits.document["change"]), "--json", code=0)

    assert ended.document["status"] == "failed"
    no_difference(rhumb)


def test_a_red_base_fails_before_any_agent_runs(rhumb: Rhumb, repository: Path, tmp_path: Path) -> None:
    from tests.support.repository import commit_all, write

    write(repository / "colorama/tests/red_test.py", "def test_red():\n    assert False\n")
    commit_all(repository, "Red")

    ended = rhumb.run("Anything", repository, *agent(tmp_path, "touch never"), code=1)

    assert ended.document["tasks"] == []
    assert "pytest" in str(ended.document["reason"])


def test_the_second_change_builds_on_the_first(rhumb: Rhumb, repository: Path, tmp_path: Path) -> None:
    first = promoted(rhumb.run("One", repository, *agent(tmp_path, "echo 1 > one.txt"), code=0), repository)
    second = promoted(
        rhumb.run("Two", repository, *agent(tmp_path, "test -f one.txt; echo 2 > two.txt"), code=0), repository
    )

    assert second["generation"] == 2
    assert git(repository, "merge-base", str(first["commit"]), str(second["commit"])) == first["commit"]
