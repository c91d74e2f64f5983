"""What comes of a command, and what it is given."""

import os
from pathlib import Path

import pytest

from commands.ports.sandbox import Bind, Execution, Killed, Limits, SandboxUnavailable
from infra.sandbox.bubblewrap import BubblewrapSandbox
from infra.sandbox.mount_point import UnsafeMountPoint

from .conftest import Run


@pytest.mark.parametrize("code", [0, 1, 2, 77, 125, 255])
def test_exit_codes_are_the_commands_own(sh: Run, code: int) -> None:
    outcome = sh(f"exit {code}")
    assert (outcome.exit_code, outcome.killed) == (code, None)
    assert outcome.ok is (code == 0)


@pytest.mark.parametrize("number", [6, 9, 11, 15])
def test_a_signal_is_128_and_its_number(sh: Run, number: int) -> None:
    assert sh(f"kill -{number} $$").exit_code == 128 + number


def test_a_command_that_is_not_there_is_127(sandbox: BubblewrapSandbox, workspace: Path) -> None:
    outcome = sandbox.run(Execution(("no-such-command",), workspace))
    assert outcome.exit_code == 127
    assert b"no-such-command" in outcome.output


def test_a_command_that_cannot_be_run_is_126(sandbox: BubblewrapSandbox, workspace: Path) -> None:
    assert sandbox.run(Execution(("/etc/passwd",), workspace)).exit_code == 126


@pytest.mark.parametrize("word", ["a b", "'", '"', "$HOME", "`id`", "x\ny", "--help", "-", "é", "A=b", "\udcff"])
def test_arguments_arrive_as_they_are(sandbox: BubblewrapSandbox, workspace: Path, word: str) -> None:
    outcome = sandbox.run(Execution(("printf", "%s|", "x", word), workspace))
    assert outcome.output == b"x|" + os.fsencode(word) + b"|"


def test_a_command_named_like_a_variable_is_a_command(sandbox: BubblewrapSandbox, workspace: Path) -> None:
    assert sandbox.run(Execution(("A=b",), workspace)).exit_code == 127


def test_standard_output_and_error_come_combined_and_in_order(sh: Run) -> None:
    assert sh("echo one; echo two >&2; echo three").output == b"one\ntwo\nthree\n"


def test_output_is_shown_as_it_comes(sh: Run, workspace: Path) -> None:
    chunks: list[bytes] = []

    def see(chunk: bytes) -> None:
        chunks.append(chunk)
        if chunk == b"first\n":
            (workspace / "gate").write_bytes(b"")

    outcome = sh("mkfifo gate; echo first; cat gate; echo second", on_output=see)
    assert chunks == [b"first\n", b"second\n"]
    assert outcome.output == b"first\nsecond\n"


def test_an_error_in_the_callback_ends_the_command_and_comes_out(sh: Run) -> None:
    def fail(_: bytes) -> None:
        raise KeyError("callback")

    with pytest.raises(KeyError, match="callback"):
        sh("echo x; sleep 1000", on_output=fail)


def test_standard_input_arrives_whole_and_then_ends(sh: Run) -> None:
    assert sh("wc -c", stdin=b"x" * 5_000_000).output.strip() == b"5000000"


def test_standard_input_that_nobody_reads_is_no_problem(sh: Run) -> None:
    assert sh("true", stdin=b"x" * 5_000_000).ok


def test_without_standard_input_there_is_none(sh: Run) -> None:
    assert sh("cat").output == b""


def test_nothing_is_open_but_the_three_standard_descriptors(sh: Run) -> None:
    assert sh("ls /proc/self/fd").output.split() == [b"0", b"1", b"2", b"3"]


@pytest.mark.parametrize("value", ["", "a b", "x\ny", "'", "é", "=", "\udcff"])
def test_variables_arrive_as_they_are(sh: Run, value: str) -> None:
    assert sh('printf %s "$V"', env={"V": value}).output == os.fsencode(value)


