"""A set-up step's only way out: named hosts through the proxy, over sockets that are really there."""

import socket
import threading
from collections.abc import Iterator

import pytest

from commands.ports.sandbox import Execution, Limits, Outcome
from infra.sandbox.bubblewrap import BubblewrapSandbox
from infra.sandbox.settings import SandboxSettings

from .conftest import PATIENCE

CLIENT = """
import os, socket, sys, urllib.parse
proxy = urllib.parse.urlsplit(os.environ["HTTPS_PROXY"])
connection = socket.create_connection((proxy.hostname, proxy.port))
connection.settimeout(30)
connection.sendall(sys.argv[1].encode().decode("unicode_escape").encode("latin-1"))
answer = connection.recv(65536)
print(answer.split(b"\\r\\n")[0].decode(), flush=True)
if answer.startswith(b"HTTP/1.1 200"):
    connection.sendall(b"ping")
    connection.shutdown(socket.SHUT_WR)
    reply = b""
    while chunk := connection.recv(65536):
        reply += chunk
    print(reply[:10].decode(), len(reply))
"""


class Echo:
    """A TCP server on loopback that answers what it got, a million times over; counts connections."""

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        self.connections = 0
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            connection, _ = self._server.accept()
            with connection:
                got = b""
                while chunk := connection.recv(4096):
                    got += chunk
                if got == b"stop":
                    return
                self.connections += 1
                connection.sendall(got * 1_000_000)

    def close(self) -> None:
        with socket.create_connection(("127.0.0.1", self.port)) as last:
            last.sendall(b"stop")
        self._thread.join()
        self._server.close()


@pytest.fixture
def echo() -> Iterator[Echo]:
    server = Echo()
    yield server
    server.close()


def ask(settings: SandboxSettings, request: str, *hosts: str, loopback: bool = True) -> Outcome:
    sandbox = BubblewrapSandbox(settings, address_policy=lambda _: True) if loopback else BubblewrapSandbox(settings)
    argv = ("python3", "-I", "-c", CLIENT, request)
    return sandbox.run(Execution(argv, proxy_hosts=hosts, limits=PATIENCE))


def connect(target: str) -> str:
    return f"CONNECT {target} HTTP/1.1\\r\\nHost: {target}\\r\\n\\r\\n"


def test_a_named_host_is_reached_and_both_directions_flow(working: SandboxSettings, echo: Echo) -> None:
    target = f"localhost:{echo.port}"
    outcome = ask(working, connect(target), target)
    assert outcome.output == b"HTTP/1.1 200 Connection established\npingpingpi 4000000\n"
    assert outcome.ok
    assert echo.connections == 1


def test_a_host_that_is_not_named_is_refused_and_shown(working: SandboxSettings, echo: Echo) -> None:
    outcome = ask(working, connect(f"127.0.0.1:{echo.port}"), f"localhost:{echo.port}")
    assert b"HTTP/1.1 403 Forbidden\n" in outcome.output
    assert f"rhumbline: refused a connection to 127.0.0.1:{echo.port}: not among".encode() in outcome.output
    assert echo.connections == 0


def test_another_port_of_a_named_host_is_refused(working: SandboxSettings, echo: Echo) -> None:
    outcome = ask(working, connect(f"localhost:{echo.port}"), "localhost")
    assert b"HTTP/1.1 403 Forbidden\n" in outcome.output
    assert echo.connections == 0


def test_a_name_that_leads_to_a_private_address_is_refused(working: SandboxSettings, echo: Echo) -> None:
    target = f"localhost:{echo.port}"
    outcome = ask(working, connect(target), target, loopback=False)
    assert b"HTTP/1.1 403 Forbidden\n" in outcome.output
    assert b"no public address" in outcome.output
    assert echo.connections == 0


@pytest.mark.parametrize(
    "request_line",
    ["GET http://localhost:{port}/ HTTP/1.1", "POST / HTTP/1.1", "CONNECT localhost:{port}", "x", "CONNECT  a b"],
)
def test_everything_but_connect_is_refused(working: SandboxSettings, echo: Echo, request_line: str) -> None:
    request = request_line.format(port=echo.port) + "\\r\\n\\r\\n"
    outcome = ask(working, request, f"localhost:{echo.port}")
    assert b"HTTP/1.1 403 Forbidden\n" in outcome.output
    assert echo.connections == 0


def test_a_host_that_does_not_answer_is_no_refusal(working: SandboxSettings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        target = f"localhost:{closed.getsockname()[1]}"
    assert ask(working, connect(target), target).output == b"HTTP/1.1 502 Bad Gateway\n"


def test_each_refusal_is_shown_once(working: SandboxSettings) -> None:
    sandbox = BubblewrapSandbox(working)
    script = f"for i in 1 2 3; do python3 -I -c '{CLIENT}' '{connect('evil.example:443')}'; done"
    outcome = sandbox.run(Execution(("sh", "-c", script), proxy_hosts=("good.example",), limits=PATIENCE))
    assert outcome.output.count(b"403 Forbidden") == 3
    assert outcome.output.count(b"rhumbline: refused") == 1


def test_beside_the_proxy_there_is_no_network(working: SandboxSettings, echo: Echo) -> None:
    sandbox = BubblewrapSandbox(working, address_policy=lambda _: True)
    source = f"import socket; print(socket.socket().connect_ex(('127.0.0.1', {echo.port})))"
    argv = ("python3", "-I", "-c", source)
    outcome = sandbox.run(Execution(argv, proxy_hosts=(f"localhost:{echo.port}",), limits=PATIENCE))
    assert outcome.output == b"111\n"


def test_without_named_hosts_there_is_no_proxy(working: SandboxSettings) -> None:
    argv = ("sh", "-c", "env | grep -i proxy")
    assert BubblewrapSandbox(working).run(Execution(argv, limits=PATIENCE)).output == b""


@pytest.mark.parametrize(("command", "code"), [("exit 5", 5), ("exec no-such-command", 127)])
def test_the_command_keeps_its_exit_code_and_gets_no_descriptor(
    working: SandboxSettings, command: str, code: int
) -> None:
    sandbox = BubblewrapSandbox(working)
    argv = ("sh", "-c", f"ls /proc/self/fd; {command}")
    outcome = sandbox.run(Execution(argv, proxy_hosts=("example.org",), limits=PATIENCE))
    assert outcome.exit_code == code
    assert outcome.output.split()[:4] == [b"0", b"1", b"2", b"3"]
    assert b"4\n" not in outcome.output


def test_a_connection_that_stays_open_does_not_outlive_the_step(working: SandboxSettings, echo: Echo) -> None:
    target = f"localhost:{echo.port}"
    hang = CLIENT.replace('connection.sendall(b"ping")', "import time; time.sleep(1000)")
    sandbox = BubblewrapSandbox(working, address_policy=lambda _: True)
    argv = ("python3", "-I", "-c", hang, connect(target))
    outcome = sandbox.run(Execution(argv, proxy_hosts=(target,), limits=Limits(seconds=1.0)))
    assert outcome.killed == "time"
    assert b"200 Connection established" in outcome.output


def test_a_host_that_is_none_is_refused_before_anything_runs(working: SandboxSettings) -> None:
    with pytest.raises(ValueError, match="not a host"):
        BubblewrapSandbox(working).run(Execution(("true",), proxy_hosts=("a b",), limits=PATIENCE))
