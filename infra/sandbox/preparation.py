"""From an execution to bubblewrap's arguments and the descriptors that go with them."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePath
from typing import Final

from commands.ports.sandbox import WORKSPACE, Bind, Execution, SandboxUnavailable
from infra.sandbox import arguments as bwrap
from infra.sandbox import handover as handover_script
from infra.sandbox.arguments import Arguments
from infra.sandbox.descriptors import Descriptors
from infra.sandbox.filesystem import HOME, TEMPORARY
from infra.sandbox.identity import Identity
from infra.sandbox.interpreter import interpreter_folders, python_binary
from infra.sandbox.launch import handover, launcher
from infra.sandbox.mount_point import make_mount_point, remove_mount_point
from infra.sandbox.proxy_address import PROXY_PORT, proxy_variables
from infra.sandbox.seccomp import UnsupportedArchitecture, seccomp_filter
from infra.sandbox.toolchain import ALWAYS_VISIBLE, SYSTEM_FOLDERS, Toolchains

_HANDOVER: Final = "/run/rhumbline/handover.py"
_TAKEN: Final = tuple(map(PurePath, ("/proc", "/sys", "/dev", "/run/rhumbline")))
_NO_TOOLCHAINS: Final = Toolchains(folders=(), path=":".join(SYSTEM_FOLDERS[:3]), variables={})


def _check_bind(bind: Bind) -> None:
    target = PurePath(bind.target)
    if not target.is_absolute() or ".." in target.parts or target == PurePath("/"):
        raise ValueError(f"not a place inside a sandbox: {str(target)!r}")
    if any(target.is_relative_to(folder) for folder in _TAKEN) or target == PurePath(WORKSPACE):
        raise ValueError(f"nothing can be bound at {str(target)!r} in a sandbox")
    if not bind.source.exists():
        raise SandboxUnavailable(f"{str(bind.source)!r} isn't there, so it can't be shown to the command")


def _base(bind: Bind, execution: Execution) -> tuple[Path, PurePath] | None:
    """The folder of the workspace or a writable bind that `bind` is mounted within, and the path below it."""
    others = [(other.target, other.source) for other in execution.binds if other.writable and other is not bind]
    if execution.workspace is not None:
        others.append((WORKSPACE, execution.workspace))
    outer = [entry for entry in others if bind.target != entry[0] and bind.target.is_relative_to(entry[0])]
    if not outer:
        return None
    target, source = max(outer, key=lambda entry: len(entry[0].parts))
    return source, PurePath(bind.target).relative_to(target)


@contextmanager
def mount_points(execution: Execution) -> Iterator[None]:
    """Check what is to be bound, and have real mount points for it in the workspace.

    Raises:
        SandboxUnavailable: a source isn't there, or the workspace isn't a real folder.
        UnsafeMountPoint: a link is in the way of a mount point.
        ValueError: a target that can't be had.
    """
    workspace = execution.workspace
    if workspace is not None and (workspace.is_symlink() or not workspace.is_dir()):
        raise SandboxUnavailable(f"the workspace {str(workspace)!r} isn't a folder")
    with ExitStack() as made:
        for bind in execution.binds:
            _check_bind(bind)
            base = _base(bind, execution)
            if base is not None and make_mount_point(*base, bind.source.is_dir()):
                made.callback(remove_mount_point, *base)
        yield


def _variables(execution: Execution, toolchains: Toolchains) -> Mapping[str, str]:
    """The whole environment inside; what the execution asks for wins."""
    return {
        "PATH": toolchains.path,
        "HOME": str(HOME),
        "LANG": "C.UTF-8",
        "TMPDIR": str(TEMPORARY),
        **toolchains.variables,
        **(proxy_variables() if execution.proxy_hosts else {}),
        **execution.env,
    }


def _add_binds(arguments: Arguments, execution: Execution, toolchains: Toolchains) -> None:
    for source, target in toolchains.folders:
        arguments.mount("--ro-bind-try", source, target)
    if execution.workspace is not None:
        option = "--bind" if execution.workspace_writable else "--ro-bind"
        arguments.mount(option, execution.workspace, WORKSPACE)
    for bind in sorted(execution.binds, key=lambda bind: len(bind.target.parts)):
        arguments.mount("--bind" if bind.writable else "--ro-bind", bind.source, bind.target)


def _add_handover(arguments: Arguments, descriptors: Descriptors, channel: int) -> list[str]:
    """Show the interpreter and the script that hands the listening socket over; returns the words that run it."""
    for folder in interpreter_folders():
        if not any(folder.is_relative_to(visible) for visible in ALWAYS_VISIBLE):
            arguments.mount("--ro-bind", folder, folder)
    script = Path(handover_script.__file__).read_bytes()
    arguments.file(descriptors.memory("handover", script), PurePath(_HANDOVER))
    descriptors.inherit(channel)
    return list(handover(python_binary(), _HANDOVER, channel, PROXY_PORT))


def _writable_folders(execution: Execution) -> list[Path]:
    workspace = [execution.workspace] if execution.workspace is not None else []
    return workspace + [bind.source for bind in execution.binds if bind.writable]


def prepare(
    execution: Execution,
    identity: Identity,
    toolchains: Toolchains,
    descriptors: Descriptors,
    channel: int | None,
) -> tuple[Arguments, list[str]]:
    """bubblewrap's arguments, and the command with what runs before it inside.

    channel: the end of the Unix socket to the proxy that `handover.py` inherits; None without a proxy.

    Raises:
        SandboxUnavailable: the machine lacks something.
        ValueError: a variable that no environment can hold.
    """
    as_root, user = identity.as_root, identity.user_of(_writable_folders(execution))
    shown = toolchains if execution.toolchains else _NO_TOOLCHAINS
    arguments = Arguments()
    bwrap.add_isolation(arguments, as_root, user)
    bwrap.add_environment(arguments, _variables(execution, shown))
    bwrap.add_root(arguments, execution.limits)
    bwrap.add_etc(arguments, user, descriptors.memory)
    _add_binds(arguments, execution, shown)
    way_out = _add_handover(arguments, descriptors, channel) if channel is not None else []
    bwrap.seal_root(arguments)
    try:
        arguments.add("--seccomp", descriptors.memory("seccomp", seccomp_filter()))
    except UnsupportedArchitecture as error:
        raise SandboxUnavailable(str(error)) from error
    first = launcher(as_root, user, bwrap.working_folder(execution.workspace), execution.limits)
    return arguments, [*first, *way_out, *execution.argv]