@pytest.mark.parametrize(("name", "value"), [("", "x"), ("a=b", "x"), ("a\0", "x"), ("a", "\0")])
def test_variables_that_no_environment_can_hold_are_refused(sh: Run, name: str, value: str) -> None:
    with pytest.raises(ValueError, match="variable"):
        sh("true", env={name: value})


@pytest.mark.parametrize(
    "name", [b"with space", b"quo'te\"s", b"new\nline", b"not\xffutf8", b"-dash", "ümlaut".encode()]
)
def test_odd_names_of_workspaces(sandbox: BubblewrapSandbox, sh: Run, tmp_path: Path, name: bytes) -> None:
    folder = tmp_path / os.fsdecode(name)
    folder.mkdir()
    sandbox.own(folder)
    assert sh("pwd; echo made > 'in it'", workspace=folder).output == b"/workspace\n"
    assert (folder / "in it").read_text() == "made\n"


def test_odd_names_of_files_in_a_workspace(sandbox: BubblewrapSandbox, python: Run, workspace: Path) -> None:
    names = [b"sp ace", b"new\nline", b"\xff\xfe", b"quo'te"]
    assert python(f"for name in {names!r}: open(name, 'wb').close()").ok
    sandbox.disown(workspace)
    assert sorted(os.listdir(os.fsencode(workspace))) == sorted(names)  # noqa: PTH208 - names as bytes


def test_the_workspace_is_the_working_folder_and_stays(sh: Run, workspace: Path) -> None:
    assert sh("pwd; echo kept > file").output == b"/workspace\n"
    assert (workspace / "file").read_text() == "kept\n"


def test_a_read_only_workspace(sh: Run, workspace: Path) -> None:
    (workspace / "file").write_text("there")
    outcome = sh("cat file; echo x > other", workspace_writable=False)
    assert outcome.output.startswith(b"there")
    assert outcome.exit_code != 0
    assert os.listdir(workspace) == ["file"]  # noqa: PTH208


def test_without_a_workspace_a_command_starts_at_home(sh: Run) -> None:
    assert sh("pwd", workspace=None).output == b"/home/rhumbline\n"


def test_a_missing_workspace_is_named(sh: Run, tmp_path: Path) -> None:
    with pytest.raises(SandboxUnavailable, match="nowhere"):
        sh("true", workspace=tmp_path / "nowhere")


