"""File descriptors that one execution needs, all closed at its end."""

import os
from types import TracebackType
from typing import Self


class Descriptors:
    """Opens descriptors and closes them together; `inherited` are those that bubblewrap gets."""

    def __init__(self) -> None:
        self._open: set[int] = set()
        self.inherited: list[int] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for descriptor in list(self._open):
            self.close(descriptor)

    def own(self, descriptor: int, inherit: bool = False) -> int:
        """Close `descriptor` at the end; `inherit` also gives it to bubblewrap."""
        self._open.add(descriptor)
        if inherit:
            self.inherited.append(descriptor)
        return descriptor

    def memory(self, name: str, content: bytes) -> int:
        """A file without a path that bubblewrap, or the command as its standard input, reads `content` from."""
        descriptor = self.own(os.memfd_create(name), inherit=True)
        view = memoryview(content)
        while view:
            view = view[os.write(descriptor, view) :]
        os.lseek(descriptor, 0, os.SEEK_SET)
        return descriptor

    def pipe(self) -> tuple[int, int]:
        """A pipe of which neither end is inherited yet: (read, write)."""
        read, write = os.pipe()
        return self.own(read), self.own(write)

    def inherit(self, descriptor: int) -> int:
        self.inherited.append(descriptor)
        return descriptor

    def close(self, descriptor: int) -> None:
        """Close one early. Idempotent."""
        if descriptor in self._open:
            self._open.remove(descriptor)
            os.close(descriptor)
