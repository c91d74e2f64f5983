"""Golden files: the stored bytes of every event ever, one file per type and schema version.

`python -m tests.domain.golden` writes the files of new types and versions; an existing one is never changed, because
logs with these bytes exist. An event whose shape changes gets a new `schema_version` and an upcaster.
"""

from pathlib import Path

from domain.kernel.event import EVENT_CLASSES, Event, encode_envelope
from domain.registry import AGGREGATES
from tests.domain.golden.example import example_envelope

FOLDER = Path(__file__).parent


def classes() -> dict[str, type[Event]]:
    """The event classes of the project itself, by type; those that tests define for themselves aren't stored."""
    assert AGGREGATES, "importing the registry completes EVENT_CLASSES"
    return {name: cls for name, cls in EVENT_CLASSES.items() if cls.__module__.startswith("domain.")}


def path_of(cls: type[Event]) -> Path:
    return FOLDER / f"{cls.type}.v{cls.schema_version}.json"


def write_new() -> list[Path]:
    """Write what is missing; returns the new files.

    Raises:
        RuntimeError: an existing file differs from what its class stores now; nothing was written.
    """
    stored = {path_of(cls): encode_envelope(example_envelope(cls)) for cls in classes().values()}
    changed = sorted(path.name for path, content in stored.items() if path.exists() and path.read_bytes() != content)
    if changed:
        raise RuntimeError(
            f"the stored form of {', '.join(changed)} changed: a new schema_version and an upcaster are needed"
        )
    new = sorted(path for path in stored if not path.exists())
    for path in new:
        path.write_bytes(stored[path])
    return new
