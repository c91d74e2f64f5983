"""The person's terminal: results on standard output, everything else on standard error."""

import json
import sys
from collections.abc import Iterable
from functools import cached_property
from typing import Any, TextIO

from rich.console import Console
from rich.text import Text

from routers.cli.view.layout import BAD, WAITING
from routers.cli.view.text import lines


def _console(file: TextIO) -> Console:
    """Lines as long as they are, without markup, and without an exception for a character the locale lacks."""
    if hasattr(file, "reconfigure"):
        file.reconfigure(errors="backslashreplace")
    return Console(file=file, markup=False, highlight=False, emoji=False, soft_wrap=True)


class Terminal:
    """Works without a TTY (plain lines, no colours) and with one."""

    @cached_property
    def out(self) -> Console:
        return _console(sys.stdout)

    @cached_property
    def err(self) -> Console:
        return _console(sys.stderr)

    def result(self, content: Iterable[Text]) -> None:
        for line in content:
            self.out.print(line)

    def document(self, document: Any) -> None:
        """The one JSON document of `--json`."""
        sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=True) + "\n")
        sys.stdout.flush()

    def raw(self, content: bytes) -> None:
        """Bytes as they are where a program reads them, escaped where they would reach a terminal."""
        if self.out.is_terminal:
            for line in lines(content.decode("utf-8", "surrogateescape").removesuffix("\n")):
                self.out.print(Text(line))
            return
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()

    def note(self, line: Text | str) -> None:
        self.err.print(Text(line) if isinstance(line, str) else line)

    def notes(self, content: Iterable[Text]) -> None:
        for line in content:
            self.note(line)

    def warn(self, text: str) -> None:
        self._labelled("warning: ", WAITING, text)

    def error(self, text: str) -> None:
        self._labelled("rhumb: ", BAD, text)

    def _labelled(self, label: str, style: str, text: str) -> None:
        """A label and a text that may hold foreign parts and several lines."""
        first, *rest = lines(text)
        self.err.print(Text.assemble((label, style), first))
        for line in rest:
            self.err.print(Text(f"  {line}"))
