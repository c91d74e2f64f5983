"""Naming a process so that it can be told dead."""

from dataclasses import replace

import pytest

from infra.event_store.process import ProcessIdentity, is_elsewhere, is_gone


def test_this_process_is_here_and_not_gone() -> None:
    me = ProcessIdentity.current()
    assert ProcessIdentity.parse(str(me)) == me
    assert not is_gone(str(me))
    assert not is_elsewhere(str(me))


def test_a_reused_process_id_is_another_process() -> None:
    assert is_gone(str(replace(ProcessIdentity.current(), started=1)))


@pytest.mark.parametrize("where", [{"boot": "another"}, {"namespace": "pid:[1]"}])
def test_a_process_elsewhere_is_never_known_to_be_gone(where: dict[str, str]) -> None:
    other = str(replace(ProcessIdentity.current(), started=1, **where))
    assert not is_gone(other)
    assert is_elsewhere(other)


def test_a_holder_of_another_form_is_left_alone() -> None:
    assert not is_gone("somebody")
    assert is_elsewhere("somebody")
