"""The command `rhumb`."""

import signal
from types import FrameType

from infra.installation import LocalInstallation
from routers.cli.app import build


def main() -> None:
    """Run the command line on this machine's installation; being told to end is taken like Ctrl-C."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    build(LocalInstallation())()


def _interrupt(number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt(signal.Signals(number).name)


if __name__ == "__main__":
    main()
