"""A link to PostgreSQL that breaks at the worst moment: after the server did its work, before the answer arrives."""

import selectors
import socket
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

from psycopg import conninfo


class LossyLink:
    """Forwards a server's Unix socket to those who use `dsn`, and breaks an exchange when told."""

    def __init__(self, dsn: str, folder: Path) -> None:
        parts = conninfo.conninfo_to_dict(dsn)
        self._server = f"{parts['host']}/.s.PGSQL.{parts['port']}"
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(f"{folder}/.s.PGSQL.{parts['port']}")
        self._listening.listen()
        self.dsn = conninfo.make_conninfo(dsn, host=str(folder))
        self._lose_answer = self._lose_request = False
        self.lost = 0
        self._threads = [threading.Thread(target=self._accept)]

    def lose_answer(self) -> None:
        """Cut the connection when the server's next bytes come, without passing them on."""
        self._lose_answer = True

    def lose_request(self) -> None:
        """Cut the connection when the client's next bytes come, without passing them on."""
        self._lose_request = True

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self._listening.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._forward, args=(client,))
            self._threads.append(thread)
            thread.start()

    def _forward(self, client: socket.socket) -> None:
        server = socket.socket(socket.AF_UNIX)
        with client, server, selectors.DefaultSelector() as ready:
            server.connect(self._server)
            ready.register(client, selectors.EVENT_READ, server)
            ready.register(server, selectors.EVENT_READ, client)
            while True:
                for key, _ in ready.select():
                    source, target = key.fileobj, key.data
                    assert isinstance(source, socket.socket)
                    data = source.recv(65_536)
                    if not data or self._loses(source is server):
                        return
                    target.sendall(data)

    def _loses(self, is_answer: bool) -> bool:
        if is_answer and self._lose_answer:
            self._lose_answer = False
        elif not is_answer and self._lose_request:
            self._lose_request = False
        else:
            return False
        self.lost += 1
        return True
