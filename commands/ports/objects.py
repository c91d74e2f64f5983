"""The object store: free text of people, models and tools, outputs of checks, logs, Work Graphs."""

from typing import Protocol

from domain.kernel.event import BlobRef


class ObjectMissing(Exception):
    """The object isn't there: erased, or the store lost it."""


class ObjectsUnavailable(Exception):
    """The object store can't be read or written; nothing was stored. The text says where, why and what helps."""


class ObjectsFull(ObjectsUnavailable):
    """There is no room where the objects lie. Nothing is lost, and it goes on when there is room."""


class Objects(Protocol):
    """Content under the SHA-256 of a random salt and itself, so that an erased short text can't be guessed back."""

    def put(self, content: bytes) -> BlobRef:
        """Store and sync; the reference goes into an event afterwards, never before.

        Raises:
            ObjectsUnavailable, ObjectsFull: nothing was stored.
        """
        ...

    def get(self, ref: BlobRef) -> bytes:
        """The content.

        Raises:
            ObjectMissing: it isn't there, or what is there doesn't match the reference.
        """
        ...

    def erase(self, ref: BlobRef) -> None:
        """Remove the content for good. Idempotent."""
        ...

    def put_named(self, name: str, content: bytes) -> None:
        """Store and sync under a name that code made from IDs (`work-graphs/<project>/<change>.json`).

        Raises:
            ValueError: not such a name.
            ObjectsUnavailable, ObjectsFull: nothing was stored.
        """
        ...

    def get_named(self, name: str) -> bytes:
        """The content.

        Raises:
            ObjectMissing: nothing has that name.
        """
        ...
