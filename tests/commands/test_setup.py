"""What a set-up step's result depends on, and how a failure reads."""

from commands.setup import TAIL_CHARACTERS, SetupFailed, readable_tail, setup_key
from domain.check import Setup

STEP = Setup(command="npm ci", outputs=("a", "b"), lock_files=("lock",), hosts=("example.org",), seconds=60)


def key(setup: Setup = STEP, lock: str = "h1", toolchains: str = "t1") -> str:
    return setup_key(setup, {"lock": lock}, toolchains)


def test_the_same_is_the_same() -> None:
    assert key() == key()


def test_command_outputs_lock_files_and_toolchains_make_another() -> None:
    keys = {
        key(),
        key(lock="h2"),
        key(toolchains="t2"),
        key(STEP.model_copy(update={"command": "npm install"})),
        key(STEP.model_copy(update={"outputs": ("a",)})),
        setup_key(STEP, {}, "t1"),
    }
    assert len(keys) == 6


def test_neither_hosts_nor_time_nor_the_order_of_outputs_matter() -> None:
    assert key(STEP.model_copy(update={"hosts": (), "seconds": 1, "outputs": ("b", "a")})) == key()


def test_a_failure_ends_with_the_last_of_the_output() -> None:
    failed = SetupFailed("it failed", b"x" * 10_000 + b"\nlast line\n")
    assert str(failed).startswith("it failed; the last of its output:\n")
    assert str(failed).endswith("last line")
    assert len(str(failed)) < TAIL_CHARACTERS + 100
    assert len(failed.output) > 10_000


def test_without_output_there_is_only_the_reason() -> None:
    assert str(SetupFailed("it failed", b" \n")) == "it failed"


def test_control_characters_are_shown_escaped() -> None:
    assert readable_tail(b"a\x1b[31mb\x07\r\nc\xff\xe2\x80\xaed") == "a\\x1b[31mb\\x07\nc\ufffd\\u202ed"
