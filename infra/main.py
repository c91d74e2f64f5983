"""The command `rhumb`."""

from infra.installation import LocalInstallation
from routers.cli.app import build


def main() -> None:
    """Run the command line on this machine's installation."""
    build(LocalInstallation())()


if __name__ == "__main__":
    main()
