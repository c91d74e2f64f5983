"""Numbers the durable writes of a process and kills it at one of them; production code knows nothing of it.

A write has a name that is the same in every run of the same lifecycle: what is written, without IDs, and the how
many-th of that name it is. A `Window` is the moment before or after one write.
"""

import functools
import json
import os
import re
import signal
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import psycopg

from infra.objects.store import ObstoreObjects

SIDES = ("before", "after")


@dataclass(frozen=True, order=True)
class Window:
    """A moment: `side` of the `number`-th write called `name`."""

    name: str
    number: int
    side: str

    @classmethod
    def parse(cls, text: str) -> Self:
        name, number, side = text.rsplit(" ", 2)
        return cls(name, int(number.removeprefix("#")), side)

    def __str__(self) -> str:
        return f"{self.name} #{self.number} {self.side}"


class Writes:
    """Counts writes, appends each one's name to `journal`, and kills this process in the window `fatal`."""

    def __init__(self, journal: Path, fatal: Window | None) -> None:
        self._journal, self._fatal = journal, fatal
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    @contextmanager
    def write(self, name: str) -> Iterator[None]:
        """Around one durable write."""
        with self._lock:
            self._counts[name] += 1
            number = self._counts[name]
            with self._journal.open("a") as file:
                file.write(f"{name} #{number}\n")
        self._pass(Window(name, number, "before"))
        yield
        self._pass(Window(name, number, "after"))

    def _pass(self, window: Window) -> None:
        if window == self._fatal:
            with self._journal.open("a") as file:
                file.write("killed\n")
            os.kill(os.getpid(), signal.SIGKILL)


def journaled(journal: Path) -> tuple[list[str], bool]:
    """The names of the writes in order, and whether the process was killed at one."""
    lines = journal.read_text().splitlines() if journal.exists() else []
    return [line for line in lines if line != "killed"], "killed" in lines


# -- names -------------------------------------------------------------------------------------------------------

_HEX = re.compile(r"[0-9a-f]{40}|[0-9a-f]{24}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_WRITING = "INSERT INTO|UPDATE|DELETE FROM|COPY|CREATE|ALTER|DROP|TRUNCATE"
_STATEMENT = re.compile(rf"^\s*({_WRITING})\s+\"?([\w.]+)", re.MULTILINE)


def short(text: str) -> str:
    """Without what differs from run to run."""
    return _HEX.sub("…", text)


def statement_name(query: object, parameters: Any) -> str | None:
    """The name of a statement that writes; None for one that doesn't."""
    text = query.decode() if isinstance(query, bytes) else str(query)
    if text.startswith("SELECT commit_events("):
        document = json.loads(parameters[0])
        types = [event["type"] for event in document["events"]] or [row["name"] for row in document.get("handled", ())]
        return f"commit {'+'.join(dict.fromkeys(types))}"
    found = _STATEMENT.search(text)
    return None if found is None else f"{found[1].split()[0].lower()} {found[2].lower()}"


GIT_WRITES = frozenset(
    {"init", "hash-object", "unpack-objects", "index-pack", "update-ref", "read-tree", "update-index"}
)


def command_name(arguments: Any) -> str | None:
    """The name of a process that writes; None for one that only reads."""
    words = [os.fsdecode(word) for word in arguments]
    program = Path(words[0]).name
    if program == "git":
        verb = next((word for word in words[1:] if not word.startswith("-")), "")
        return f"git {verb}" if verb in GIT_WRITES else None
    if "bwrap" in program:
        script = next((s for s in ("checkout-index", "add -A", "RHUMB") if any(s in word for word in words)), "command")
        return f"sandbox {script}"
    return None


# -- where writes happen -------------------------------------------------------------------------------------------


def instrument(writes: Writes) -> None:
    """From now on every durable write of this process is counted."""
    _instrument_database(writes)
    _instrument_processes(writes)
    for name in ("rename", "replace", "link"):
        _wrap(os, name, lambda source, target, **_: f"rename {_file(target)}", writes)
    _wrap(ObstoreObjects, "_write", lambda _self, key, _stored: "object put", writes)


def _file(target: Any) -> str:
    path = Path(os.fsdecode(target))
    for part in ("refs", "workspaces"):
        if part in path.parts:
            return short("/".join(path.parts[path.parts.index(part) :])).split(".", 1)[0] or part
    return short(path.name)


def _wrap(owner: Any, attribute: str, name: Callable[..., str | None], writes: Writes) -> None:
    real = getattr(owner, attribute)

    @functools.wraps(real)
    def wrapped(*arguments: Any, **keywords: Any) -> Any:
        called = name(*arguments, **keywords)
        if called is None:
            return real(*arguments, **keywords)
        with writes.write(called):
            return real(*arguments, **keywords)

    setattr(owner, attribute, wrapped)


def _instrument_database(writes: Writes) -> None:
    pending: dict[int, list[str]] = {}

    def noted(cursor: Any, query: object, parameters: Any) -> str | None:
        name = statement_name(query, parameters)
        if name is not None and cursor.connection.info.transaction_status is not psycopg.pq.TransactionStatus.IDLE:
            pending.setdefault(id(cursor.connection), []).append(name)
            return None
        return name if cursor.connection.autocommit else None

    for attribute in ("execute", "executemany"):
        _wrap(
            psycopg.Cursor, attribute, lambda self, query, parameters=None, **_: noted(self, query, parameters), writes
        )

    def committed(transaction: Any, kind: Any, *_: Any) -> str | None:
        names = pending.pop(id(transaction.connection), [])
        return f"transaction {'+'.join(dict.fromkeys(names))}" if names and kind is None else None

    _wrap(psycopg.Transaction, "__exit__", committed, writes)


def _instrument_processes(writes: Writes) -> None:
    """A process that writes counts from its start to its end."""
    real = subprocess.Popen

    class Popen(real):  # type: ignore[misc, valid-type]
        def __init__(self, args: Any, *more: Any, **keywords: Any) -> None:
            name = command_name(args) if isinstance(args, list | tuple) else None
            self._window = writes.write(name) if name else None
            if self._window is not None:
                self._window.__enter__()
            super().__init__(args, *more, **keywords)

        def _handle_exitstatus(self, *arguments: Any, **keywords: Any) -> None:
            super()._handle_exitstatus(*arguments, **keywords)
            window, self._window = self._window, None
            if window is not None:
                window.__exit__(None, None, None)

    subprocess.Popen = Popen  # type: ignore[misc]
