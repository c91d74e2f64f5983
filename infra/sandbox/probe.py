"""What this machine lacks for a sandbox, and what helps: for `rhumb doctor`, and for the reason of a refused run."""

import os
import platform
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from commands.ports.sandbox import Execution, Limits, SandboxUnavailable
from infra.sandbox.binary import NoBubblewrap, find_bwrap, find_tool
from infra.sandbox.seccomp import UnsupportedArchitecture, seccomp_filter
from infra.sandbox.settings import SandboxSettings

_APPARMOR_SWITCH: Final = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
_CLONE_SWITCH: Final = Path("/proc/sys/kernel/unprivileged_userns_clone")
_NAMESPACE_BOUND: Final = Path("/proc/sys/user/max_user_namespaces")
_CONTAINER_MARKS: Final = (Path("/.dockerenv"), Path("/run/.containerenv"))
_TRIAL: Final = "echo works"
_TRIAL_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that the sandbox needs: whether it is there, what was found, and what helps if it isn't."""

    name: str
    ok: bool
    detail: str
    remedy: str = ""


def _system() -> Finding:
    name = "Linux kernel"
    if not hasattr(os, "pidfd_open") or platform.system() != "Linux":
        return Finding(name, False, f"{platform.system()} has no namespaces", "run Rhumbline on Linux 5.3 or newer")
    try:
        seccomp_filter()
        os.close(os.pidfd_open(os.getpid()))
    except UnsupportedArchitecture as error:
        return Finding(name, False, str(error), "run Rhumbline on one of these")
    except OSError as error:
        return Finding(name, False, f"no pidfd: {error.strerror}", "run Rhumbline on Linux 5.3 or newer")
    return Finding(name, True, f"Linux {platform.release()} on {platform.machine()}")


def _binary(settings: SandboxSettings) -> Finding:
    try:
        return Finding("bubblewrap", True, str(find_bwrap(settings.bwrap)))
    except NoBubblewrap as error:
        return Finding(
            "bubblewrap", False, str(error), "install it: `apt install bubblewrap` or `dnf install bubblewrap`"
        )


def _tools() -> Finding:
    needed = ("env", "prlimit", *(("setpriv",) if os.geteuid() == 0 else ()))
    missing = [name for name in needed if find_tool(name) is None]
    if missing:
        return Finding("tools", False, f"{', '.join(missing)} missing", "install the packages util-linux and coreutils")
    return Finding("tools", True, ", ".join(needed))


def _read(switch: Path) -> str | None:
    try:
        return switch.read_text().strip()
    except OSError:
        return None


def _namespaces() -> Finding | None:
    """Why an ordinary user gets no user namespace, as far as the kernel's switches tell; None if they allow it."""
    name = "user namespaces"
    if _read(_APPARMOR_SWITCH) == "1":
        return Finding(
            name,
            False,
            "AppArmor keeps ordinary users from them (the default of Ubuntu 24.04)",
            "as root: install the system's bubblewrap and its AppArmor profile "
            "(`apt install bubblewrap apparmor-profiles`), or "
            "`sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`",
        )
    if _read(_CLONE_SWITCH) == "0":
        return Finding(
            name,
            False,
            "this kernel keeps ordinary users from them",
            "as root: `sysctl -w kernel.unprivileged_userns_clone=1`",
        )
    if _read(_NAMESPACE_BOUND) == "0":
        return Finding(
            name, False, "their number is limited to 0", "as root: `sysctl -w user.max_user_namespaces=10000`"
        )
    return None


def _in_container() -> bool:
    return any(mark.exists() for mark in _CONTAINER_MARKS) or "container" in os.environ


def _remedy() -> str:
    if _in_container():
        return (
            "a container with default settings refuses namespaces: start it with `--privileged`, or with `--cap-add "
            "SYS_ADMIN` and `--security-opt` each of seccomp=unconfined, apparmor=unconfined, systempaths=unconfined"
        )
    if os.geteuid() == 0:
        return "Rhumbline runs as root without the rights of root: run it as an ordinary user, or with CAP_SYS_ADMIN"
    return "ask who runs this machine to allow user namespaces"


def _isolation(settings: SandboxSettings) -> Iterator[Finding]:
    """Run the very arguments of a real execution once."""
    from infra.sandbox.bubblewrap import BubblewrapSandbox

    sandbox = BubblewrapSandbox(settings, explain_failures=False)
    limits = Limits(seconds=_TRIAL_SECONDS)
    with tempfile.TemporaryDirectory(prefix="rhumbline-probe-") as folder:
        workspace = Path(folder).resolve()
        try:
            sandbox.own(workspace)
            outcome = sandbox.run(Execution(("sh", "-c", f"echo > written && {_TRIAL}"), workspace, limits=limits))
        except (SandboxUnavailable, OSError) as error:
            cause = None if os.geteuid() == 0 else _namespaces()
            yield cause or Finding("isolation", False, str(error), _remedy())
            return
        finally:
            sandbox.disown(workspace)
    if not outcome.ok:
        words = outcome.output.decode(errors="replace").strip()[:500]
        yield Finding("isolation", False, f"a trial command failed in it: {words or outcome}", _remedy())
        return
    who = "dedicated user" if os.geteuid() == 0 else "user namespace"
    yield Finding("isolation", True, f"a trial command ran in it ({who}, {outcome.duration * 1000:.0f} ms)")


def probe(settings: SandboxSettings) -> tuple[Finding, ...]:
    """Everything that the sandbox needs. The last finding comes from a trial with the arguments of a real execution."""
    looks: tuple[Callable[[], Finding], ...] = (_system, lambda: _binary(settings), _tools)
    findings = [look() for look in looks]
    if all(finding.ok for finding in findings):
        findings.extend(_isolation(settings))
    return tuple(findings)


def explain(settings: SandboxSettings, complaint: str) -> str:
    """Why no sandbox could be had: the findings of a probe, or bubblewrap's own words if it finds nothing."""
    missing = [finding for finding in probe(settings) if not finding.ok]
    if not missing:
        return f"bubblewrap refused: {complaint or 'it ended without a word'}"
    reasons = "; ".join(f"{finding.name}: {finding.detail} ({finding.remedy})" for finding in missing)
    return f"no sandbox can be had on this machine. {reasons}"
