"""What is left of a sandbox whose outer process was killed before it let the inner one begin."""

import json
import os
import subprocess
from collections.abc import Iterator

import psutil
import pytest

from infra.sandbox.binary import find_bwrap
from infra.sandbox.orphan import end_orphans


@pytest.fixture
def pair() -> Iterator[tuple["subprocess.Popen[bytes]", psutil.Process]]:
    """bubblewrap's outer process, and its inner one, which waits for a word that never comes."""
    status, status_inside = os.pipe()
    go_inside, go = os.pipe()
    options = ["--unshare-user", "--unshare-pid", "--dev-bind", "/", "/"]
    options += ["--json-status-fd", str(status_inside), "--block-fd", str(go_inside)]
    arguments = os.memfd_create("args")
    os.write(arguments, b"".join(option.encode() + b"\0" for option in options))
    os.lseek(arguments, 0, os.SEEK_SET)
    inherited = (arguments, status_inside, go_inside)
    with subprocess.Popen(
        ["bwrap", "--args", str(arguments), "--", "true"],
        executable=find_bwrap(None),
        pass_fds=inherited,
        start_new_session=True,
    ) as outer:
        for descriptor in inherited:
            os.close(descriptor)
        with os.fdopen(status, "rb") as told:
            inner = psutil.Process(json.loads(told.readline())["child-pid"])
        yield outer, inner
        outer.kill()
        os.close(go)


def test_an_inner_process_without_its_outer_one_is_ended(
    pair: tuple["subprocess.Popen[bytes]", psutil.Process],
) -> None:
    outer, inner = pair
    end_orphans()
    assert inner.is_running(), "it is somebody's"
    assert inner.status() != psutil.STATUS_ZOMBIE
    outer.kill()
    outer.wait()
    assert inner.is_running()

    assert end_orphans() >= 1

    psutil.wait_procs([inner], timeout=30)
    assert not inner.is_running() or inner.status() == psutil.STATUS_ZOMBIE
