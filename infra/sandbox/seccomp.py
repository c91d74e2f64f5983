"""The system-call filter of the sandbox, as the classic BPF program that bubblewrap loads (`--seccomp`).

It closes what namespaces and dropped capabilities leave open: nested user namespaces (each a fresh set of kernel
attack surface), kernel keyrings, socket families that a network namespace doesn't isolate (AF_VSOCK reaches the
hypervisor), the kernel log. `ptrace` stays: a pid namespace confines it, and leak sanitizers and debuggers need it.
"""

import errno
import platform
import socket
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

_LOAD, _AND_JUMP_IF_SET, _JUMP_EQUAL, _JUMP_GREATER_EQUAL, _RETURN = 0x20, 0x45, 0x15, 0x35, 0x06
_ALLOW: Final = 0x7FFF0000
_ERRNO: Final = 0x00050000
_NUMBER_OFFSET, _ARCH_OFFSET, _ARGUMENTS_OFFSET = 0, 4, 16
_X32_BIT: Final = 0x40000000
_CLONE_NEWUSER: Final = 0x10000000
_TERMINAL_INJECTIONS: Final = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX put characters into the input of a terminal."""

_SOCKET_FAMILIES: Final = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK)

_CALLS: Final[Mapping[str, tuple[int | None, int | None]]] = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "bpf": (321, 280),
    "clock_settime": (227, 112),
    "clone": (56, 220),
    "clone3": (435, 435),
    "delete_module": (176, 106),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioctl": (16, 29),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "pivot_root": (155, 41),
    "quotactl": (179, 60),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
}
"""System-call numbers on x86_64 and aarch64; None where the architecture has no such call."""

_WITH_ARGUMENTS: Final = frozenset({"clone", "unshare", "socket", "socketpair", "ioctl"})
_AS_IF_MISSING: Final = frozenset({"clone3", "io_uring_setup", "io_uring_enter", "io_uring_register"})
"""Callers of these fall back on ENOSYS: the flags of clone3 lie in memory, where a filter can't look."""


@dataclass(frozen=True, slots=True)
class _Architecture:
    audit: int
    column: int


_ARCHITECTURES: Final = {
    "x86_64": _Architecture(audit=0xC000003E, column=0),
    "aarch64": _Architecture(audit=0xC00000B7, column=1),
}


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _refuse(error: int) -> bytes:
    return _instruction(_RETURN, _ERRNO | error)


def _load_argument(index: int) -> bytes:
    """The low 32 bits, which are all that the kernel uses of these arguments (both architectures are little-endian)."""
    return _instruction(_LOAD, _ARGUMENTS_OFFSET + 8 * index)


def _unless_any(argument: int, values: tuple[int, ...], when_found: bytes, otherwise: bytes) -> bytes:
    tests = b"".join(_instruction(_JUMP_EQUAL, v, if_true=len(values) - i) for i, v in enumerate(values))
    return _load_argument(argument) + tests + otherwise + when_found


def _body(name: str) -> bytes:
    """What to do once the number of the call is known to be `name`'s; always ends in a return."""
    allow = _instruction(_RETURN, _ALLOW)
    match name:
        case "clone" | "unshare":
            test = _instruction(_AND_JUMP_IF_SET, _CLONE_NEWUSER, if_true=1)
            return _load_argument(0) + test + allow + _refuse(errno.EPERM)
        case "socket" | "socketpair":
            return _unless_any(0, tuple(map(int, _SOCKET_FAMILIES)), allow, _refuse(errno.EAFNOSUPPORT))
        case "ioctl":
            return _unless_any(1, _TERMINAL_INJECTIONS, _refuse(errno.EPERM), allow)
        case _:
            return _refuse(errno.ENOSYS if name in _AS_IF_MISSING else errno.EPERM)


def _program(architecture: _Architecture) -> Iterator[bytes]:
    yield _instruction(_LOAD, _ARCH_OFFSET)
    yield _instruction(_JUMP_EQUAL, architecture.audit, if_true=1)
    yield _refuse(errno.ENOSYS)
    yield _instruction(_LOAD, _NUMBER_OFFSET)
    if architecture.column == 0:
        yield _instruction(_JUMP_GREATER_EQUAL, _X32_BIT, if_false=1)
        yield _refuse(errno.ENOSYS)
    for name, numbers in _CALLS.items():
        number = numbers[architecture.column]
        if number is not None:
            body = _body(name)
            yield _instruction(_JUMP_EQUAL, number, if_false=len(body) // 8)
            yield body
    yield _instruction(_RETURN, _ALLOW)


class UnsupportedArchitecture(Exception):
    """No filter is known for this machine's system-call numbers."""


def supported() -> tuple[str, ...]:
    """The machine names (`uname -m`) that a filter exists for."""
    return tuple(_ARCHITECTURES)


@lru_cache
def seccomp_filter(machine: str | None = None) -> bytes:
    """The filter for `machine` (`uname -m`; default this one).

    Raises:
        UnsupportedArchitecture: neither x86_64 nor aarch64.
    """
    machine = machine or platform.machine()
    architecture = _ARCHITECTURES.get(machine)
    if architecture is None:
        raise UnsupportedArchitecture(f"no system-call filter for {machine}; there is one for {', '.join(supported())}")
    return b"".join(_program(architecture))
