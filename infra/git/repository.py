"""Making and opening the bare repository of a project."""

import os
import re
import secrets
import shutil
from pathlib import Path
from typing import Final

from infra.claim import claim, claimed
from infra.git.durable import sync_folder, write_file
from infra.git.process import EMPTY_TREE, GitFailed, executable, git, line
from infra.git.quarantine import sweep

INSTALLATION_KEY: Final = "rhumbline.installation"

_INSTALLATION: Final = re.compile(r"[A-Za-z0-9_.:-]{1,200}")

_CONFIG: Final = f"""\
[core]
\trepositoryFormatVersion = 1
\tbare = true
\tfileMode = true
\tlogAllRefUpdates = false
\t# A commit that an event names is on disk before the event is.
\tfsync = all
\t# The sandbox's user reads objects when it checks out; the folder above keeps everyone else out.
\tsharedRepository = 0644
[extensions]
\t# No command of git then removes an object: not gc --prune=now, prune, repack -d of a person either.
\tpreciousObjects = true
[gc]
\tauto = 0
[maintenance]
\tauto = false
[attr]
\t# Newer versions read attributes from HEAD in a bare repository; a merge must not depend on what main is.
\ttree = {EMPTY_TREE}
"""


class InstallationMismatch(Exception):
    """A canonical repository that belongs to another installation: using it would mix two logs."""


def open_or_create(path: Path, installation_id: str) -> None:
    """Make sure that `path` is a canonical repository of this installation; several processes may do so at once.

    Raises:
        InstallationMismatch: it belongs to another installation, or to none.
        GitMissing: no usable git on this machine.
        ValueError: an installation ID that no configuration file can hold as it is.
    """
    executable()
    if not _INSTALLATION.fullmatch(installation_id):
        raise ValueError(f"not an installation ID: {installation_id!r}")
    if not path.exists():
        _create(path, installation_id)
    _require_ours(path, installation_id)
    sweep(path)


def _create(path: Path, installation_id: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    draft.mkdir()
    held = claim(draft)
    try:
        git("init", "-q", "--bare", "--template=", "--shared=0644", "--object-format=sha1", "-b", "main", str(draft))
        (draft / "config").unlink()
        write_file(draft / "config", f'{_CONFIG}[rhumbline]\n\tinstallation = "{installation_id}"\n'.encode())
        draft.rename(path)
        sync_folder(path.parent)
    except OSError:
        # Another process was first: its repository is as good, and is checked like any other.
        if not path.exists():
            raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        if held is not None:
            os.close(held)


def sweep_drafts(folder: Path) -> None:
    """Remove repositories that killed processes were making in `folder`. Safe at any time: what is in use is held."""
    for draft in folder.glob(".*.git.*"):
        with claimed(draft) as ours:
            if ours:
                shutil.rmtree(draft, ignore_errors=True)


def _require_ours(path: Path, installation_id: str) -> None:
    try:
        found = line("config", "--file", str(path / "config"), "--default", "", "--get", INSTALLATION_KEY)
    except GitFailed as error:
        raise InstallationMismatch(f"{path} isn't a repository of this installation: {error.stderr}") from error
    if found != installation_id:
        raise InstallationMismatch(
            f"{path} belongs to {'installation ' + found if found else 'no installation'}, and this is installation "
            f"{installation_id}; the store and its repositories must be moved or restored together"
        )


def write_fork(git_dir: Path, canonical: Path, attributes: bytes = b"") -> None:
    """Write a bare repository that borrows all objects of `canonical`, without starting a process."""
    objects = git_dir / "objects"
    (objects / "info").mkdir(parents=True)
    (objects / "pack").mkdir()
    (git_dir / "refs").mkdir()
    (git_dir / "info").mkdir()
    (git_dir / "info" / "attributes").write_bytes(attributes)
    (git_dir / "HEAD").write_bytes(b"ref: refs/heads/main\n")
    (git_dir / "config").write_bytes(_FORK_CONFIG)
    (objects / "info" / "alternates").write_bytes(os.fsencode(canonical / "objects") + b"\n")
    for place in (git_dir, *git_dir.rglob("*")):
        # Whatever the umask: the sandbox's user reads it.
        place.chmod(0o755 if place.is_dir() else 0o644)


_FORK_CONFIG: Final = b"""[core]
\trepositoryFormatVersion = 0
\tbare = false
\tfileMode = true
\tsymlinks = true
\tignoreCase = false
\tprecomposeUnicode = false
\tprotectHFS = true
\tprotectNTFS = true
\tfsync = none
\tautocrlf = false
[gc]
\tauto = 0
"""
"""No base is kept here, and what counts is copied to canonical, synced: so nothing is synced here."""
