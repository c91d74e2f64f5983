"""Without a sandbox nothing runs, and the reason is said in plain words."""

from dataclasses import replace
from pathlib import Path

import pytest

from commands.ports.sandbox import Execution, SandboxUnavailable
from infra.sandbox import probe as probe_module
from infra.sandbox.binary import find_bwrap
from infra.sandbox.bubblewrap import BubblewrapSandbox
from infra.sandbox.probe import probe
from infra.sandbox.settings import SandboxSettings

REFUSES = """#!/bin/sh
[ "$1" = --version ] && exit 0
echo "bwrap: No permissions to create new namespace, likely because the kernel does not allow it" >&2
exit 1
"""


def script(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


def unavailable(settings: SandboxSettings, tmp_path: Path) -> str:
    witness = tmp_path / "ran"
    with pytest.raises(SandboxUnavailable) as raised:
        BubblewrapSandbox(settings).run(Execution(("touch", str(witness)), tmp_path))
    assert not witness.exists()
    return str(raised.value)


def test_a_working_machine_has_no_complaint(working: SandboxSettings) -> None:
    findings = probe(working)
    assert [finding.name for finding in findings] == ["Linux kernel", "bubblewrap", "tools", "isolation"]
    assert all(finding.ok and finding.detail for finding in findings)


def test_without_bubblewrap_nothing_runs(settings: SandboxSettings, tmp_path: Path) -> None:
    lacking = replace(settings, bwrap=tmp_path / "no-bwrap")
    assert "no-bwrap" in unavailable(lacking, tmp_path)
    finding = next(finding for finding in probe(lacking) if not finding.ok)
    assert (finding.name, "install" in finding.remedy) == ("bubblewrap", True)


def test_a_broken_bubblewrap_is_named_with_what_it_says(settings: SandboxSettings, tmp_path: Path) -> None:
    broken = script(tmp_path / "bwrap", "#!/bin/sh\necho 'libcap.so.2: cannot open' >&2\nexit 127\n")
    assert "libcap.so.2" in unavailable(replace(settings, bwrap=broken), tmp_path)


def test_a_machine_that_refuses_namespaces_fails_closed(settings: SandboxSettings, tmp_path: Path) -> None:
    refusing = replace(settings, bwrap=script(tmp_path / "bwrap", REFUSES))
    message = unavailable(refusing, tmp_path)
    assert message.startswith("no sandbox can be had on this machine")
    assert "No permissions to create new namespace" in message
    finding = probe(refusing)[-1]
    assert (finding.name, finding.ok) == ("isolation", False)
    assert finding.remedy


def test_a_bubblewrap_that_claims_success_without_running_fails_closed(
    settings: SandboxSettings, tmp_path: Path
) -> None:
    assert unavailable(replace(settings, bwrap=script(tmp_path / "bwrap", "#!/bin/sh\nexit 0\n")), tmp_path)


def test_missing_tools_are_named(settings: SandboxSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("infra.sandbox.probe.find_tool", lambda name: None if name == "prlimit" else f"/usr/bin/{name}")
    finding = probe(settings)[-1]
    assert (finding.ok, "prlimit" in finding.detail, "util-linux" in finding.remedy) == (False, True, True)
    monkeypatch.setattr("infra.sandbox.launch.find_tool", lambda _: None)
    assert "util-linux" in unavailable(settings, tmp_path)


@pytest.mark.parametrize(
    ("switch", "value", "words"),
    [
        ("_APPARMOR_SWITCH", "1", "AppArmor"),
        ("_CLONE_SWITCH", "0", "unprivileged_userns_clone=1"),
        ("_NAMESPACE_BOUND", "0", "max_user_namespaces"),
    ],
)
def test_why_an_ordinary_user_gets_no_namespace(
    settings: SandboxSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, switch: str, value: str, words: str
) -> None:
    (tmp_path / "switch").write_text(f"{value}\n")
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr(probe_module, switch, tmp_path / "switch")
    finding = probe(replace(settings, bwrap=script(tmp_path / "bwrap", REFUSES)))[-1]
    assert finding.name == "user namespaces"
    assert words in f"{finding.detail} {finding.remedy}"


def test_in_a_container_the_remedy_is_the_containers(
    settings: SandboxSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe_module, "_in_container", lambda: True)
    finding = probe(replace(settings, bwrap=script(tmp_path / "bwrap", REFUSES)))[-1]
    assert "container" in finding.remedy


def test_of_two_binaries_the_one_that_makes_namespaces_is_taken(
    working: SandboxSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, refusing = find_bwrap(None), script(tmp_path / "bwrap", REFUSES)
    find_bwrap.cache_clear()
    monkeypatch.setattr("infra.sandbox.binary.bwrap_path", lambda: refusing)
    monkeypatch.setattr("infra.sandbox.binary.shutil.which", lambda *_, **__: str(good))
    assert find_bwrap(None) == good
    find_bwrap.cache_clear()
