"""What credentials with settings have in common: absent paths, values that nobody may see, and what is told of them."""

from __future__ import annotations

import os

import attrs

from kwsync.credentials._cached import Issued
from kwsync.credentials._describe import CredentialDescription, described
from kwsync.credentials._files import as_path
from kwsync.credentials._protocol import Authorization


def optional_path(path: str | os.PathLike[str] | None) -> str | None:
    """A path as text, if there is one."""
    return None if path is None else as_path(path)


def hide(value: object) -> str:
    """For a repr: only whether there is one."""
    return "None" if value is None else "<hidden>"


def described_issue(held: Issued | None, kind: str, source: str) -> CredentialDescription:
    """What a fetch has given, if there was one: what the proof tells of itself, and the expiry that came with it."""
    found = described(Authorization() if held is None else held.authorization, kind, source)
    return found if held is None or held.expires_at is None else attrs.evolve(found, expires_at=held.expires_at)
