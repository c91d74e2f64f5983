"""What a person says about agents, what is stored of it, and what is refused."""

import json
import os
import socket
from pathlib import Path

import pytest

from commands.ports.agent import AgentInputError, AgentRequest, AgentUnavailable
from infra.agents.agents import InstalledAgents
from tests.infra.agents.conftest import CANARY


def request(**changes: object) -> AgentRequest:
    fields: dict[str, object] = {"provider": "command", "command": "true", **changes}
    return AgentRequest(**fields)  # type: ignore[arg-type]


def test_no_value_of_a_variable_is_stored(agents: InstalledAgents) -> None:
    stored = agents.prepare(request(env=("SECRET_TOKEN", "OTHER_SECRET", "SECRET_TOKEN")))
    assert CANARY.encode() not in stored
    assert json.loads(stored)["env"] == ["SECRET_TOKEN", "OTHER_SECRET"]


def test_equal_requests_are_stored_as_equal_bytes(agents: InstalledAgents) -> None:
    assert agents.prepare(request()) == agents.prepare(request())


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"provider": "magic"}, "command or scripted"),
        ({"command": None}, "--agent-command"),
        ({"command": "  \n"}, "--agent-command"),
        ({"command": "a\0b"}, "NUL"),
        ({"command": "a\udcffb"}, "aren't text"),
        ({"script": Path("x")}, "--script"),
        ({"provider": "scripted"}, "--agent-command"),
        ({"provider": "scripted", "command": None}, "--script FILE"),
        ({"env": ("NOT_SET",)}, "NOT_SET"),
        ({"env": ("PATH",)}, "PATH"),
        ({"env": ("RHUMB_TASK_FILE",)}, "RHUMB_TASK_FILE"),
        ({"env": ("",)}, "name of a variable"),
        ({"env": ("A B",)}, "name of a variable"),
    ],
)
def test_refuses_what_can_t_be_carried_out(agents: InstalledAgents, changes: dict[str, object], said: str) -> None:
    with pytest.raises(AgentInputError, match=said):
        agents.prepare(request(**changes))


def test_a_value_given_with_its_name_is_refused_without_showing_it(agents: InstalledAgents) -> None:
    with pytest.raises(AgentInputError, match="SECRET_TOKEN") as refused:
        agents.prepare(request(env=("SECRET_TOKEN=canary",)))
    assert "canary" not in str(refused.value)


@pytest.mark.parametrize(
    "stored", [b"", b"null", b"{}", b'{"provider":"other"}', b'{"provider":"command","command":"x","extra":1}']
)
def test_settings_that_can_t_be_read_are_told(agents: InstalledAgents, stored: bytes) -> None:
    with pytest.raises(AgentUnavailable, match="can't be read"):
        agents.open(stored, sandboxed=True)


@pytest.mark.parametrize(
    "place",
    [
        "/",
        "/proc",
        "/proc/1/environ",
        "/sys/kernel",
        "/dev/null",
        "/run",
        "/var/run/x",
        "/etc",
        "/usr",
        "/tmp",
        "/home",
    ],
)
def test_no_part_of_the_system_is_let_in_as_a_whole(agents: InstalledAgents, place: str) -> None:
    with pytest.raises(AgentInputError, match="--agent-bind"):
        agents.prepare(request(binds=(place,)))


@pytest.mark.parametrize("place", ["/usr/bin:rw", "/etc/hostname:rw"])
def test_no_part_of_the_system_is_let_in_writable(agents: InstalledAgents, place: str) -> None:
    with pytest.raises(AgentInputError, match="writable"):
        agents.prepare(request(binds=(place,)))


@pytest.mark.parametrize("below", ["", "own state", "own state/run", "person's home"])
def test_neither_a_home_nor_rhumbline_s_state_is_let_in(agents: InstalledAgents, tmp_path: Path, below: str) -> None:
    (tmp_path / "own state" / "run").mkdir()
    with pytest.raises(AgentInputError, match="--agent-bind"):
        agents.prepare(request(binds=(str(tmp_path / below),)))


def test_a_link_is_judged_by_what_it_leads_to(agents: InstalledAgents, person: Path, own: Path) -> None:
    (person / "harmless").symlink_to(own)
    with pytest.raises(AgentInputError, match="own state"):
        agents.prepare(request(binds=(str(person / "harmless"),)))


def test_a_link_keeps_its_own_path_inside(agents: InstalledAgents, person: Path) -> None:
    (person / "real").mkdir()
    (person / "real").chmod(0o777)
    (person / "link").symlink_to("real")
    bind = json.loads(agents.prepare(request(binds=(f"{person}/x/../link:rw",))))["binds"][0]
    assert bind == {"source": str((person / "real").resolve()), "target": str(person / "link"), "writable": True}


@pytest.mark.parametrize("place", ["", ":rw", "nothing here", "a\0b"])
def test_what_isn_t_there_can_t_be_let_in(agents: InstalledAgents, place: str) -> None:
    with pytest.raises(AgentInputError, match="--agent-bind"):
        agents.prepare(request(binds=(place,)))


def test_a_socket_is_let_in_a_fifo_is_not(agents: InstalledAgents, person: Path) -> None:
    os.mkfifo(person / "fifo")
    with pytest.raises(AgentInputError, match="neither a file"):
        agents.prepare(request(binds=(str(person / "fifo"),)))
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"/proc/self/fd/{os.open(person, os.O_RDONLY)}/s")
        (person / "s").chmod(0o777)
        assert b"/s" in agents.prepare(request(binds=(str(person / "s"),)))


def test_the_same_place_twice_is_refused(agents: InstalledAgents, person: Path) -> None:
    (person / "a").mkdir()
    with pytest.raises(AgentInputError, match="twice"):
        agents.prepare(request(binds=(f"{person}/a", f"{person}/a:rw")))


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user's agents have that user's rights")
@pytest.mark.parametrize(("mode", "more", "verb"), [(0o700, "", "read"), (0o704, "", "read"), (0o755, ":rw", "write")])
def test_as_root_what_the_agent_s_user_has_no_right_to_is_refused_at_once(
    agents: InstalledAgents, person: Path, mode: int, more: str, verb: str
) -> None:
    (person / "config").mkdir()
    (person / "config").chmod(mode)
    with pytest.raises(AgentInputError, match=f"who can't ({verb})"):
        agents.prepare(request(binds=(f"{person}/config{more}",)))
    assert agents.prepare(request(binds=(f"{person}/config{more}",), sandboxed=False))
