"""The envelope: what is stored, and the chain that nobody can change unseen."""

import json
from datetime import UTC, datetime
from typing import Any, ClassVar

import pytest

from domain.budget.event import BudgetLimitRaised, SliceReserved
from domain.kernel.errors import UnknownEvent
from domain.kernel.event import (
    EVENT_CLASSES,
    GENESIS_HASH,
    Command,
    Event,
    decode_envelope,
    encode_envelope,
    read_envelope,
    seal,
)
from domain.kernel.value import canonical_json, sha256_hex

AT = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)
COMMAND = Command(command_id="cmd_1", actor="usr_1", at=AT, causation="msg_1", correlation="chg_1")


def document(**changed: Any) -> dict[str, Any]:
    envelope, stored, _ = seal("bud_1", 1, GENESIS_HASH, BudgetLimitRaised(limit=5), COMMAND, "run_1")
    assert stored == encode_envelope(envelope)
    decoded: dict[str, Any] = json.loads(stored)
    return decoded | changed


def test_the_bookkeeping_comes_from_the_command() -> None:
    assert document() == {
        "id": "bud_1:1",
        "type": "budget.limit_raised",
        "schemaVersion": 1,
        "time": "2026-01-02T03:04:05.000006+00:00",
        "actor": "usr_1",
        "command": "cmd_1",
        "causation": "msg_1",
        "correlation": "chg_1",
        "run": "run_1",
        "previousHash": "0" * 64,
        "data": {"limit": 5},
    }


def test_what_was_sealed_reads_back() -> None:
    envelope, stored, _ = seal("bud_x:y_2026-03", 12, GENESIS_HASH, SliceReserved(run="run_1", amount=3), COMMAND)
    read = decode_envelope(json.loads(stored))
    assert read == envelope
    assert (read.id, read.stream, read.version) == ("bud_x:y_2026-03:12", "bud_x:y_2026-03", 12)


def test_each_envelope_holds_the_hash_of_the_one_before() -> None:
    _, first, digest = seal("bud_1", 1, GENESIS_HASH, BudgetLimitRaised(limit=5), COMMAND)
    assert digest == sha256_hex(first)
    second, _, other = seal("bud_1", 2, digest, BudgetLimitRaised(limit=6), COMMAND)
    assert second.previous_hash == digest
    _, _, changed = seal("bud_1", 2, "1" * 64, BudgetLimitRaised(limit=6), COMMAND)
    assert changed != other


@pytest.mark.parametrize("changed", [{"type": "budget.lowered"}, {"schemaVersion": 2}, {"schemaVersion": 0}])
def test_what_this_code_does_not_know_is_never_guessed(changed: dict[str, Any]) -> None:
    with pytest.raises(UnknownEvent, match="bud_1:1"):
        decode_envelope(document(**changed))


@pytest.mark.parametrize(
    "changed",
    [
        {"type": "budget.lowered"},
        {"schemaVersion": 2},
        {"schemaVersion": 0},
        {"data": {}},
        {"data": {"limit": 5, "more": 1}},
        {"more": 1},
        {"actor": None},
    ],
)
def test_the_fast_way_reads_documents_of_its_class_only(changed: dict[str, Any]) -> None:
    read = read_envelope(BudgetLimitRaised, canonical_json(document()))
    assert read == decode_envelope(document())
    with pytest.raises(ValueError, match=r"event bud_1:1 is no|validation error"):
        read_envelope(BudgetLimitRaised, canonical_json(document(**changed)))


def test_a_type_name_belongs_to_one_class() -> None:
    with pytest.raises(TypeError, match=r"budget\.limit_raised"):

        class Another(Event):
            type: ClassVar[str] = "budget.limit_raised"

    assert EVENT_CLASSES["budget.limit_raised"] is BudgetLimitRaised


def test_a_command_needs_a_time_with_a_zone() -> None:
    with pytest.raises(ValueError, match="timezone"):
        Command(command_id="cmd_1", actor="usr_1", at=datetime(2026, 1, 2))
