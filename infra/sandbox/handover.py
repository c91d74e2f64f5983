"""Runs inside the sandbox, before the command: `handover.py FD PORT COMMAND...`. Needs the standard library only.

It opens a listening port on the sandbox's own loopback interface and hands the socket to the proxy outside over the
Unix socket FD. From then on it is the command; nothing of the proxy runs in the sandbox.
"""

import os
import socket
import sys


def main() -> None:
    """Hand the listening socket over, then become the command. Exits like a shell: 127 not found, 126 not runnable."""
    channel = socket.socket(fileno=int(sys.argv[1]))
    server = socket.create_server(("127.0.0.1", int(sys.argv[2])), backlog=128)
    socket.send_fds(channel, [b"."], [server.fileno()])
    channel.close()
    command = sys.argv[3:]
    try:
        os.execvp(command[0], command)
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr)
        raise SystemExit(127 if isinstance(error, FileNotFoundError) else 126) from None


if __name__ == "__main__":
    main()
