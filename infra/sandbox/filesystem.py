"""The read-only root that every command sees: the system's programs, single files of /etc, nothing else of the host."""

from functools import lru_cache
from pathlib import Path
from typing import Final

HOST_NAME: Final = "rhumbline"
HOME: Final = Path("/home/rhumbline")
TEMPORARY: Final = Path("/tmp")
SHARED_MEMORY: Final = Path("/dev/shm")
MEMORY_FOLDERS: Final = (HOME, TEMPORARY, SHARED_MEMORY)
"""Fresh for each command, sized, and part of the memory that it uses."""

_TOP_FOLDERS: Final = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")

_ETC_FOLDERS: Final = (
    "alternatives",
    "ca-certificates/extracted",
    "crypto-policies",
    "fonts",
    "java-*",
    "maven",
    "pki/ca-trust/extracted",
    "pki/tls/certs",
    "ssl/certs",
)
"""Folders of /etc that programs need and that hold no secret: certificates of authorities, never a private key."""

_ETC_FILES: Final = (
    "ld.so.cache",
    "localtime",
    "mime.types",
    "os-release",
    "pki/tls/openssl.cnf",
    "protocols",
    "services",
    "ssl/openssl.cnf",
    "timezone",
)
"""Copied, not bound: each mount costs a start 0.2 ms."""


@lru_cache
def system_binds() -> tuple[tuple[str, str, str], ...]:
    """bubblewrap's arguments for /usr, what leads into it, and folders of /etc: (option, source, target)."""
    found = [("--ro-bind", "/usr", "/usr")]
    for name in _TOP_FOLDERS:
        folder = Path("/", name)
        if folder.is_symlink():
            found.append(("--symlink", str(folder.readlink()), str(folder)))
        elif folder.is_dir():
            found.append(("--ro-bind", str(folder), str(folder)))
    for pattern in _ETC_FOLDERS:
        folders = (path for path in sorted(Path("/etc").glob(pattern)) if path.is_dir())
        found.extend(("--ro-bind-try", str(path.resolve()), str(path)) for path in folders)
    return tuple(found)


def system_files() -> dict[str, bytes]:
    """Files of /etc as they are now: path to content."""
    paths = (Path("/etc", name) for name in _ETC_FILES)
    return {str(path): path.read_bytes() for path in paths if path.is_file()}


def synthetic_files(user: int, group: int) -> dict[str, bytes]:
    """Files of /etc that would tell about the host, made up: path to content."""
    passwd = (
        "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n"
        f"rhumbline:x:{user}:{group}:rhumbline:{HOME}:/bin/sh\n"
        "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
    )
    hosts = f"127.0.0.1 localhost {HOST_NAME}\n::1 localhost\n"
    return {
        "/etc/passwd": passwd.encode(),
        "/etc/group": f"root:x:0:\nrhumbline:x:{group}:\nnogroup:x:65534:\n".encode(),
        "/etc/hosts": hosts.encode(),
        "/etc/hostname": f"{HOST_NAME}\n".encode(),
        "/etc/nsswitch.conf": b"passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n",
        "/etc/machine-id": b"00000000000000000000000000000000\n",
    }
