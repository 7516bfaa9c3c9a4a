"""A TLS client certificate, from memory or from files that somebody else keeps fresh."""

from __future__ import annotations

import logging

import attrs

from kwsync._cluster import hide
from kwsync.credentials._describe import CredentialDescription, described_by
from kwsync.credentials._files import Stamp, optional_path, read_secret, stamp_of
from kwsync.credentials._pem import is_whole, pem_of
from kwsync.credentials._protocol import AuthContext, Authorization, Certificate, CredentialError

_log = logging.getLogger("kwsync.credentials")


@attrs.frozen
class _Loaded:
    stamps: tuple[Stamp, ...]
    authorization: Authorization


@attrs.define(eq=False, kw_only=True)
class ClientCertificate:
    """A client certificate and its key: *certificate* or *certificate_file*, and *key* or *key_file*.

    Data is PEM, or base64 of PEM (as in a kubeconfig), as text or bytes, and wins over a file; a file is PEM. Files
    are looked at before each request and read again when time, size or inode have changed; what cannot be read then, is
    only half written, or is no pair, changes nothing: the last pair stays in use. ValueError when neither data nor file
    is given; CredentialError, at the request, when there never was a usable pair.

    When the server has accepted a request with a new certificate, the client's connections made with the old one are
    closed: a running watch then ends with an error NETWORK that says so, and whatever follows goes on at once. Since
    nothing looks at the files while nothing is asked, an old certificate lives as long as the watches that run: of
    `list_and_watch` about five minutes, of `watch_resource` its ``timeout_seconds``, or an hour. (client-go looks every
    five minutes, too.)
    """

    certificate: str | bytes | None = attrs.field(default=None, repr=hide)
    key: str | bytes | None = attrs.field(default=None, repr=hide)
    certificate_file: str | None = attrs.field(default=None, converter=optional_path)
    key_file: str | None = attrs.field(default=None, converter=optional_path)
    # Threads only ever swap this for another whole one.
    _last: _Loaded | None = attrs.field(default=None, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        if self.certificate is None and self.certificate_file is None:
            raise ValueError("a client certificate needs certificate= or certificate_file=")
        if self.key is None and self.key_file is None:
            raise ValueError("a client certificate needs key= or key_file=")

    def authorize(self, context: AuthContext) -> Authorization:  # noqa: ARG002
        """The pair; the very same value as before while the files are the same."""
        last = self._last
        try:
            if last is None or last.stamps != self._stamps():
                self._last = last = self._load()
        except CredentialError as error:
            if last is None:
                raise
            _log.warning("the client certificate cannot be read again, the last one stays in use: %s", error)
        return last.authorization

    def refresh(self, rejected: Authorization) -> bool:
        """Read at once, whatever the files' times say; True when the pair is now another than the rejected one."""
        try:
            self._last = self._load()
        except CredentialError as error:
            _log.warning("the client certificate cannot be read again: %s", error)
        last = self._last
        return last is not None and last.authorization.certificate != rejected.certificate

    def describe(self) -> CredentialDescription:
        """What the certificate tells of itself."""
        files = dict.fromkeys(file for file in (self.certificate_file, self.key_file) if file is not None)
        return described_by(self.authorize, "client certificate", ", ".join(files))

    def _load(self, tries: int = 3) -> _Loaded:
        """Both halves of one state: files that are swapped while they are read are read once more."""
        stamps = self._stamps()
        certificate = _pem(self.certificate, self.certificate_file, "certificate")
        key = _pem(self.key, self.key_file, "key")
        if tries > 1 and self._stamps() != stamps:
            return self._load(tries - 1)
        return _Loaded(stamps, Authorization(certificate=Certificate(certificate, key)))

    def _stamps(self) -> tuple[Stamp, ...]:
        halves = ((self.certificate, self.certificate_file), (self.key, self.key_file))
        return tuple(stamp_of(file) for data, file in halves if data is None and file is not None)


def _pem(data: str | bytes | None, path: str | None, what: str) -> bytes:
    """What is neither PEM nor base64 of it never appears in the error."""
    if data is not None:
        pem = pem_of(data)
        if pem is None:
            raise CredentialError(f"the data of the client {what} is neither PEM nor base64 of PEM")
        return pem
    assert path is not None, "one of both is there, else there would be no object"
    pem = read_secret(path)
    if not is_whole(pem):
        raise CredentialError(f"the client {what} in {path} is not PEM, or not all of it")
    return pem
