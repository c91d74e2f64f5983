"""Which hosts a set-up step may reach, and which addresses of theirs."""

import ipaddress
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

AddressPolicy = Callable[[Address], bool]
"""Whether a connection to an address is allowed."""

HTTPS_PORT: Final = 443
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
_LONGEST_NAME: Final = 253


class Refused(Exception):
    """A destination that isn't allowed; the text says why, in words for the output of the step."""


@dataclass(frozen=True, slots=True)
class Destination:
    """A host, in lower case and without a final dot, and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def parse_destination(text: str, default_port: int | None = HTTPS_PORT) -> Destination:
    """`host`, `host:port` or `[address]:port`.

    Raises:
        ValueError: no host, or no port between 1 and 65535.
    """
    host, colon, port = text.strip().rpartition(":")
    if not colon or "]" in port:
        host, port = text.strip(), str(default_port or "")
    host = host.strip("[]").rstrip(".").lower()
    printable = host.isascii() and host.isprintable() and not any(c in host for c in " /@%\\")
    if not host or not printable or len(host) > _LONGEST_NAME:
        raise ValueError("not a host name")
    if not (port.isascii() and port.isdigit()) or not 0 < int(port) < 65536:
        raise ValueError("not a port")
    return Destination(host, int(port))


def is_public(address: Address) -> bool:
    """The default policy: neither private, loopback, link-local, multicast nor reserved, also not embedded in IPv6."""
    if isinstance(address, ipaddress.IPv6Address):
        embedded = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
        if address in _NAT64:
            embedded.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
        if not all(is_public(inner) for inner in embedded if inner is not None):
            return False
        if address.ipv4_mapped is not None or address in _NAT64:
            return True
    return address.is_global and not address.is_multicast and not address.is_reserved


class Destinations:
    """The destinations that a step names. Exact names only: `example.org` says nothing about `a.example.org`."""

    def __init__(self, hosts: Iterable[str], policy: AddressPolicy = is_public) -> None:
        self._allowed = frozenset(map(parse_destination, hosts))
        self._policy = policy

    def require(self, text: str) -> Destination:
        """The destination of a CONNECT request.

        Raises:
            Refused: not one of those that were named.
        """
        try:
            destination = parse_destination(text, default_port=None)
        except ValueError as error:
            raise Refused(f"a connection to {text[:100]!a}: {error}") from error
        if destination not in self._allowed:
            raise Refused(f"a connection to {destination}: not among the hosts that this step may reach")
        return destination

    def choose(self, destination: Destination, addresses: Iterable[str]) -> str:
        """The first address that the policy allows; that one and no other may be connected to.

        Raises:
            Refused: there is none.
        """
        for text in addresses:
            if self._policy(ipaddress.ip_address(text.partition("%")[0])):
                return text
        raise Refused(f"a connection to {destination}: it has no public address")
