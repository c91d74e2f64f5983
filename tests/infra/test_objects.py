"""One suite for every object store, and what only a folder can show: sync, damage, a full disk."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from commands.ports.objects import ObjectMissing, Objects, ObjectsFull, ObjectsUnavailable
from domain.kernel.event import BlobRef
from domain.kernel.value import sha256_hex
from infra.objects.form import SALT_BYTES
from infra.objects.memory import MemoryObjects
from infra.objects.store import ObstoreObjects
from infra.sandbox.binary import find_bwrap

STORES: dict[str, Callable[[Path], Objects]] = {
    "folder": lambda folder: ObstoreObjects(folder / "object store" / "it's here"),
    "url": lambda folder: ObstoreObjects("memory:///"),
    "memory": lambda folder: MemoryObjects(),
}


@pytest.fixture(params=sorted(STORES))
def objects(request: pytest.FixtureRequest, tmp_path: Path) -> Objects:
    return STORES[request.param](tmp_path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "objects"


def file_of(folder: Path, ref: BlobRef) -> Path:
    return folder / "objects" / ref.sha256[:2] / ref.sha256


@pytest.mark.parametrize("content", [b"", b"x", b"\0\xff\n" * 1_000, os.urandom(3 * 1024**2)])
def test_gives_back_what_was_put(objects: Objects, content: bytes) -> None:
    ref = objects.put(content)
    assert ref.size == len(content)
    assert objects.get(ref) == content


def test_the_same_content_twice_has_two_hashes_neither_of_which_is_its_own(objects: Objects) -> None:
    first, second = objects.put(b"yes"), objects.put(b"yes")
    assert len({first.sha256, second.sha256, sha256_hex(b"yes")}) == 3


def test_erased_content_is_gone_and_erasing_again_is_nothing(objects: Objects) -> None:
    ref, other = objects.put(b"one"), objects.put(b"other")
    objects.erase(ref)
    objects.erase(ref)
    with pytest.raises(ObjectMissing):
        objects.get(ref)
    assert objects.get(other) == b"other"


def test_a_reference_to_nothing_is_missing(objects: Objects) -> None:
    with pytest.raises(ObjectMissing):
        objects.get(BlobRef(sha256="0" * 64, size=0))


def test_a_reference_of_another_size_is_missing(objects: Objects) -> None:
    ref = objects.put(b"content")
    with pytest.raises(ObjectMissing, match="damaged"):
        objects.get(BlobRef(sha256=ref.sha256, size=ref.size - 1))


@pytest.mark.parametrize("sha256", ["", "../../etc/passwd", "A" * 64, "0" * 63 + "\n"])
def test_a_reference_never_becomes_a_path(objects: Objects, sha256: str) -> None:
    with pytest.raises(ObjectMissing, match="hash"):
        objects.get(BlobRef(sha256=sha256, size=1))


def test_named_objects_are_replaced_and_lie_apart(objects: Objects) -> None:
    objects.put_named("work-graphs/prj_1/chg_1.json", b"old")
    objects.put_named("work-graphs/prj_1/chg_1.json", b"new")
    assert objects.get_named("work-graphs/prj_1/chg_1.json") == b"new"
    with pytest.raises(ObjectMissing):
        objects.get_named("work-graphs/prj_1/chg_2.json")


@pytest.mark.parametrize("name", ["", "/a", "a/", "a//b", "../a", "a/../b", "objects/00/x", "a\nb", ".a", "a b"])
def test_a_name_is_made_of_plain_segments(objects: Objects, name: str) -> None:
    with pytest.raises(ValueError, match="not a name"):
        objects.put_named(name, b"")


def test_another_store_on_the_same_folder_reads_it(folder: Path) -> None:
    ref = ObstoreObjects(folder).put(b"kept")
    assert ObstoreObjects(folder).get(ref) == b"kept"


def test_lies_as_salt_and_content_under_its_hash(folder: Path) -> None:
    ref = ObstoreObjects(folder).put(b"content")
    stored = file_of(folder, ref).read_bytes()
    assert len(stored) == SALT_BYTES + 7
    assert stored.endswith(b"content")
    assert sha256_hex(stored) == ref.sha256


@pytest.mark.parametrize("damage", [b"", b"short", bytes(range(SALT_BYTES + 7))], ids=["empty", "short", "other"])
def test_a_damaged_object_is_never_given_out(folder: Path, damage: bytes) -> None:
    objects = ObstoreObjects(folder)
    ref = objects.put(b"content")
    file_of(folder, ref).write_bytes(damage)
    with pytest.raises(ObjectMissing, match="damaged"):
        objects.get(ref)


def test_the_file_and_the_folders_down_to_it_are_synced(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    objects = ObstoreObjects(folder)
    synced: list[Path] = []
    sync = os.fsync

    def recorded(descriptor: int) -> None:
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink())
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", recorded)
    file = file_of(folder, objects.put(b"content"))
    assert synced == [file, file.parent, folder / "objects", folder]


def test_a_folder_that_can_t_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ObjectsUnavailable, match="file/objects"):
        ObstoreObjects(tmp_path / "file" / "objects")


def test_a_folder_that_vanished_under_a_file_is_an_error_and_no_loss(folder: Path) -> None:
    objects = ObstoreObjects(folder)
    ref = objects.put(b"before")
    (folder / "objects").rename(folder / "away")
    (folder / "objects").write_bytes(b"in the way")
    with pytest.raises(ObjectsUnavailable, match=str(folder)):
        objects.put(b"content")
    (folder / "objects").unlink()
    (folder / "away").rename(folder / "objects")
    assert objects.get(ref) == b"before"


def test_credentials_in_an_address_are_refused_without_showing_them() -> None:
    with pytest.raises(ObjectsUnavailable) as refused:
        ObstoreObjects("s3://someone:canary-password@bucket/prefix")
    assert "canary" not in str(refused.value)
    assert "bucket" in str(refused.value)


FULL = """
import sys
from pathlib import Path
from commands.ports.objects import ObjectsFull
from infra.objects.store import ObstoreObjects
folder = Path(sys.argv[1])
objects = ObstoreObjects(folder)
kept = objects.put(b"kept" * 1000)
try:
    objects.put(b"x" * 8_000_000)
    sys.exit("it fitted")
except ObjectsFull as error:
    print(error)
left = [file for file in folder.rglob("*") if file.is_file()]
assert len(left) == 1, left
assert objects.get(kept) == b"kept" * 1000
print(objects.get(objects.put(b"room again")).decode())
"""


def test_a_full_disk_is_a_clear_error_and_it_goes_on_when_there_is_room(tmp_path: Path) -> None:
    full = tmp_path / "full"
    full.mkdir()
    disk = ["--dev-bind", "/", "/", "--size", str(4 * 1024**2), "--tmpfs", str(full)]
    done = subprocess.run(
        [find_bwrap(None), "--unshare-user-try", *disk, sys.executable, "-c", FULL, full],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"no room left for objects in {full}" in done.stdout
    assert done.stdout.endswith("room again\n")


def test_full_is_a_kind_of_unavailable() -> None:
    assert issubclass(ObjectsFull, ObjectsUnavailable)
