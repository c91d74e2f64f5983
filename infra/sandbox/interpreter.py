"""The Python that runs this process, as the sandbox can show it: the base installation, never its packages."""

import sys
from pathlib import Path


def python_binary() -> Path:
    """The real interpreter, behind the links of a virtual environment."""
    return Path(sys.executable).resolve()


def interpreter_folders() -> tuple[Path, ...]:
    """What must be readable for `python_binary` to start."""
    prefixes = {Path(sys.base_prefix).resolve(), Path(sys.base_exec_prefix).resolve()}
    binary = python_binary()
    inside = any(binary.is_relative_to(prefix) for prefix in prefixes)
    return (*sorted(prefixes), *(() if inside else (binary,)))
