"""The names and shapes of events are the storage format: they stay as they were first stored."""

import json
import re
from datetime import UTC
from pathlib import Path

import pytest

from domain.kernel.event import Event, decode_envelope, encode_envelope, read_envelope
from domain.kernel.value import canonical_json
from infra.event_store.upcast import upcast
from tests.domain import golden
from tests.domain.golden import FOLDER, classes, path_of, write_new
from tests.domain.golden.example import example_envelope

CLASSES = [pytest.param(cls, id=name) for name, cls in sorted(classes().items())]
FILES = [pytest.param(path, id=path.name) for path in sorted(FOLDER.glob("*.json"))]
FILE_NAME = re.compile(r"(?P<type>[a-z_]+(\.[a-z_]+)+)\.v(?P<version>[1-9][0-9]*)\.json")


@pytest.mark.parametrize("cls", CLASSES)
def test_every_class_stores_what_its_golden_file_holds(cls: type[Event]) -> None:
    assert encode_envelope(example_envelope(cls)) == path_of(cls).read_bytes()


@pytest.mark.parametrize("cls", CLASSES)
def test_what_is_stored_is_read_back_equal(cls: type[Event]) -> None:
    envelope = example_envelope(cls)
    read = decode_envelope(json.loads(path_of(cls).read_bytes()))
    assert read == envelope
    assert type(read.event) is cls
    assert encode_envelope(read) == path_of(cls).read_bytes()


@pytest.mark.parametrize("cls", CLASSES)
def test_the_fast_way_of_reading_gives_the_same(cls: type[Event]) -> None:
    read = read_envelope(cls, path_of(cls).read_bytes())
    assert read == example_envelope(cls)
    assert (type(read.event), read.id, read.at.tzinfo) == (cls, example_envelope(cls).id, UTC)
    assert encode_envelope(read) == path_of(cls).read_bytes()


@pytest.mark.parametrize("cls", CLASSES)
def test_every_version_that_was_ever_stored_has_its_file(cls: type[Event]) -> None:
    for version in range(1, cls.schema_version + 1):
        assert (FOLDER / f"{cls.type}.v{version}.json").exists()


@pytest.mark.parametrize("path", FILES)
def test_every_file_is_of_a_class_and_can_be_read_today(path: Path) -> None:
    match = FILE_NAME.fullmatch(path.name)
    assert match, path.name
    document = json.loads(path.read_bytes())
    assert (document["type"], document["schemaVersion"]) == (match["type"], int(match["version"]))
    cls = classes()[match["type"]]
    assert document["schemaVersion"] <= cls.schema_version
    assert type(decode_envelope(upcast(document)).event) is cls


def test_an_existing_file_is_never_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(golden, "FOLDER", tmp_path)
    assert len(write_new()) == len(classes())
    assert write_new() == []
    changed, missing = sorted(tmp_path.iterdir())[:2]
    changed.write_bytes(canonical_json({"another": "shape"}))
    missing.unlink()
    with pytest.raises(RuntimeError, match=re.escape(changed.name)):
        write_new()
    assert not missing.exists()
    assert json.loads(changed.read_bytes()) == {"another": "shape"}
