"""What a command must not see, reach or write."""

import os
import socket
from pathlib import Path

import psutil
import pytest

from commands.ports.sandbox import Limits, Outcome
from infra.sandbox.settings import SandboxSettings

from .conftest import Run

CANARY = "canary-7f3a9c"

WRITABLE_SYSCTLS = """
import os
open_for_writing = []
for folder, _, files in os.walk("/proc/sys"):
    for name in files:
        try:
            os.close(os.open(f"{folder}/{name}", os.O_WRONLY))
            open_for_writing.append(f"{folder}/{name}")
        except OSError:
            continue
print(open_for_writing)
"""

DANGEROUS_FILES = """
import os
for name in ("sys/kernel/core_pattern", "sys/kernel/modprobe", "sysrq-trigger", "sys/vm/drop_caches"):
    try:
        os.close(os.open(f"/proc/{name}", os.O_WRONLY))
        print(name, "opened")
    except OSError:
        continue
"""


def text(outcome: Outcome) -> str:
    return outcome.output.decode()


def test_a_server_on_the_hosts_loopback_is_out_of_reach(python: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        port = server.getsockname()[1]
        outcome = python(f"import socket; print(socket.socket().connect_ex(('127.0.0.1', {port})))")
        assert text(outcome).strip() == "111"
        with pytest.raises(BlockingIOError):
            server.accept()


def test_no_address_beyond_loopback_is_reachable(python: Run) -> None:
    outcome = python("import socket; print(socket.socket().connect_ex(('192.0.2.1', 443)))")
    assert text(outcome).strip() == "101"


def test_the_only_interface_is_loopback(sh: Run) -> None:
    outcome = sh("tail -n +3 /proc/net/dev | cut -d: -f1")
    assert text(outcome).split() == ["lo"]


def test_an_abstract_socket_of_the_host_is_out_of_reach(python: Run) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0rhumbline-{CANARY}")
        server.listen()
        source = f"import socket; print(socket.socket(socket.AF_UNIX).connect_ex('\\0rhumbline-{CANARY}'))"
        assert text(python(source)).strip() == "111"


@pytest.mark.parametrize("family", ["AF_VSOCK", "AF_ALG", "AF_PACKET"])
def test_socket_families_that_a_network_namespace_does_not_isolate_are_refused(python: Run, family: str) -> None:
    source = f"""
import socket
try:
    socket.socket(socket.{family}, socket.SOCK_STREAM)
except OSError as error:
    print(error.errno)
"""
    assert text(python(source)).strip() == "97"


@pytest.mark.parametrize("place", ["/etc/shadow", "/etc/sudoers", "/etc/ssh", "/var/lib", "/var/log", "/sys", "/boot"])
def test_host_places_are_not_there(sh: Run, place: str) -> None:
    assert sh(f"test -e {place}").exit_code == 1


def test_homes_are_not_there(sh: Run) -> None:
    assert text(sh("ls -A /home")).split() == ["rhumbline"]


def test_what_lies_in_the_persons_home_or_beside_the_workspace_is_not_there(
    sh: Run, working: SandboxSettings, tmp_path: Path
) -> None:
    for folder in (working.home, tmp_path):
        (folder / "secret").write_text(CANARY)
    outcome = sh(f"cat '{working.home}/secret' '{tmp_path}/secret' ../secret; ls -A /tmp")
    assert CANARY not in text(outcome)


def test_nothing_of_the_backends_environment_is_visible_anywhere(python: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", CANARY)
    source = """
import glob, os
print(dict(os.environ))
for path in glob.glob("/proc/*/environ") + glob.glob("/proc/*/cmdline") + glob.glob("/proc/*/task/*/environ"):
    try:
        print(path, open(path, "rb").read())
    except OSError:
        continue
"""
    outcome = python(source)
    assert outcome.ok
    assert CANARY not in text(outcome)


def test_variables_are_on_no_command_line_of_the_host(sh: Run, workspace: Path) -> None:
    seen: list[str] = []

    def look(_: bytes) -> None:
        children = psutil.process_iter(["cmdline"])
        seen.extend(word for child in children for word in child.info["cmdline"] or ())
        (workspace / "gate").write_bytes(b"")

    outcome = sh('mkfifo gate; echo "$KEY"; cat gate', env={"KEY": CANARY}, on_output=look)
    assert CANARY in text(outcome)
    assert "--args" in seen
    assert CANARY not in " ".join(seen)


def test_only_the_named_variables_are_there(python: Run) -> None:
    outcome = python("import os; print(*os.environ, os.environ['PWD'])", env={"EXTRA": "a b=c\n"})
    assert set(text(outcome).split()) == {"PATH", "HOME", "LANG", "TMPDIR", "EXTRA", "PWD", "/workspace"}


def test_no_kernel_setting_can_be_opened_for_writing(python: Run) -> None:
    assert text(python(WRITABLE_SYSCTLS)).strip() == "[]"


def test_the_files_that_give_the_host_away_refuse_to_be_opened_for_writing(python: Run) -> None:
    outcome = python(DANGEROUS_FILES)
    assert outcome.ok
    assert text(outcome) == ""


def test_no_process_of_the_host_is_visible(python: Run) -> None:
    outcome = python("import os; print(sum(name.isdigit() for name in os.listdir('/proc')))")
    assert int(text(outcome)) <= 3


def test_no_right_is_left(sh: Run) -> None:
    status = dict(line.split(":\t") for line in text(sh("cat /proc/self/status")).splitlines() if ":\t" in line)
    assert {status[name].strip() for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")


def test_the_command_is_never_the_hosts_root(sh: Run, workspace: Path) -> None:
    assert text(sh("id -u; touch mine")).strip() != "0"
    owner = (workspace / "mine").stat().st_uid
    assert owner != 0
    assert owner == workspace.stat().st_uid


@pytest.mark.parametrize("place", ["/", "/etc", "/usr", "/usr/bin", "/dev", "/run", "/var", "/home", "/proc", "/bin"])
def test_nothing_outside_of_the_workspace_can_be_written(sh: Run, place: str) -> None:
    assert sh(f"echo x > {place}/planted").exit_code != 0


def test_a_file_of_the_system_cannot_be_written(sh: Run) -> None:
    assert sh("echo x >> /etc/passwd").exit_code != 0
    assert sh("rm /etc/passwd || mv /etc/passwd /etc/x").exit_code != 0


def test_home_and_temporary_folder_are_writable_and_fresh_each_time(sh: Run) -> None:
    script = 'ls -A "$HOME" "$TMPDIR" /dev/shm && touch "$HOME/x" "$TMPDIR/x" /dev/shm/x /var/tmp/y'
    first, second = sh(script), sh(script)
    assert first.ok
    assert second.output == first.output


def test_folders_in_memory_are_bounded(sh: Run) -> None:
    outcome = sh("head -c 40000000 /dev/zero > $TMPDIR/x", limits=Limits(memory_bytes=128 * 1024**2, seconds=60))
    assert outcome.exit_code == 1
    assert b"No space left" in outcome.output


def test_there_is_no_terminal_to_type_into(python: Run) -> None:
    source = """
import fcntl, os
try:
    os.open("/dev/tty", os.O_RDWR)
except OSError as error:
    print(error.errno)
try:
    fcntl.ioctl(0, 0x5412, b"x")
except OSError as error:
    print(error.errno)
"""
    assert text(python(source)).split() == ["6", "1"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives workspaces to other users")
def test_a_workspace_that_was_not_given_away_cannot_be_written(sh: Run, tmp_path: Path) -> None:
    (tmp_path / "roots").mkdir(mode=0o755)
    assert sh("touch x", workspace=tmp_path / "roots").exit_code == 1
