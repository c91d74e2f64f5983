"""replay, machines, doctor, help: the installation and the machine."""

import re
import subprocess
import sys

import pytest

from domain.registry import MACHINES, machines
from routers.cli.session import Difference, Finding
from tests.routers.cli.house import House, Rhumb

COMMANDS = (
    *("run", "approve", "reject", "cancel", "resume", "list", "show", "diff", "logs", "why"),
    *("replay", "machines", "doctor", "demo"),
)

LOAD = """
import sys
from infra.main import build, LocalInstallation
try:
    build(LocalInstallation())(sys.argv[1:])
except SystemExit as end:
    assert end.code == 0, end.code
heavy = {"pydantic", "psycopg", "eventsourcing", "dulwich", "rich", "structlog", "obstore", "fastapi", "domain"}
print(sorted(heavy & set(sys.modules)), file=sys.stderr)
"""


def test_replay(rhumb: Rhumb) -> None:
    assert rhumb("replay").out == "changes  1 row rebuilt\ntasks    1 row rebuilt\n"
    assert rhumb("replay", "tasks").out == "tasks  1 row rebuilt\n"


def test_replay_shows_a_bar_on_a_terminal(rhumb: Rhumb) -> None:
    ended = rhumb("replay", tty=True)
    assert "rebuilding" in ended.err
    assert "rebuilding" not in ended.out


def test_verify_without_difference(rhumb: Rhumb) -> None:
    ended = rhumb("replay", "--verify")
    assert ended.code == 0
    assert ended.out.endswith("tasks    2,000 rows compared\nno difference\n")


def test_verify_with_differences_ends_1(house: House, rhumb: Rhumb) -> None:
    house.differences = [Difference("tasks", "row tsk_1 [/b]\x1b[31m: status")]
    ended = rhumb("replay", "--verify")
    assert ended.code == 1
    assert "tasks  row tsk_1 [/b]\\x1b[31m: status" in ended.err
    assert "no difference" not in ended.out


def test_machines_are_the_tables(house: House, rhumb: Rhumb) -> None:
    document = rhumb("machines", "--format", "json").document
    assert document == machines()
    assert list(document) == ["change", "task", "candidate", "release"]
    assert ["*", "created", "submitted"] in document["change"]
    assert house.opened == 0


@pytest.mark.parametrize("name", MACHINES)
def test_each_machine_is_a_mermaid_diagram(rhumb: Rhumb, name: str) -> None:
    header, *arrows = rhumb("machines", name, "--format", "mermaid").out.splitlines()
    assert header == "stateDiagram-v2"
    assert arrows
    for arrow in arrows:
        assert re.fullmatch(r"  (\[\*\]|\w+) --> (\[\*\]|\w+)(: [^:;]+)?", arrow), arrow


def test_all_machines_as_mermaid(rhumb: Rhumb) -> None:
    out = rhumb("machines", "--format", "mermaid").out
    assert out.count("stateDiagram-v2") == 4
    assert [line for line in out.splitlines() if line.startswith("%%")] == [f"%% {name}" for name in MACHINES]


def test_an_unknown_machine_ends_2(rhumb: Rhumb) -> None:
    ended = rhumb("machines", "engine")
    assert ended.code == 2
    assert "change, task, candidate, release" in ended.err
    assert rhumb("machines", "--format", "xml").code == 2


def test_doctor_with_everything(house: House, rhumb: Rhumb) -> None:
    house.findings = (Finding("git", True, "2.39", ""), Finding("gpu", False, "none", "buy one", required=False))
    ended = rhumb("doctor")
    assert ended.code == 0
    assert "this machine has what Rhumbline needs" in ended.out
    assert "absent  gpu  none" in ended.out
    assert house.opened == 0


def test_doctor_says_what_is_missing_and_what_helps(house: House, rhumb: Rhumb) -> None:
    house.findings = (Finding("git", True, "2.39", ""), Finding("sandbox", False, "no user namespaces", "allow them"))
    ended = rhumb("doctor")
    assert ended.code == 1
    assert "missing  sandbox  no user namespaces\n         allow them\n" in ended.out
    assert "this machine lacks: sandbox" in ended.out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(house: House, rhumb: Rhumb, command: str) -> None:
    ended = rhumb(command, "--help")
    assert ended.code == 0
    assert f"{command} " in ended.out
    assert house.opened == 0


def test_help_names_every_command_and_the_exit_codes(rhumb: Rhumb) -> None:
    out = rhumb("--help").out
    for command in COMMANDS:
        assert re.search(rf"^  {command} +[A-Z].*\.$", out, re.MULTILINE), command
    assert "3 waits for a person" in " ".join(out.split())


def test_version(rhumb: Rhumb) -> None:
    assert re.fullmatch(r"rhumb \d+\.\d+\.\d+\S*\n", rhumb("--version").out)


def test_an_unknown_command_ends_2(rhumb: Rhumb) -> None:
    ended = rhumb("runn")
    assert ended.code == 2
    assert "No such command" in ended.err
    assert ended.out == ""


@pytest.mark.parametrize(
    ("arguments", "allowed"),
    [
        (("--help",), "[]"),
        (("--version",), "[]"),
        # typer checks the types of a command's parameters with pydantic.
        (("run", "--help"), "['pydantic']"),
    ],
)
def test_help_loads_nothing_heavy(arguments: tuple[str, ...], allowed: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOAD, *arguments], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.strip() == allowed
