"""`--unsafe-local`: no isolation, but an environment of its own, limits, and nothing left running."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from commands.ports.sandbox import Bind, Execution, Killed, Limits, Outcome, SandboxUnavailable
from infra.sandbox.bubblewrap import BubblewrapSandbox
from infra.sandbox.mount_point import UnsafeMountPoint
from infra.sandbox.settings import SandboxSettings
from infra.sandbox.unsafe import UnsafeLocal

from .conftest import PATIENCE
from .test_limits import DAEMON

Alive = Callable[[str], list[int]]
Local = Callable[..., Outcome]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "work space"
    folder.mkdir()
    return folder


@pytest.fixture
def local(settings: SandboxSettings, folder: Path) -> Local:
    def run(*argv: str, **more: object) -> Outcome:
        return UnsafeLocal(settings).run(Execution(argv, **{"workspace": folder, "limits": PATIENCE, **more}))  # type: ignore[arg-type]

    return run


def test_it_runs_in_the_workspace_itself(local: Local, folder: Path) -> None:
    outcome = local("sh", "-c", 'pwd; echo "$RHUMB_WORKSPACE"; cat; echo err >&2; exit 3', stdin=b"in\n")
    assert outcome.output.decode() == f"{folder}\n{folder}\nin\nerr\n"
    assert outcome.exit_code == 3


@pytest.mark.parametrize(("script", "code"), [("kill -9 $$", 137), ("kill -11 $$", 139), ("exec ./no-such", 127)])
def test_exit_codes(local: Local, script: str, code: int) -> None:
    assert local("sh", "-c", script).exit_code == code


@pytest.mark.parametrize(("command", "code"), [("no-such-command", 127), ("/etc/passwd", 126)])
def test_a_command_that_cannot_be_started(local: Local, command: str, code: int) -> None:
    assert local(command).exit_code == code


def test_the_backends_environment_is_not_passed_on(local: Local, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "canary")
    outcome = local("python3", "-I", "-c", "import os; print(*os.environ)", env={"EXTRA": "x"})
    assert set(outcome.output.decode().split()) == {"PATH", "HOME", "LANG", "TMPDIR", "RHUMB_WORKSPACE", "EXTRA"}


def test_paths_of_a_sandbox_become_paths_of_the_host(local: Local, folder: Path, tmp_path: Path) -> None:
    script = 'echo "$1|$2|$V|$W"'
    words = ("/workspace/a", "/workspaces")
    env = {"V": "/workspace/x:/data/y:/workspace", "W": "see /workspace"}
    outcome = local("sh", "-c", script, "sh", *words, env=env, binds=(Bind(tmp_path, Path("/data")),))
    expected = f"{folder}/a|/workspaces|{folder}/x:{tmp_path}/y:{folder}|see /workspace\n"
    assert outcome.output.decode() == expected


def test_a_bind_below_the_workspace_is_a_link_while_it_runs(local: Local, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "index.js").write_text("x")
    bind = Bind(tmp_path / "modules", Path("/workspace/web/node_modules"))
    assert local("ls", "web/node_modules/", binds=(bind,)).output == b"index.js\n"
    assert list((folder / "web").iterdir()) == []


def test_a_bind_does_not_replace_what_is_there(local: Local, folder: Path, tmp_path: Path) -> None:
    (folder / "modules").mkdir()
    with pytest.raises(UnsafeMountPoint, match="modules"):
        local("true", binds=(Bind(tmp_path, Path("/workspace/modules")),))


def test_a_missing_folder_is_named(local: Local, tmp_path: Path) -> None:
    with pytest.raises(SandboxUnavailable, match="nowhere"):
        local("true", workspace=tmp_path / "nowhere")
    with pytest.raises(SandboxUnavailable, match="nowhere"):
        local("true", binds=(Bind(tmp_path / "nowhere", Path("/data")),))


@pytest.mark.parametrize(("then", "killed"), [("sys.exit(3)", None), ("time.sleep(1000)", Killed.TIME)])
def test_a_daemon_that_detached_itself_ends_with_the_command(
    local: Local, alive: Alive, then: str, killed: Killed | None
) -> None:
    mark = "98751" if killed else "98752"
    limits = Limits(seconds=1.0) if killed else PATIENCE
    outcome = local("python3", "-I", "-S", "-c", DAEMON.format(mark=mark, then=then), limits=limits)
    assert (outcome.output, outcome.killed) == (b"started\n", killed)
    assert outcome.exit_code == (None if killed else 3)
    assert alive(f"sleep {mark}") == []


def test_the_limits_of_output_and_memory(local: Local) -> None:
    outcome = local("head", "-c", "1073741824", "/dev/zero", limits=Limits(seconds=60, output_bytes=1_000))
    assert (outcome.killed, len(outcome.output), outcome.output_truncated) == (Killed.OUTPUT, 1_000, True)
    source = "import time; keep = bytearray(b'x') * (200 * 1024**2); time.sleep(1000)"
    limits = Limits(seconds=60, memory_bytes=100 * 1024**2)
    assert local("python3", "-I", "-S", "-c", source, limits=limits).killed is Killed.MEMORY


def test_cancelling(settings: SandboxSettings, folder: Path, alive: Alive) -> None:
    cancel = threading.Event()
    execution = Execution(
        ("sh", "-c", "echo up; sleep 9876"), folder, limits=PATIENCE, on_output=lambda _: cancel.set()
    )
    assert UnsafeLocal(settings).run(execution, cancel).killed is Killed.CANCELLED
    assert alive("sleep 9876") == []


def test_nothing_is_left_in_the_temporary_folder(local: Local, settings: SandboxSettings) -> None:
    assert local("sh", "-c", 'mkdir -p "$TMPDIR/a/b" && touch "$TMPDIR/a/b/c" && chmod 0 "$TMPDIR/a"').ok
    assert list(settings.runtime_folder.iterdir()) == []


def test_its_set_up_steps_are_not_a_sandboxs(settings: SandboxSettings) -> None:
    assert UnsafeLocal(settings).toolchain_fingerprint() != BubblewrapSandbox(settings).toolchain_fingerprint()
