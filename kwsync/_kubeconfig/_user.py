"""A kubeconfig's user as a credential."""

from __future__ import annotations

from kwsync._kubeconfig._plugin import exec_plugin
from kwsync._kubeconfig._section import Section
from kwsync.credentials import Anonymous, BasicAuth, BearerToken, ClientCertificate, Credential, TokenFile
from kwsync.credentials._combined import Combined
from kwsync.credentials._unavailable import Unavailable

_IMPERSONATION = ("as", "as-uid", "as-groups", "as-user-extra")


def credential_of(user: Section, cluster: Section) -> Credential:
    """All that the user has, in one; anonymous for a user with nothing. *cluster* is what a plugin may be told."""
    if any(user.fields.get(key) for key in _IMPERSONATION):
        # Left out silently, requests would have the rights of the impersonator: more than was asked for.
        return _unsupported(user, "impersonates another user")
    header = _header(user) or _auth_provider(user)
    parts = [part for part in (_certificate(user), header) if part is not None]
    if len(parts) > 1:
        return Combined(parts)
    return parts[0] if parts else _plugin(user, cluster)


def _header(user: Section) -> Credential | None:
    """What goes into the header Authorization. As in client-go, a token file wins over a token."""
    token, token_file = user.text("token"), user.path("tokenFile")
    username, password = user.text("username"), user.text("password")
    if username and (token or token_file):
        raise user.error("has both a token and a user name: remove one of them")
    if token_file:
        return TokenFile(token_file, fallback=token)
    if token:
        return BearerToken(token)
    return BasicAuth(username, password or "") if username else None


def _certificate(user: Section) -> Credential | None:
    certificate, certificate_file = user.data("client-certificate-data"), user.path("client-certificate")
    key, key_file = user.data("client-key-data"), user.path("client-key")
    if not certificate and not certificate_file:
        return None
    if not key and not key_file:
        raise user.error("has a client certificate without a key: add client-key or client-key-data")
    return ClientCertificate(certificate=certificate, key=key, certificate_file=certificate_file, key_file=key_file)


def _auth_provider(user: Section) -> Credential | None:
    """Asked only where there is nothing else for the header: what stands in the file wins, as in client-go."""
    if not user.section("auth-provider", f"auth-provider of {user.label}").fields:
        return None
    advice = "pass credential=, or name the exec plugin that replaced it, as kubectl demands since 1.26"
    return _unsupported(user, "gets its credential from an auth provider", advice)


def _plugin(user: Section, cluster: Section) -> Credential:
    """Asked only where the file itself has nothing, not even a certificate, as in client-go."""
    plugin = user.section("exec", f"exec of {user.label}")
    return exec_plugin(plugin, cluster) if plugin.fields else Anonymous()


def _unsupported(user: Section, what: str, advice: str = "pass credential=") -> Credential:
    return Unavailable(f"{user.label} {what}, which is not supported yet: {advice}")
