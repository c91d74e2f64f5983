"""Which hosts and addresses a set-up step may reach."""

import ipaddress

import pytest

from infra.sandbox.destination import Destination, Destinations, Refused, is_public, parse_destination


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("registry.example.org", "registry.example.org", 443),
        ("Registry.Example.ORG.", "registry.example.org", 443),
        ("example.org:8443", "example.org", 8443),
        ("203.0.113.7:80", "203.0.113.7", 80),
        ("[2001:db8::1]:443", "2001:db8::1", 443),
    ],
)
def test_destinations_are_read(text: str, host: str, port: int) -> None:
    assert parse_destination(text) == Destination(host, port)


@pytest.mark.parametrize(
    "text",
    ["", ":443", "a b", "host:0", "host:65536", "host:x", "host:", "a/b:443", "u@h:443", "x" * 300, "h\0st", "hé:1"],
)
def test_what_is_no_destination(text: str) -> None:
    with pytest.raises(ValueError, match="not a"):
        parse_destination(text)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.8.8.8",
        "0.0.0.0",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "fe80::1",
        "fc00::1",
        "fd12::1",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "2002:7f00:1::",
        "2002:a00:1::1",
    ],
)
def test_addresses_that_are_not_public(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "address", ["1.1.1.1", "151.101.0.223", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101"]
)
def test_public_addresses(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


def test_names_are_exact_and_ports_count() -> None:
    allowed = Destinations(["example.org", "other.org:8443"])
    assert allowed.require("EXAMPLE.org:443") == Destination("example.org", 443)
    assert allowed.require("other.org:8443") == Destination("other.org", 8443)
    for text in ("a.example.org:443", "example.org:80", "other.org:443", "example.org.evil.com:443", "example.org"):
        with pytest.raises(Refused):
            allowed.require(text)


def test_the_first_public_address_is_chosen_and_none_is_a_refusal() -> None:
    allowed, destination = Destinations(["example.org"]), Destination("example.org", 443)
    assert allowed.choose(destination, ["10.0.0.1", "fe80::1%eth0", "1.1.1.1", "2.2.2.2"]) == "1.1.1.1"
    with pytest.raises(Refused, match="no public address"):
        allowed.choose(destination, ["10.0.0.1", "::1"])


def test_a_refusal_shows_foreign_text_escaped() -> None:
    with pytest.raises(Refused) as refused:
        Destinations([]).require("\x1b[31mevil\n:443")
    assert "\x1b" not in str(refused.value)
    assert "\n" not in str(refused.value)
