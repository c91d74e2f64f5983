"""How long `rhumb --help` takes as a process of its own."""

import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Final

RUNS: Final = 9


@dataclass(frozen=True, slots=True)
class StartMeasure:
    """Median seconds of `rhumb --help` over `runs`, and of an interpreter that does nothing, in turn with it."""

    runs: int
    help: float
    interpreter: float


def measure(runs: int = RUNS) -> StartMeasure:
    helps, nothings = [], []
    for _ in range(runs):
        helps.append(_timed("-m", "infra.main", "--help"))
        nothings.append(_timed("-c", "pass"))
    return StartMeasure(runs, round(statistics.median(helps), 3), round(statistics.median(nothings), 3))


def _timed(*arguments: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began
