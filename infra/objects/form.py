"""The form of a stored object: salt, content, key. One place for both implementations."""

import hashlib
import re
import secrets
from typing import Final

from commands.ports.objects import ObjectMissing
from domain.kernel.event import BlobRef

SALT_BYTES: Final = 32
OBJECTS: Final = "objects"
_NAME: Final = re.compile(r"(?!objects/)[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*")
_HASH: Final = re.compile(r"[0-9a-f]{64}")


def salted(content: bytes) -> tuple[BlobRef, bytes]:
    """The bytes to store for `content`, and the reference to them."""
    stored = secrets.token_bytes(SALT_BYTES) + content
    return BlobRef(sha256=hashlib.sha256(stored).hexdigest(), size=len(content)), stored


def unsalted(ref: BlobRef, stored: bytes) -> bytes:
    """The content in `stored`.

    Raises:
        ObjectMissing: `stored` isn't what the reference names.
    """
    content = stored[SALT_BYTES:]
    if len(content) != ref.size or hashlib.sha256(stored).hexdigest() != ref.sha256:
        raise ObjectMissing(f"object {ref.sha256} is damaged: what is stored doesn't match its hash")
    return content


def object_key(ref: BlobRef) -> str:
    """`objects/<first two digits>/<sha256>`.

    Raises:
        ObjectMissing: the reference holds no hash, so nothing can lie under it.
    """
    if not _HASH.fullmatch(ref.sha256):
        raise ObjectMissing(f"{ref.sha256!r} is no object's hash")
    return f"{OBJECTS}/{ref.sha256[:2]}/{ref.sha256}"


def checked_name(name: str) -> str:
    """`name` if code can have made it from IDs: plain segments, not below `objects/`.

    Raises:
        ValueError: anything else.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"not a name for an object: {name!r}")
    return name
