"""The CONNECT proxy of a set-up step: the only way out of its network namespace, to the named hosts only.

The command's side of it is a listening socket of the sandbox's own loopback interface, handed over by
`handover.py`; accepting on it works from outside. So the sandbox contains nothing of the proxy, and no path of the
host is bound for it.
"""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

from infra.sandbox.destination import Destination, Destinations, Refused

_HEAD_BYTES: Final = 8_192
_HEAD_SECONDS: Final = 30.0
_CONNECT_SECONDS: Final = 30.0
_CONNECTIONS: Final = 128
_CHUNK: Final = 65_536
_MESSAGES: Final = 50

_ESTABLISHED: Final = b"HTTP/1.1 200 Connection established\r\n\r\n"


def _answer(status: str, text: str) -> bytes:
    body = f"{text}\n".encode("ascii", "backslashreplace")
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy one direction until its end, and pass the end on."""
    while chunk := await reader.read(_CHUNK):
        writer.write(chunk)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


async def _addresses(destination: Destination) -> list[str]:
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(destination.host, destination.port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


class ConnectProxy:
    """Serves one execution. `report` gets a line for each destination that was refused, each once.

    Use as a context manager: the thread and all connections end with it.
    """

    def __init__(self, destinations: Destinations, report: Callable[[str], None]) -> None:
        self._destinations, self._report = destinations, report
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._theirs: socket.socket | None = theirs
        self._reported: set[str] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="sandbox-proxy", daemon=True)
        self._serving: asyncio.Task[None] | None = None

    @property
    def channel(self) -> int:
        """The end of the Unix socket that `handover.py` inherits."""
        if self._theirs is None:
            raise RuntimeError("the channel was passed on already")
        return self._theirs.fileno()

    def __enter__(self) -> Self:
        self._ours.setblocking(False)
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.passed_on()
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._ours.close()

    def passed_on(self) -> None:
        """Close the sandbox's end here, once bubblewrap has it. Idempotent."""
        if self._theirs is not None:
            self._theirs.close()
            self._theirs = None

    async def _start(self) -> None:
        self._serving = asyncio.create_task(self._serve())

    async def _stop(self) -> None:
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.get_running_loop().shutdown_default_executor()

    async def _serve(self) -> None:
        listener = await self._receive()
        if listener is None:
            return
        room = asyncio.Semaphore(_CONNECTIONS)

        async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            async with room:
                await self._client(reader, writer)

        server = await asyncio.start_server(client, sock=listener, limit=_HEAD_BYTES)
        async with server:
            await server.serve_forever()

    async def _receive(self) -> socket.socket | None:
        """The listening socket; None if the sandbox ended before it was sent."""
        loop = asyncio.get_running_loop()
        readable = asyncio.Event()
        loop.add_reader(self._ours, readable.set)
        try:
            await readable.wait()
        finally:
            loop.remove_reader(self._ours)
        _, descriptors, _, _ = socket.recv_fds(self._ours, 1, 1)
        if not descriptors:
            return None
        listener = socket.socket(fileno=descriptors[0])
        listener.setblocking(False)
        return listener

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            upstream = await self._admit(reader, writer)
            if upstream is not None:
                await self._relay(reader, writer, upstream)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            return  # one side went away, or never sent a request: nobody is left to be told
        finally:
            writer.close()

    async def _admit(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        """The connection that a request asks for; None after an answer that there is none."""
        try:
            destination = self._destinations.require(await self._target(reader))
            address = self._destinations.choose(destination, await self._resolve(destination))
            return await asyncio.wait_for(asyncio.open_connection(address, destination.port), _CONNECT_SECONDS)
        except Refused as refused:
            self._say(str(refused))
            answer = _answer("403 Forbidden", str(refused))
        except (OSError, TimeoutError):
            answer = _answer("502 Bad Gateway", "the host doesn't answer")
        writer.write(answer)
        await writer.drain()
        return None

    async def _target(self, reader: asyncio.StreamReader) -> str:
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _HEAD_SECONDS)
        words = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
        if len(words) != 3 or words[0] != "CONNECT":
            raise Refused(f"a request that isn't CONNECT: {' '.join(words)[:100]!a}")
        return words[1]

    async def _resolve(self, destination: Destination) -> list[str]:
        try:
            return await _addresses(destination)
        except (socket.gaierror, UnicodeError) as error:
            raise Refused(f"a connection to {destination}: the name can't be resolved") from error

    def _say(self, text: str) -> None:
        if text not in self._reported and len(self._reported) < _MESSAGES:
            self._reported.add(text)
            self._report(f"rhumbline: refused {text}\n")

    async def _relay(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        upstream: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:
        remote_reader, remote_writer = upstream
        try:
            writer.write(_ESTABLISHED)
            async with asyncio.TaskGroup() as both:
                both.create_task(_pump(reader, remote_writer))
                both.create_task(_pump(remote_reader, writer))
        except* OSError:
            with contextlib.suppress(OSError):
                await writer.drain()
        finally:
            remote_writer.close()
