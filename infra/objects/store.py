"""Objects through `obstore`: a local folder by default, S3-compatible (and whatever obstore knows) by URL."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from commands.ports.objects import ObjectMissing, ObjectsFull, ObjectsUnavailable
from domain.kernel.event import BlobRef
from infra.objects.form import checked_name, object_key, salted, unsalted

if TYPE_CHECKING:
    from obstore.store import ObjectStore

FULL_MARKS: Final = ("No space left on device", "Disk quota exceeded", "File too large")


def is_url(place: str) -> bool:
    """Whether `place` is a URL (`s3://bucket/prefix`) and not a folder."""
    return "://" in place


class ObstoreObjects:
    """`Objects` in a folder or at a URL.

    A URL's credentials come from the environment variables that obstore reads (AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL…);
    they never lie in the URL, so that errors may name it.

    Raises (when made):
        ObjectsUnavailable: the place can't be used.
    """

    def __init__(self, place: str | Path) -> None:
        self._folder: Path | None = None
        if isinstance(place, str) and is_url(place):
            self._place = _without_credentials(place)
            self._store = _remote(place, self._place)
        else:
            self._folder = Path(place).absolute()
            self._place = str(self._folder)
            self._store = _local(self._folder)

    def put(self, content: bytes) -> BlobRef:
        ref, stored = salted(content)
        self._write(object_key(ref), stored)
        return ref

    def get(self, ref: BlobRef) -> bytes:
        return unsalted(ref, self._read(object_key(ref)))

    def erase(self, ref: BlobRef) -> None:
        from obstore.exceptions import BaseError

        key = object_key(ref)
        try:
            self._store.delete(key)
        except (FileNotFoundError, BaseError) as error:
            if not _is_missing(error):
                raise self._unavailable("removed from", error) from error
        if self._folder is not None:
            _sync_folders(self._folder, (self._folder / key).parent)

    def put_named(self, name: str, content: bytes) -> None:
        self._write(checked_name(name), content)

    def get_named(self, name: str) -> bytes:
        return self._read(checked_name(name))

    def _write(self, key: str, stored: bytes) -> None:
        from obstore.exceptions import BaseError

        try:
            self._store.put(key, stored, use_multipart=False)
            if self._folder is not None:
                _sync(self._folder, self._folder / key)
        except (OSError, BaseError) as error:
            raise self._unavailable("written to", error) from error

    def _read(self, key: str) -> bytes:
        from obstore.exceptions import BaseError

        try:
            return bytes(self._store.get(key).bytes())
        except (OSError, BaseError) as error:
            if _is_missing(error):
                raise ObjectMissing(f"there is no object {key} in {self._place}") from error
            raise self._unavailable("read from", error) from error

    def _unavailable(self, what: str, error: Exception) -> ObjectsUnavailable:
        text = str(error)
        if any(mark in text for mark in FULL_MARKS):
            return ObjectsFull(f"there is no room left for objects in {self._place}: free some space there, then go on")
        reason = text.strip().splitlines()[0][:300] if text.strip() else type(error).__name__
        return ObjectsUnavailable(f"the object store {self._place} can't be {what}: {reason}")


def _local(folder: Path) -> "ObjectStore":
    from obstore.store import LocalStore

    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ObjectsUnavailable(f"the folder for objects {folder} can't be made: {error.strerror}") from error
    return LocalStore(prefix=folder)


def _remote(url: str, shown: str) -> "ObjectStore":
    from obstore.exceptions import BaseError
    from obstore.store import from_url

    parts = urlsplit(url)
    if parts.username or parts.password:
        raise ObjectsUnavailable(
            f"the address of the object store {shown} must hold no credentials: set AWS_… variables"
        )
    try:
        return from_url(url)
    except (ValueError, BaseError) as error:
        raise ObjectsUnavailable(
            f"the object store {shown} can't be used: {str(error).splitlines()[0][:300]}"
        ) from error


def _without_credentials(url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def _is_missing(error: Exception) -> bool:
    from obstore.exceptions import NotFoundError

    return isinstance(error, FileNotFoundError | NotFoundError)


def _sync(root: Path, file: Path) -> None:
    """Sync a file and the folders down to it: obstore's LocalStore renames without fsync."""
    descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    _sync_folders(root, file.parent)


def _sync_folders(root: Path, folder: Path) -> None:
    for each in (folder, *folder.parents):
        if each.is_dir():
            descriptor = os.open(each, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        if each == root:
            return
