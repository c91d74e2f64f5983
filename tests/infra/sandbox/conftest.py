"""A real sandbox, a workspace in it, and short ways to run something there."""

import os
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from commands.ports.sandbox import Execution, Limits, Outcome
from infra.sandbox.binary import find_bwrap, makes_namespaces
from infra.sandbox.bubblewrap import BubblewrapSandbox
from infra.sandbox.interpreter import python_binary
from infra.sandbox.probe import probe
from infra.sandbox.settings import SandboxSettings

Run = Callable[..., Outcome]

PATIENCE = Limits(seconds=60.0)
"""Longer than anything here takes, so that a hang is a failure and not a wait for the default limit."""


@pytest.fixture(scope="session")
def settings(tmp_path_factory: pytest.TempPathFactory) -> SandboxSettings:
    home = tmp_path_factory.mktemp("home")
    path = os.pathsep.join((str(python_binary().parent), "/usr/bin", "/bin"))
    return SandboxSettings(path=path, home=home, runtime_folder=tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="session")
def working(settings: SandboxSettings) -> SandboxSettings:
    """Skips only on a machine that gives bare bubblewrap no namespaces; all else that is missing is a failure."""
    missing = [finding for finding in probe(settings) if not finding.ok]
    if missing and not makes_namespaces(find_bwrap(None)):
        pytest.skip(f"no sandbox on this machine: {missing[0].detail}")
    assert missing == []
    return settings


@pytest.fixture
def sandbox(working: SandboxSettings) -> BubblewrapSandbox:
    return BubblewrapSandbox(working)


@pytest.fixture
def workspace(tmp_path: Path, sandbox: BubblewrapSandbox) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    sandbox.own(folder)
    return folder


@pytest.fixture
def sh(sandbox: BubblewrapSandbox, workspace: Path) -> Run:
    """Run a shell script in the workspace; keywords are `Execution`'s."""

    def run(script: str, **more: object) -> Outcome:
        return sandbox.run(Execution(("sh", "-c", script), **{"workspace": workspace, "limits": PATIENCE, **more}))  # type: ignore[arg-type]

    return run


@pytest.fixture
def python(sandbox: BubblewrapSandbox, workspace: Path) -> Run:
    """Run Python source in the workspace; keywords are `Execution`'s."""

    def run(source: str, **more: object) -> Outcome:
        argv = ("python3", "-I", "-S", "-c", source)
        return sandbox.run(Execution(argv, **{"workspace": workspace, "limits": PATIENCE, **more}))  # type: ignore[arg-type]

    return run


@pytest.fixture
def alive() -> Callable[[str], list[int]]:
    """The processes of the machine whose command line holds a mark."""

    def look(mark: str) -> list[int]:
        found = psutil.process_iter(["cmdline"])
        return [p.pid for p in found if p.pid != os.getpid() and mark in " ".join(p.info["cmdline"] or ())]

    return look
