"""The measures measure: numbers of every part, on a small tree."""

from dataclasses import asdict

import pytest

from infra.bench.git import measure
from infra.sandbox.bubblewrap import BubblewrapSandbox
from infra.sandbox.probe import probe
from infra.sandbox.settings import SandboxSettings


def test_every_part_is_measured() -> None:
    settings = SandboxSettings.from_environment()
    missing = [finding.detail for finding in probe(settings) if not finding.ok]
    if missing:
        pytest.skip("; ".join(missing))
    measured = measure(BubblewrapSandbox(settings), files=60, changesets=2, runs=1)
    assert all(value > 0 for value in asdict(measured).values())
    assert measured.compose_ratio == measured.compose / measured.merge_tree
