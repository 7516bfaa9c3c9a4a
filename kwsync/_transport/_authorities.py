"""Whom a cluster's servers are signed by: from data, or from a file that somebody else keeps fresh."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import TypeVar

import attrs

from kwsync._cluster import Cluster
from kwsync.credentials import CredentialError
from kwsync.credentials._files import Stamp, read_secret, stamp_of
from kwsync.credentials._pem import pem_of
from kwsync.errors import ConfigError

_T = TypeVar("_T")

_log = logging.getLogger("kwsync.transport")


@attrs.frozen
class _Reading:
    stamp: Stamp
    pem: str


class Authorities:
    """The authorities of one cluster. Threads only ever swap what is kept for another whole one.

    A file is looked at before each request and read again when time, size or inode have changed. What cannot be read
    then, or holds no certificate, changes nothing: the last authorities stay in use (client-go,
    ``transport/ca_rotation.go``), and a warning says so once.
    """

    def __init__(self, cluster: Cluster, check: Callable[[str], None]) -> None:
        self._cluster = cluster
        self._check = check
        self._data: str | None = None
        self._last: _Reading | None = None
        self._refused: Stamp | None = None
        self._complaint: str | None = None

    def pem(self) -> str | None:
        """None for the system's. The file wins over the data. ConfigError as long as there never were any."""
        cluster = self._cluster
        if cluster.skip_tls_verify:
            return None
        if cluster.ca_file is not None:
            return self._of_file(os.fspath(cluster.ca_file))
        if cluster.ca_data and self._data is None:
            self._data = _decoded(cluster.ca_data)
        return self._data

    def _of_file(self, path: str) -> str:
        last = self._last
        try:
            stamp = _about_file(stamp_of, path)
            if last is None or stamp not in (last.stamp, self._refused):
                self._last = last = self._read(path, stamp)
        except ConfigError as error:
            if last is None:
                raise
            self._complain(str(error))
        return last.pem

    def _read(self, path: str, stamp: Stamp) -> _Reading:
        # Bundles have comments in all languages between the certificates, and ssl takes ASCII alone.
        pem = _about_file(read_secret, path).decode("ascii", "ignore")
        try:
            self._check(pem)
        except ConfigError:
            self._refused = stamp  # of before the reading: what is written meanwhile has another
            raise
        self._refused = self._complaint = None
        return _Reading(stamp, pem)

    def _complain(self, complaint: str) -> None:
        if complaint != self._complaint:
            self._complaint = complaint
            _log.warning("the last authorities stay in use: %s", complaint)


def _about_file(ask: Callable[[str], _T], path: str) -> _T:
    try:
        return ask(path)
    except CredentialError as error:  # which would count as a 401
        raise ConfigError(f"the certificate authority cannot be had: {error}") from error


def _decoded(given: str | bytes) -> str:
    pem = pem_of(given)
    if pem is None:
        raise ConfigError("the cluster's ca_data is neither PEM nor base64 of PEM")
    return pem.decode("ascii", "ignore")
