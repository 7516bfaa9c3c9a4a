"""Reading small secret files, with errors that name the file and never show what is in it."""

from __future__ import annotations

import os

from kwsync.credentials._protocol import CredentialError

SIZE_LIMIT = 1 << 20
"""Bytes; tokens and certificate chains have a few thousand. Guards against a path that names a device or a log."""

Stamp = tuple[int, int, int]


def as_path(path: str | os.PathLike[str]) -> str:
    """A path as text; TypeError for bytes, of which errors could not tell the name."""
    text = os.fspath(path)
    if not isinstance(text, str):
        raise TypeError(f"a path must be text, not {type(text).__name__}")
    return text


def optional_path(path: str | os.PathLike[str] | None) -> str | None:
    """A path as text, if there is one."""
    return None if path is None else as_path(path)


def read_secret(path: str) -> bytes:
    """One open, one read: a symbolic link that is swapped meanwhile gives the old content or the new, never both."""
    try:
        with open(path, "rb") as file:
            data = file.read(SIZE_LIMIT + 1)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    if len(data) > SIZE_LIMIT:
        raise CredentialError(f"the file {path} is larger than 1 MiB")
    return data


def stamp_of(path: str) -> Stamp:
    """Something that differs once the file was written or replaced."""
    try:
        state = os.stat(path)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    return state.st_mtime_ns, state.st_size, state.st_ino


def _unreadable(path: str, error: OSError | ValueError) -> CredentialError:
    # ValueError is a NUL in the path.
    detail = error.strerror if isinstance(error, OSError) else str(error)
    return CredentialError(f"the file {path} cannot be read: {detail}")
