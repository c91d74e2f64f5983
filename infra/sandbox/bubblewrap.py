"""The sandbox on bubblewrap."""

import threading
import time
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from commands.ports.sandbox import Execution, Killed, Outcome, SandboxUnavailable
from infra.sandbox.binary import NoBubblewrap, find_bwrap
from infra.sandbox.descriptors import Descriptors
from infra.sandbox.destination import AddressPolicy, Destinations, is_public
from infra.sandbox.fingerprint import fingerprint
from infra.sandbox.identity import Identity
from infra.sandbox.output import Output
from infra.sandbox.ownership import remove_tree
from infra.sandbox.preparation import mount_points, prepare
from infra.sandbox.probe import explain
from infra.sandbox.session import Session
from infra.sandbox.settings import SandboxSettings
from infra.sandbox.supervision import Alarm
from infra.sandbox.toolchain import Toolchains, find_toolchains

if TYPE_CHECKING:
    from infra.sandbox.proxy import ConnectProxy

_COMPLAINT: Final = 1_000


class BubblewrapSandbox:
    """Isolates commands with bubblewrap: own namespaces, read-only system, no network, no host files or environment.

    address_policy decides which addresses a set-up step may be connected to; the default allows public ones only.
    explain_failures: probe the machine for the reason when bubblewrap refuses; off for the probe itself.
    """

    def __init__(
        self, settings: SandboxSettings, address_policy: AddressPolicy = is_public, explain_failures: bool = True
    ) -> None:
        self._settings, self._address_policy, self._explain = settings, address_policy, explain_failures
        self._identity = Identity(settings)

    @cached_property
    def _toolchains(self) -> Toolchains:
        return find_toolchains(self._settings)

    def own(self, folder: Path) -> None:
        """See `Sandbox.own`.

        Raises:
            OSError: `folder` isn't a folder, or the files can't be given away.
        """
        self._identity.own(folder)

    def disown(self, folder: Path) -> None:
        """See `Sandbox.disown`. Files whose modes keep their owner out are opened up.

        Raises:
            OSError: `folder` isn't a folder, or the files can't be taken back.
        """
        self._identity.disown(folder)

    def remove(self, folder: Path) -> None:
        """See `Sandbox.remove`."""
        self.disown(folder)
        remove_tree(folder)

    def toolchain_fingerprint(self) -> str:
        """See `Sandbox.toolchain_fingerprint`; looks at the files anew with each call."""
        return fingerprint(find_toolchains(self._settings))

    def run(self, execution: Execution, cancel: threading.Event | None = None) -> Outcome:
        """See `Sandbox.run`.

        Raises:
            SandboxUnavailable: nothing ran: the machine refuses the isolation, a folder to bind isn't there, or the
                workspace has a link where something should be mounted (`UnsafeMountPoint`).
            ValueError: an argument, variable, host or bind target that can't be passed on.
            ProcessesRemain: the command was killed and the kernel can't end it.
        """
        with ExitStack() as stack:
            alarm = stack.enter_context(Alarm())
            output = Output(execution.limits.output_bytes, execution.on_output, lambda: alarm.ring(Killed.OUTPUT))
            proxy = stack.enter_context(self._proxy(execution, output)) if execution.proxy_hosts else None
            stack.enter_context(mount_points(execution))
            descriptors = stack.enter_context(Descriptors())
            return self._run(execution, cancel, descriptors, alarm, output, proxy)

    def _proxy(self, execution: Execution, output: Output) -> "ConnectProxy":
        from infra.sandbox.proxy import ConnectProxy  # asyncio takes longer to load than a command to start

        destinations = Destinations(execution.proxy_hosts, self._address_policy)
        return ConnectProxy(destinations, lambda line: output.add(line.encode()))

    def _run(
        self,
        execution: Execution,
        cancel: threading.Event | None,
        descriptors: Descriptors,
        alarm: Alarm,
        output: Output,
        proxy: "ConnectProxy | None",
    ) -> Outcome:
        try:
            binary = find_bwrap(self._settings.bwrap)
        except NoBubblewrap as error:
            raise SandboxUnavailable(f"no sandbox can be had: {error}") from error
        channel = proxy.channel if proxy is not None else None
        arguments, command = prepare(execution, self._identity, self._toolchains, descriptors, channel)
        session = Session(binary, descriptors, output)
        started = time.monotonic()
        handed_over = proxy.passed_on if proxy is not None else lambda: None
        killed = session.run(arguments, command, execution, alarm, cancel, handed_over)
        duration = time.monotonic() - started
        if killed is None and session.exit_code is None:
            raise SandboxUnavailable(self._why(output.content))
        return Outcome(session.exit_code, killed, output.content, output.truncated, duration)

    def _why(self, output: bytes) -> str:
        """What the machine lacks, in plain words; bubblewrap's own words if nothing is found."""
        complaint = output[-_COMPLAINT:].decode(errors="replace").strip()
        return explain(self._settings, complaint) if self._explain else complaint or "bubblewrap ended without a word"
