"""The read-only root that every command sees: the system's programs, single files of /etc, nothing else of the host."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

HOST_NAME: Final = "rhumbline"
HOME: Final = Path("/home/rhumbline")
TEMPORARY: Final = Path("/tmp")
SHARED_MEMORY: Final = Path("/dev/shm")

_TOP_FOLDERS: Final = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")

_ETC: Final = (
    "alternatives",
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    "debian_version",
    "fonts",
    "host.conf",
    "java-*",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "magic",
    "maven",
    "mime.types",
    "os-release",
    "pki/ca-trust/extracted",
    "pki/tls/cert.pem",
    "pki/tls/certs",
    "pki/tls/openssl.cnf",
    "protocols",
    "services",
    "shells",
    "ssl/cert.pem",
    "ssl/certs",
    "ssl/openssl.cnf",
    "timezone",
)
"""Files and folders of /etc that programs need and that hold no secret; a private key lies in none of them."""


def system_binds() -> Iterator[tuple[str, ...]]:
    """bubblewrap's arguments for /usr, what leads into it, and /etc."""
    yield ("--ro-bind", "/usr", "/usr")
    for name in _TOP_FOLDERS:
        folder = Path("/", name)
        if folder.is_symlink():
            yield ("--symlink", str(folder.readlink()), str(folder))
        elif folder.is_dir():
            yield ("--ro-bind", str(folder), str(folder))
    for pattern in _ETC:
        for path in sorted(Path("/etc").glob(pattern)):
            if path.exists():
                yield ("--ro-bind", str(path.resolve()), str(path))
    localtime = Path("/etc/localtime")
    if localtime.exists():
        yield ("--ro-bind", str(localtime.resolve()), str(localtime))


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
