"""What the documents say is what the code says: diagrams, commands, settings, examples, links, paths."""

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any, Final

import pytest
import typer.main
from pydantic import ByteSize
from pydantic_core import PydanticUndefined

from commands.checks.project_file import parse_project_file
from commands.effect import EffectKind
from domain.kernel.event import EVENT_CLASSES
from domain.registry import MACHINES, mermaid
from infra.agents.script import Script
from infra.doctor import examine
from infra.installation import LocalInstallation
from infra.settings import PREFIX, Settings, load_settings
from projections import MODELS
from routers.cli.app import build
from routers.cli.exits import Exit
from tests.docs.page import ALL, ARCHITECTURE, LIFECYCLE, OPERATIONS, README, ROOT, Page

each_page = pytest.mark.parametrize("page", ALL, ids=lambda page: page.name)


def test_the_diagrams_are_those_of_the_tables() -> None:
    drawn = {name.capitalize(): LIFECYCLE.fences_of(name.capitalize(), "mermaid") for name in MACHINES}
    assert drawn == {name.capitalize(): [mermaid(name)] for name in MACHINES}
    assert sum(kind == "mermaid" for kind, _ in LIFECYCLE.fences) == len(MACHINES)


# -- links and paths ---------------------------------------------------------------------------------------------


@each_page
def test_links_lead_somewhere(page: Page) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.prose):
        path, _, anchor = target.partition("#")
        assert "://" not in target, f"{page.name}: a link to another place: {target}"
        linked = Page((page.path.parent / path).resolve() if path else page.path)
        assert linked.path.is_file(), f"{page.name}: {target}"
        assert not anchor or anchor in linked.anchors(), f"{page.name}: {target}"


def test_every_decision_is_listed_under_its_title() -> None:
    folder = ROOT / "docs/decisions"
    index = folder.joinpath("README.md").read_text(encoding="utf-8")
    files = sorted(folder.glob("[0-9]*.md"))
    assert [file.name[:4] for file in files] == [f"{number:04}" for number in range(1, len(files) + 1)]
    for file in files:
        number, title = file.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ").split(". ", 1)
        assert number == file.name[:4]
        assert f"| [{number}]({file.name}) | {title} |" in index


_FILE: Final = re.compile(r"(?:domain|commands|projections|routers|infra|tests|docs)/[\w./-]*")


@each_page
def test_files_of_the_code_are_there(page: Page) -> None:
    named = [code for code in page.code if _FILE.fullmatch(code)]
    assert [code for code in named if not (ROOT / code).exists()] == []


NEUTRAL_PATHS: Final = ("/tmp/rhumbline-demo", "/backup/rhumbline", "/workspace", "/bin/sh")
_ABSOLUTE: Final = re.compile(r"(?<![\w.~…/$>}\"'*:-])/[A-Za-z][\w.-]*(?:/[\w.-]+)*")
_HOST: Final = re.compile(r"\b(?:[a-z0-9-]+\.)+(?:com|org|net|io|dev|ai|cloud|internal|local)\b")


@each_page
def test_nothing_tells_about_a_machine(page: Page) -> None:
    foreign = [path for path in _ABSOLUTE.findall(page.text) if not path.startswith(NEUTRAL_PATHS)]
    assert foreign == []
    assert [host for host in _HOST.findall(page.text) if not host.endswith("example.org")] == []


# -- commands ----------------------------------------------------------------------------------------------------


def commands_of(page: Page) -> list[str]:
    """Every `rhumb …` of a page: in code, and in blocks at the beginning of a line."""
    shown = [code for code in page.code if code.split(" ")[0] == "rhumb" and len(code.split()) > 1]
    for _, content in page.fences:
        joined = content.replace("\\\n", " ")
        shown += re.findall(r"^[ ]*(?:\$ )?(rhumb .+?)(?:  .*)?$", re.sub(r" {3,}", " ", joined), re.MULTILINE)
    return shown


@each_page
def test_commands_exist_with_their_options(page: Page) -> None:
    root: Any = typer.main.get_command(build(LocalInstallation()))
    for line in commands_of(page):
        _, name, *arguments = shlex.split(line)
        command = root.commands.get(name)
        if command is None:
            assert name in ("--help", "--version"), f"{page.name}: {line}"
            continue
        if arguments or line not in page.code:
            # Parses, checks types and required arguments, and calls nothing.
            command.make_context(name, list(arguments), parent=root.make_context("rhumb", [name], obj=None))


CONTAINER_OPTIONS: Final = {"--privileged", "--cap-add", "--security-opt"}


@each_page
def test_options_in_the_text_exist(page: Page) -> None:
    root: Any = typer.main.get_command(build(LocalInstallation()))
    known = {option for command in root.commands.values() for each in command.params for option in each.opts}
    named = {code.split()[0] for code in page.code if code.startswith("--")}
    assert named - known - CONTAINER_OPTIONS == set()


def test_all_commands_are_in_the_readme() -> None:
    root: Any = typer.main.get_command(build(LocalInstallation()))
    shown = {shlex.split(line)[1] for line in commands_of(README)}
    assert set(root.commands) - shown == {"demo"}, "`make demo` stands for that one"


def test_exit_codes_are_those_of_the_code() -> None:
    table = [int(row[0]) for row in README.rows("Looking and deciding") if row[0].isdigit()]
    assert table == sorted(Exit)


# -- settings and examples ---------------------------------------------------------------------------------------


def test_settings_are_those_of_the_code() -> None:
    written = {row[0].strip("`"): row[1] for row in OPERATIONS.rows("Settings")}
    expected = {
        str(field.validation_alias or PREFIX + name.upper()): field.default
        for name, field in Settings.model_fields.items()
    }
    assert set(written) == set(expected)
    for name, default in expected.items():
        if default is not PydanticUndefined and default not in (None, ()):
            assert written[name] == _shown(default), name


def _shown(default: object) -> str:
    if isinstance(default, ByteSize):
        return default.human_readable(separator=" ").replace(".0", "")
    return str(default)


def test_findings_of_the_doctor_have_a_remedy() -> None:
    told = {row[0] for row in OPERATIONS.rows("What the machine lacks") if row[1]}
    assert {finding.name for finding in examine(load_settings())} <= told


def test_read_models_and_effects_are_those_of_the_code() -> None:
    for page, heading in ((OPERATIONS, "Read models"), (ARCHITECTURE, "The read side")):
        named = re.findall(r"`([a-z]+)`", page.section(heading))
        assert {model.name for model in MODELS} <= set(named)
    effects = [row for row in ARCHITECTURE.rows("The write side") if row[0] in tuple(EffectKind)]
    assert [row[0] for row in effects] == list(EffectKind)
    opening = {event for row in effects for event in re.findall(r"`([a-z_.]+)`", row[1])}
    assert opening <= set(EVENT_CLASSES)


@each_page
def test_examples_of_settings_and_scripts_can_be_read(page: Page) -> None:
    for kind, content in page.fences:
        if kind != "toml":
            continue
        document = tomllib.loads(content)
        if "answers" in document:
            Script.model_validate(document)
        else:
            parse_project_file(content.encode(), document.get("setup", {}).get("lockfiles", []))


def test_the_readme_has_an_example_of_settings() -> None:
    assert len(README.fences_of("Settings of a repository", "toml")) == 1


def test_the_makefile_has_the_two_commands() -> None:
    makefile = Path(ROOT, "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"`?\bmake ([a-z]+)\b", "\n".join(README.fences_of("Two commands", "sh"))):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)
