"""The seam to the client: the one place in `kwsync.testing` that knows what it is there to test."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kwsync import Client

__all__ = ["Client", "new_client"]


def new_client(url: str, ca: bytes | None, token: str | None) -> Client:
    """A `kwsync.Client` for a server; without a token it is nobody's."""
    # Imported when it is asked for: everything else works whatever becomes of the client.
    from kwsync import Client, Cluster
    from kwsync.credentials import Anonymous, BearerToken

    return Client(Cluster(url, ca_data=ca), Anonymous() if token is None else BearerToken(token))
