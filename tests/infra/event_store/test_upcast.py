"""Reading events that were stored in an older shape."""

import json
from dataclasses import replace
from typing import Any

import pytest

from commands.ports.store import Sealed, StreamAppend
from domain.kernel.errors import UnknownEvent
from domain.kernel.event import GENESIS_HASH, Event, seal
from domain.kernel.value import canonical_json, sha256_hex
from infra.event_store.mapper import MANY, CanonicalTranscoder, EnvelopeMapper
from infra.event_store.upcast import UPCASTERS, Upcaster, UpcasterKey, upcast, upcaster
from tests.infra.event_store.samples import append, command, notes


class Renamed(Event):
    """Version 1 had `name`, version 2 `full_name`, version 3 a list."""

    type = "test.renamed"
    schema_version = 3

    names: tuple[str, ...]


def stored_as(version: int, data: dict[str, Any], event_type: str = "test.renamed") -> bytes:
    _, stored, _ = seal("s", 1, GENESIS_HASH, Renamed(names=("x",)), command())
    return canonical_json({**json.loads(stored), "type": event_type, "schemaVersion": version, "data": data})


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(UPCASTERS, ("test.renamed", 1), lambda data: {"fullName": data["name"]})
    monkeypatch.setitem(UPCASTERS, ("test.renamed", 2), lambda data: {"names": [data["fullName"]]})


@pytest.mark.usefixtures("steps")
@pytest.mark.parametrize(("version", "data"), [(1, {"name": "Ada"}), (2, {"fullName": "Ada"}), (3, {"names": ["Ada"]})])
def test_every_version_is_read_as_the_present_one(version: int, data: dict[str, Any]) -> None:
    envelope = EnvelopeMapper.envelope(stored_as(version, data))
    assert envelope.event == Renamed(names=("Ada",))
    assert envelope.schema_version == 3


@pytest.mark.usefixtures("steps")
def test_the_hash_is_that_of_the_stored_bytes(store: Any) -> None:
    old = stored_as(1, {"name": "Ada"})
    envelope = EnvelopeMapper.envelope(old)
    store.events.commit(append(StreamAppend("s", 0, (Sealed(envelope, old, sha256_hex(old)),))))
    (read,) = store.events.read("s")
    assert read.hash == sha256_hex(old)
    assert read.envelope.event == Renamed(names=("Ada",))


def test_a_missing_step_is_an_error_that_names_it() -> None:
    with pytest.raises(UnknownEvent, match=r"s:1.*test\.renamed from version 1"):
        EnvelopeMapper.envelope(stored_as(1, {"name": "Ada"}))


@pytest.mark.parametrize(("event_type", "version"), [("test.renamed", 4), ("test.never_defined", 1)])
def test_a_log_of_newer_code_is_refused(event_type: str, version: int) -> None:
    with pytest.raises(UnknownEvent):
        EnvelopeMapper.envelope(stored_as(version, {"names": []}, event_type))


@pytest.mark.usefixtures("steps")
@pytest.mark.parametrize("events", [3, MANY])
def test_a_page_of_any_size_reads_every_version(events: int) -> None:
    forms = [stored_as(1, {"name": "Ada"}), stored_as(2, {"fullName": "Ada"}), stored_as(3, {"names": ["Ada"]})]
    rows = [(n, "test.renamed", forms[n % 3]) for n in range(events)]
    page = EnvelopeMapper.page(rows)
    assert [(s.position, s.envelope) for s in page] == [(n, EnvelopeMapper.envelope(form)) for n, _, form in rows]
    assert [s.hash for s in page] == [sha256_hex(form) for _, _, form in rows]
    assert EnvelopeMapper.envelopes(rows) == tuple((s.position, s.envelope) for s in page)


@pytest.mark.parametrize(("event_type", "version"), [("test.renamed", 4), ("test.never_defined", 1)])
def test_a_page_with_an_event_of_newer_code_is_refused(event_type: str, version: int) -> None:
    rows = [(n, "test.renamed", stored_as(3, {"names": []})) for n in range(MANY)]
    rows[-1] = (MANY, event_type, stored_as(version, {"names": []}, event_type))
    with pytest.raises(UnknownEvent, match="s:1"):
        EnvelopeMapper.envelopes(rows)


def test_a_present_document_is_left_as_it_is() -> None:
    document = json.loads(stored_as(3, {"names": []}))
    assert upcast(document) is document


def test_a_step_has_one_upcaster() -> None:
    registry: dict[UpcasterKey, Upcaster] = {}
    upcaster("test.renamed", 1, registry)(dict)
    with pytest.raises(TypeError, match="two upcasters"):
        upcaster("test.renamed", 1, registry)(lambda data: data)


def test_stored_bytes_are_the_sealed_ones_with_copies_beside() -> None:
    (sealed,) = notes("s", "one", run="run_1_t1_1").events
    row = EnvelopeMapper().to_stored_event(sealed)  # type: ignore[arg-type]
    assert row.state == sealed.stored
    assert (row.originator_id, row.originator_version, row.topic) == ("s", 1, "test.note_taken")
    assert (row.run, row.actor, row.at) == ("run_1_t1_1", sealed.envelope.actor, sealed.envelope.at)
    assert replace(row, state=b"") != row


def test_the_transcoder_is_canonical() -> None:
    data = {"b": [1, None], "a": "ü"}
    assert CanonicalTranscoder().encode(data) == canonical_json(data)
    assert CanonicalTranscoder().decode(canonical_json(data)) == data
