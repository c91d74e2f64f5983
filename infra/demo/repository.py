"""The sample application as a repository with one commit, whose hash is the same everywhere."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

GOAL: Final = "Let greet shout and repeat itself: --shout and --times, with tests"
SCRIPT: Final = Path(__file__).with_name("script.toml")
PLAN: Final = Path(__file__).with_name("plan.yaml")
_APPLICATION: Final = Path(__file__).with_name("sample-application")
_WHEN: Final = "2026-01-01T00:00:00+00:00"


class DemoError(Exception):
    """The demo's repository can't be made; the text says why."""


def make_demo_repository(folder: Path) -> Path:
    """Make `folder` the sample application's repository; one that is there already stays as it is.

    It is made beside its place and renamed, so that what is there is whole.

    Raises:
        DemoError: something else lies there, or git fails.
    """
    if (folder / ".git").is_dir():
        return folder
    if folder.exists() and any(folder.iterdir()):
        raise DemoError(f"{folder} isn't empty and isn't the demo's repository: name another folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".demo-", dir=folder.parent) as scratch:
        made = Path(scratch, "repository")
        shutil.copytree(_APPLICATION, made, ignore=shutil.ignore_patterns("__pycache__"), copy_function=shutil.copyfile)
        for arguments in (
            ("init", "-q", "--initial-branch=main", "--template="),
            ("add", "-A"),
            ("commit", "-q", "-m", "A command that greets"),
        ):
            _git(made, *arguments)
        if folder.exists():
            folder.rmdir()
        made.rename(folder)
    return folder


def _git(folder: Path, *arguments: str) -> None:
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(folder),
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        **{f"GIT_{who}_NAME": "Rhumbline demo" for who in ("AUTHOR", "COMMITTER")},
        **{f"GIT_{who}_EMAIL": "demo@rhumbline.invalid" for who in ("AUTHOR", "COMMITTER")},
        **{f"GIT_{who}_DATE": _WHEN for who in ("AUTHOR", "COMMITTER")},
    }
    try:
        subprocess.run(["git", *arguments], cwd=folder, env=environment, check=True, capture_output=True)
    except FileNotFoundError as error:
        raise DemoError("git isn't installed") from error
    except subprocess.CalledProcessError as error:
        raise DemoError(f"git {arguments[0]} failed: {error.stderr.decode(errors='replace').strip()[:500]}") from error
