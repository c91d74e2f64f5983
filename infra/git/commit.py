"""Commits whose hash depends on nothing but what the caller gives."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from commands.ports.git import Signature
from domain.kernel.value import clean_text

if TYPE_CHECKING:
    from dulwich.objects import Commit

_NOT_IN_IDENTITY: Final = re.compile(r"[\x00-\x1f\x7f<>]+")


def build_commit(tree: str, parents: Sequence[str], author: Signature, committer: Signature, message: str) -> "Commit":
    """The commit object: UTF-8, UTC, a message that ends with one line feed, each parent once."""
    from dulwich.objects import Commit, ObjectID

    commit = Commit()
    commit.tree = ObjectID(tree.encode())
    commit.parents = [ObjectID(parent.encode()) for parent in dict.fromkeys(parents)]
    commit.author, commit.committer = _identity(author), _identity(committer)
    commit.author_time, commit.commit_time = author.timestamp, committer.timestamp
    commit.author_timezone = commit.commit_timezone = 0
    commit.message = clean_text(message).rstrip("\n").encode() + b"\n"
    return commit


def _identity(signature: Signature) -> bytes:
    name, email = _part(signature.name), _part(signature.email)
    return f"{name or 'unknown'} <{email.replace(' ', '')}>".encode()


def _part(raw: str) -> str:
    return _NOT_IN_IDENTITY.sub(" ", clean_text(raw)).strip()
