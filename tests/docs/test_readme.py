"""The README's transcripts are what happens: its demo, and its example of one's own repository, are run again."""

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.page import README, ROOT
from tests.support.rhumb import BIN, Rhumb

OWN = "Your own repository"


def lines_of(text: str) -> list[str]:
    """Lines without what differs from run to run: IDs, hashes, times, durations, columns' widths, order of checks."""
    kept = []
    for line in text.splitlines():
        plain = re.sub(r"\d\d:\d\d:\d\d|\d{4}-\d\d\b", "<time>", line)
        plain = re.sub(r"\+?\d+(\.\d)? s\b", "<duration>", plain)
        plain = re.sub(r"\b(chg|run|tsk|cand|usr)_[0-9a-f-]+(_t1(_\d)?)?", r"<\1>", plain)
        plain = re.sub(r"\b[0-9a-f]{10}\b|\b[0-9a-f]{40}\b", "<commit>", plain)
        kept.append(" ".join(plain.split()))
    return kept


def shown(transcript: str) -> list[str]:
    return [line for line in lines_of(transcript) if line not in ("", "…")]


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder for temporary files whose path leaves room for a socket's name."""
    with tempfile.TemporaryDirectory(prefix="rd-") as folder:
        yield Path(folder)


def test_the_demo_prints_what_the_readme_shows(tmp_path: Path, short_folder: Path) -> None:
    transcript = README.fences_of("Two commands", "text")[0]
    doctor, run = transcript.split("$ rhumb", 1)
    rhumb = Rhumb(tmp_path / "home", {"TMPDIR": str(short_folder)})
    examined = [line.split()[:2] for line in rhumb("doctor").out.splitlines()]
    assert [line.split()[:2] for line in doctor.splitlines()] == examined
    done = rhumb("demo", code=0)
    printed = re.sub(r"\S*/rhumbline-demo-\w+/", "/tmp/rhumbline-demo/", done.err + done.out)
    printed = printed.replace(f"{ROOT}/", "")
    assert set(shown("$ rhumb" + run)) - set(lines_of(printed)) == set()


@pytest.fixture
def own(tmp_path: Path) -> tuple[Rhumb, list[str], list[str]]:
    """`rhumb`, the example's blocks of commands in a folder of the test's, and its transcripts."""
    place = tmp_path / "example"
    blocks = [block.replace("/tmp/rhumbline-demo", str(place)) for block in README.fences_of(OWN, "sh")]
    return Rhumb(tmp_path / "home"), blocks, README.fences_of(OWN, "text")


def sh(rhumb: Rhumb, *blocks: str) -> "subprocess.CompletedProcess[str]":
    # What a person types goes to one shell, so that `cd` and variables last from block to block.
    environment = {**rhumb.environment, "PATH": os.pathsep.join([str(BIN), os.environ["PATH"]])}
    return subprocess.run(
        ["sh", "-c", "\n".join(["umask 022", *blocks])],
        env=environment,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )


def test_ones_own_repository_goes_as_the_readme_shows(own: tuple[Rhumb, list[str], list[str]]) -> None:
    rhumb, (script, repository, promoted, waits, plan, graph), (first, second, third) = own
    done = sh(rhumb, script, repository, promoted)
    assert done.returncode == 0, done.stdout
    assert set(shown(first)) - set(lines_of(done.stdout)) == set()
    agent = re.search(r"^AGENT=.*$", promoted, re.MULTILINE)
    place = re.search(r"^cd .*$", repository, re.MULTILINE)
    assert agent is not None
    assert place is not None
    done = sh(rhumb, place[0], agent[0], waits)
    assert done.returncode == 3, done.stdout
    assert set(shown(second)) - set(lines_of(done.stdout)) == set()
    named = re.search(r"^(chg_[0-9a-f]{4})\S* waits for a person", done.stdout, re.MULTILINE)
    assert named is not None
    assert "promoted" in rhumb("approve", named[1], code=0).out
    done = sh(rhumb, place[0], plan)
    assert shown(third) == lines_of(done.stdout)
    done = sh(rhumb, place[0], agent[0], graph)
    assert done.returncode == 0, done.stdout
    assert "2 ChangeSets" in done.stdout


def test_the_agent_is_as_long_as_it_is_said_to_be() -> None:
    script = README.fences_of(OWN, "sh")[0].split("<<'END'\n", 1)[1].split("END\n", 1)[0]
    assert "ten lines" in README.section(OWN)
    assert len(script.splitlines()) == 10
