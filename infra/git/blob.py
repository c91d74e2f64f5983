"""Reading many blobs in one process, in pieces."""

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Final

from infra.git.process import GitFailed, reading, require_object_name

PIECE_BYTES: Final = 1024 * 1024


def read_blobs(
    git_dir: Path, names: Iterable[str], env: Mapping[str, str] | None = None
) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Each blob's name and its content as pieces, in order; the pieces must be taken before the next blob is.

    Raises:
        GitFailed: one of them isn't there.
    """
    with tempfile.TemporaryFile() as request:
        request.write("".join(f"{require_object_name(name)}\n" for name in names).encode())
        request.seek(0)
        with reading("cat-file", "--batch", git_dir=git_dir, stdin=request, env=env) as output:
            while header := output.readline():
                name, _, facts = header.decode().rstrip("\n").partition(" ")
                size = facts.rpartition(" ")[2]
                if not size.isdigit():
                    raise GitFailed("cat-file", 0, f"{name}: {facts}".encode())
                yield name, _pieces(output, int(size))
                output.read(1)


def _pieces(output: IO[bytes], size: int) -> Iterator[bytes]:
    while size:
        piece = output.read(min(size, PIECE_BYTES))
        if not piece:
            raise GitFailed("cat-file", 0, b"the output ended within a blob")
        size -= len(piece)
        yield piece