def test_a_link_is_no_workspace(sh: Run, workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(workspace)
    with pytest.raises(SandboxUnavailable, match="isn't a folder"):
        sh("true", workspace=tmp_path / "link")


def test_binds_are_read_only_unless_said_otherwise(sandbox: BubblewrapSandbox, sh: Run, tmp_path: Path) -> None:
    read, write = tmp_path / "read", tmp_path / "write"
    for folder in (read, write):
        folder.mkdir(mode=0o755)
        sandbox.own(folder)
    (read / "file").write_text("content")
    binds = (Bind(read, Path("/data/read only")), Bind(write, Path("/data/write"), writable=True))
    outcome = sh("cat '/data/read only/file'; echo x > /data/write/made; echo x > '/data/read only/no'", binds=binds)
    assert outcome.output.startswith(b"content")
    assert outcome.exit_code != 0
    assert (write / "made").exists()
    assert not (read / "no").exists()


def test_a_single_file_can_be_bound(sh: Run, tmp_path: Path) -> None:
    (tmp_path / "task.json").write_text("{}")
    bind = Bind(tmp_path / "task.json", tmp_path / "task.json")
    assert sh(f"cat '{tmp_path}/task.json'; ls '{tmp_path}'", binds=(bind,)).output == b"{}task.json\n"


def test_a_folder_can_be_bound_below_the_workspace(sh: Run, workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "modules").mkdir(mode=0o755)
    (tmp_path / "modules" / "index.js").write_text("x")
    bind = Bind(tmp_path / "modules", Path("/workspace/web/node_modules"))
    outcome = sh("ls web/node_modules; echo x > web/other; echo x > web/node_modules/no", binds=(bind,))
    assert outcome.output.startswith(b"index.js\n")
    assert outcome.exit_code != 0
    assert (workspace / "web" / "other").exists()
    assert list((workspace / "web" / "node_modules").iterdir()) == []


def test_a_file_bound_below_the_workspace_leaves_nothing(sh: Run, workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "settings").write_text("from outside")
    (tmp_path / "settings").chmod(0o644)
    assert (
        sh("cat .settings", binds=(Bind(tmp_path / "settings", Path("/workspace/.settings")),)).output
        == b"from outside"
    )
    assert list(workspace.iterdir()) == []


@pytest.mark.parametrize("place", ["modules", "deep/modules"])
def test_a_planted_link_is_no_mount_point(sh: Run, workspace: Path, tmp_path: Path, place: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "modules").mkdir()
    (workspace / place.split("/")[0]).symlink_to(outside)
    with pytest.raises(UnsafeMountPoint, match="modules"):
        sh("true", binds=(Bind(tmp_path / "modules", Path("/workspace", place)),))
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("target", ["/", "relative", "/a/../etc", "/proc/x", "/dev/x", "/sys", "/workspace"])
def test_places_where_nothing_can_be_bound(sh: Run, tmp_path: Path, target: str) -> None:
    with pytest.raises(ValueError, match=r"sandbox"):
        sh("true", binds=(Bind(tmp_path, Path(target)),))


def test_a_bind_that_is_gone_is_named(sh: Run, tmp_path: Path) -> None:
    with pytest.raises(SandboxUnavailable, match="nowhere"):
        sh("true", binds=(Bind(tmp_path / "nowhere", Path("/data")),))


def test_one_command_can_write_in_several_folders_that_were_given_away(
    sandbox: BubblewrapSandbox, sh: Run, tmp_path: Path
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir(mode=0o700)
    (scratch / "index").write_text("x")
    sandbox.own(scratch)
    outcome = sh("echo y > here && echo y >> /scratch/index", binds=(Bind(scratch, Path("/scratch"), writable=True),))
    assert outcome.ok, outcome


def test_without_toolchains_only_the_system_is_on_the_path(sh: Run) -> None:
    assert sh('echo "$PATH"', toolchains=False).output == b"/usr/local/bin:/usr/bin:/bin\n"


def test_git_works_inside(sh: Run) -> None:
    outcome = sh(
        "git init -q . && git -c user.name=a -c user.email=b commit -q --allow-empty -m x && git log --oneline | wc -l"
    )
    assert outcome.output.strip() == b"1"


def test_the_size_of_files_is_bounded(sh: Run, workspace: Path) -> None:
    outcome = sh("head -c 1000000 /dev/zero > big", limits=Limits(seconds=60, file_bytes=100_000))
    assert outcome.exit_code != 0
    assert (workspace / "big").stat().st_size == 100_000


def test_a_cut_output_is_said_to_be_cut(sh: Run) -> None:
    outcome = sh("printf 123456", limits=Limits(seconds=60, output_bytes=6))
    assert (outcome.output, outcome.output_truncated, outcome.killed) == (b"123456", False, None)
    outcome = sh("printf 1234567", limits=Limits(seconds=60, output_bytes=6))
    assert (outcome.output, outcome.output_truncated, outcome.killed) == (b"123456", True, Killed.OUTPUT)


def test_the_fingerprint_stays_and_changes_with_a_toolchain(working: object, tmp_path: Path) -> None:
    from dataclasses import replace

    tool = tmp_path / "tool" / "bin" / "node"
    tool.parent.mkdir(parents=True)
    tool.write_text("one")
    path = f"{tool.parent}:/usr/bin"
    sandbox = BubblewrapSandbox(replace(working, path=path))  # type: ignore[type-var]
    first = sandbox.toolchain_fingerprint()
    assert sandbox.toolchain_fingerprint() == first
    tool.write_text("another version")
    assert sandbox.toolchain_fingerprint() != first
