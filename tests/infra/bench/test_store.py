"""The store's bench runs on a real database; its figures are for `make bench`, never asserted here."""

import math

from infra.bench.store import measure, report


def test_the_bench_measures_on_a_real_database(database_url: str) -> None:
    figures = measure(database_url, runs=2, appends=5, log_events=30)
    ratio = figures.appends_per_second / figures.raw_inserts_per_second
    assert math.isclose(figures.appends_of_raw, ratio, rel_tol=0.01, abs_tol=0.001)
    assert figures.decoded_events_per_second > 0
    assert set(report(figures)) >= {"appends_per_second", "decoded_events_per_second", "cpus"}
