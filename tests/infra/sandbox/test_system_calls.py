"""The system-call filter: what it closes, and that ordinary programs don't notice."""

import errno
import struct

import pytest

from infra.sandbox.seccomp import UnsupportedArchitecture, seccomp_filter

from .conftest import Run

NEW_USER = 0x10000000
ALLOW = 0x7FFF0000
REFUSE = 0x00050000
X86_64, AARCH64, I386 = 0xC000003E, 0xC00000B7, 0x40000003

RAW_CALL = """
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments))
    return errno.errorcode[ctypes.get_errno()] if result == -1 else "done"
"""


def verdict(machine: str, architecture: int, number: int, *arguments: int) -> int:
    """Run the filter on a call, as the kernel would."""
    program = list(struct.iter_unpack("=HBBI", seccomp_filter(machine)))
    data = struct.pack("<IIQ6Q", number, architecture, 0, *(*arguments, 0, 0, 0, 0, 0, 0)[:6])
    accumulator, at = 0, 0
    while True:
        code, if_true, if_false, value = program[at]
        at += 1
        match code:
            case 0x20:
                accumulator = struct.unpack_from("<I", data, value)[0]
            case 0x15:
                at += if_true if accumulator == value else if_false
            case 0x35:
                at += if_true if accumulator >= value else if_false
            case 0x45:
                at += if_true if accumulator & value else if_false
            case 0x06:
                return value
            case _:
                raise AssertionError(f"unknown instruction {code:#x}")


@pytest.mark.parametrize(
    ("machine", "architecture", "clone", "unshare", "socket", "ioctl", "keyctl", "read"),
    [("x86_64", X86_64, 56, 272, 41, 16, 250, 0), ("aarch64", AARCH64, 220, 97, 198, 29, 219, 63)],
)
def test_verdicts(
    machine: str, architecture: int, clone: int, unshare: int, socket: int, ioctl: int, keyctl: int, read: int
) -> None:
    def of(number: int, *arguments: int) -> int:
        return verdict(machine, architecture, number, *arguments)

    assert of(read) == ALLOW
    assert of(clone, 0x11) == ALLOW
    assert of(clone, NEW_USER | 0x11) == REFUSE | errno.EPERM
    assert of(unshare, NEW_USER) == REFUSE | errno.EPERM
    assert of(unshare, 0x400) == ALLOW
    assert of(435) == REFUSE | errno.ENOSYS
    assert of(keyctl) == REFUSE | errno.EPERM
    assert [of(socket, family) for family in (1, 2, 10, 16)] == [ALLOW] * 4
    assert [of(socket, family) for family in (17, 38, 40)] == [REFUSE | errno.EAFNOSUPPORT] * 3
    assert of(ioctl, 0, 0x5412) == REFUSE | errno.EPERM
    assert of(ioctl, 0, 0x541C) == REFUSE | errno.EPERM
    assert of(ioctl, 0, 0x5413) == ALLOW


def test_calls_of_another_architecture_are_refused() -> None:
    assert verdict("x86_64", I386, 120, NEW_USER) == REFUSE | errno.ENOSYS
    assert verdict("x86_64", X86_64, 0x40000000 | 56, NEW_USER) == REFUSE | errno.ENOSYS
    assert verdict("aarch64", X86_64, 56, NEW_USER) == REFUSE | errno.ENOSYS


def test_a_machine_without_a_filter_is_refused() -> None:
    with pytest.raises(UnsupportedArchitecture, match="riscv64"):
        seccomp_filter("riscv64")


def test_no_user_namespace_can_be_made_inside(sh: Run) -> None:
    outcome = sh("unshare --user true")
    assert outcome.exit_code not in (0, 127)


def test_raw_calls_are_refused_inside(python: Run) -> None:
    import platform

    x86 = platform.machine() == "x86_64"
    numbers = (272, 56, 435, 250, 321, 425, 103) if x86 else (97, 220, 435, 219, 280, 425, 116)
    unshare, clone, clone3, keyctl, bpf, io_uring, syslog = numbers
    source = f"""{RAW_CALL}
print(call({unshare}, {NEW_USER}), call({clone}, {NEW_USER}), call({clone3}, 0, 0), call({keyctl}, 0, -3, 0))
print(call({bpf}, 0, 0, 0), call({io_uring}, 1, 0), call({syslog}, 10, 0, 0))
"""
    assert python(source).output.split() == [b"EPERM", b"EPERM", b"ENOSYS", b"EPERM", b"EPERM", b"ENOSYS", b"EPERM"]


def test_threads_processes_and_semaphores_work(python: Run) -> None:
    source = """
import multiprocessing, threading
thread = threading.Thread(target=print, args=("thread",)); thread.start(); thread.join()
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(sum(pool.map(abs, [-1, -2])))
"""
    assert python(source).output.split() == [b"thread", b"3"]
