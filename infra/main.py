"""The command `rhumb`."""

import signal
from types import FrameType
from typing import Final

from infra.installation import LocalInstallation
from routers.cli.app import build

ENDINGS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main() -> None:
    """Run the command line on this machine's installation; being told to end is taken like Ctrl-C."""
    for number in ENDINGS:
        signal.signal(number, _interrupt)
    build(LocalInstallation())()


def _interrupt(number: int, _frame: FrameType | None) -> None:
    """The first one ends the command in good order; more of them must not cut that short."""
    for each in ENDINGS:
        signal.signal(each, signal.SIG_IGN)
    raise KeyboardInterrupt(signal.Signals(number).name)


if __name__ == "__main__":
    main()
