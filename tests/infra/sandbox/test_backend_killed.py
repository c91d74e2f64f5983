"""kill -9 of the backend: no command goes on without anybody who watches it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from infra.sandbox.bubblewrap import BubblewrapSandbox
from infra.sandbox.settings import SandboxSettings
from infra.sandbox.unsafe import UnsafeLocal

from .conftest import PATIENCE

BACKEND = """
import sys
from pathlib import Path
from commands.ports.sandbox import Execution
from tests.infra.sandbox.test_backend_killed import kinds
from infra.sandbox.settings import SandboxSettings
kind, workspace, path, mark = sys.argv[1:]
settings = SandboxSettings(path=path, home=Path(workspace), runtime_folder=Path(workspace))
script = f"setsid sh -c 'echo up; exec sleep {mark}' & sleep {mark}; exit 1"
run = kinds()[kind](settings).run
run(Execution(("sh", "-c", script), Path(workspace), on_output=lambda _: print("up", flush=True)))
"""


def kinds() -> dict[str, type[BubblewrapSandbox] | type[UnsafeLocal]]:
    return {"bubblewrap": BubblewrapSandbox, "unsafe": UnsafeLocal}


def _sleepers(mark: str) -> list[psutil.Process]:
    return [p for p in psutil.process_iter(["cmdline"]) if p.info["cmdline"] == ["sleep", mark]]


@pytest.mark.parametrize(("kind", "mark"), [("bubblewrap", "98811"), ("unsafe", "98812")])
def test_commands_end_with_the_backend(working: SandboxSettings, workspace: Path, kind: str, mark: str) -> None:
    checkout = Path(__file__).parents[3]
    backend = subprocess.Popen(
        [sys.executable, "-c", BACKEND, kind, str(workspace), working.path, mark],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(checkout)},
        stdout=subprocess.PIPE,
    )
    with backend:
        assert backend.stdout is not None
        assert backend.stdout.readline() == b"up\n"
        sleepers = _sleepers(mark)
        assert sleepers
        backend.send_signal(signal.SIGKILL)
    _, left = psutil.wait_procs(sleepers, timeout=PATIENCE.seconds)
    assert left == []
    assert _sleepers(mark) == []
