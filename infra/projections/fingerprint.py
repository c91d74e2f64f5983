"""The version of a read model: a hash of its tables and of the source text that computes its rows.

When it changes, the read model is rebuilt at start-up; nobody has to remember to count up a number.
"""

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from domain.kernel.value import canonical_json, sha256_hex
from projections.core import ReadModel

_IMPORT: Final = re.compile(r"^\s*(?:from|import)\s+((?:domain|projections)[\w.]*)", re.MULTILINE)


@cache
def _source(module: str) -> str:
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"no source text of module {module}")
    return Path(spec.origin).read_text(encoding="utf-8")


def _closure(module: str) -> dict[str, str]:
    """The source text of `module` and of all modules of domain and projections that it imports, by name."""
    found: dict[str, str] = {}
    left = [module]
    while left:
        name = left.pop()
        if name not in found:
            found[name] = _source(name)
            left.extend(_IMPORT.findall(found[name]))
    return found


@cache
def fingerprint(model: ReadModel) -> str:
    """The same for the same tables and the same code; no two read models share one. Computed once per process."""
    tables = [[t.name, dict(t.columns), t.key, t.indexes, t.append_only] for t in model.tables]
    modules = {handler.apply.__module__ for handler in model.handlers.values()}
    sources: dict[str, str] = {}
    for module in sorted(modules | {model.module}):
        sources.update(_closure(module))
    return sha256_hex(canonical_json([model.name, tables, sources]))
