"""Objects in memory: for tests and the simulator; under the same suite as the real store."""

from commands.ports.objects import ObjectMissing
from domain.kernel.event import BlobRef
from infra.objects.form import checked_name, object_key, salted, unsalted


class MemoryObjects:
    """`Objects` in a dict."""

    def __init__(self) -> None:
        self._stored: dict[str, bytes] = {}

    def put(self, content: bytes) -> BlobRef:
        ref, stored = salted(content)
        self._stored[object_key(ref)] = stored
        return ref

    def get(self, ref: BlobRef) -> bytes:
        return unsalted(ref, self._read(object_key(ref)))

    def erase(self, ref: BlobRef) -> None:
        self._stored.pop(object_key(ref), None)

    def put_named(self, name: str, content: bytes) -> None:
        self._stored[checked_name(name)] = content

    def get_named(self, name: str) -> bytes:
        return self._read(checked_name(name))

    def _read(self, key: str) -> bytes:
        try:
            return self._stored[key]
        except KeyError:
            raise ObjectMissing(f"there is no object {key}") from None
