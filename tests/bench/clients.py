"""How the measurements that run in one process call kwsync."""

from __future__ import annotations

from kwsync import Client, Cluster
from kwsync.credentials import Anonymous


def client_for(url: str, proxy_url: str | None = None) -> Client:
    """A client without credentials."""
    return Client(Cluster(url, proxy_url=proxy_url), Anonymous())
