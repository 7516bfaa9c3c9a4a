"""Which cluster as whom, in words: what ``kwsync auth check`` tells before it asks the server. Pure but for the files
that the description of a credential looks at, and the environment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kwsync import Client, Cluster, ConfigError, ErrorOrigin, ErrorType, WatchError
from kwsync.cli._errors import location
from kwsync.cli._times import duration, written
from kwsync.credentials import CredentialDescription

SOON_SECONDS = 24 * 3600.0
"""What ends within that time is worth a word, if nobody keeps it fresh: files and plugins are read or asked again."""


def identity_of(client: Client, who: CredentialDescription, now: float) -> dict[str, Any]:
    """The document of ``-o json``; what is not known is null. *who* describes the client's credential."""
    cluster, origin = client.cluster, client.cluster.origin
    return {
        "source": origin and origin.kind,
        "files": list(origin.files) if origin else [],
        "context": (origin and origin.context) or None,
        "cluster": {
            "name": cluster.name or None,
            "server": location(client),
            **_proxy(client),
            "certificateAuthority": _authority(cluster),
            "tlsServerName": cluster.tls_server_name,
            "insecure": cluster.skip_tls_verify,
            "namespace": cluster.namespace,
        },
        "user": {
            "name": (origin and origin.user) or None,
            "credential": who.kind,
            "source": who.source or None,
            "says": who.user or None,
            "groups": list(who.groups),
            "validFrom": _moment(who.begins_at),
            "validUntil": _moment(who.expires_at),
        },
        "warnings": list(_warnings(cluster, who, now)),
    }


def _moment(seconds: float | None) -> str | None:
    return None if seconds is None else written(seconds)


def _proxy(client: Client) -> dict[str, str | None]:
    try:
        url = client.proxy_url
    except ConfigError:
        url = None
    source = "proxy-url" if client.cluster.proxy_url else "the environment"
    return {"proxy": url, "proxySource": url and source}


def problem_of(client: Client, who: CredentialDescription) -> WatchError | None:
    """Why no request can be made, as far as it shows without one: as the error that a request would give."""
    problem, code = who.problem, 401
    if problem is None:
        try:
            client.proxy_url  # noqa: B018 - which looks at the server's URL, too
        except ConfigError as error:
            problem, code = str(error), 0
    if problem is None:
        return None
    kind = ErrorType.UNAUTHORIZED_ERROR if code else ErrorType.SYSTEM_ERROR
    return WatchError(error_type=kind, origin=ErrorOrigin.CONFIG, status_code=code, message=problem)


def _authority(cluster: Cluster) -> str | None:
    if cluster.skip_tls_verify or not cluster.server.startswith("https:"):
        return None
    if cluster.ca_file is not None:
        return str(cluster.ca_file)
    return "data in the configuration" if cluster.ca_data else "the system's"


def _warnings(cluster: Cluster, who: CredentialDescription, now: float) -> Iterator[str]:
    if not cluster.server.startswith("https:"):
        yield "the connection is not encrypted: whoever is on the way can read the credential"
    elif cluster.skip_tls_verify:
        yield "the server's certificate is not verified: anybody on the way can be the server"
    if who.begins_at is not None and who.begins_at > now:
        yield f"the credential is not valid yet: it begins in {duration(who.begins_at - now)}"
    if who.expires_at is not None and who.expires_at <= now:
        yield f"the credential has expired, {duration(now - who.expires_at)} ago"
    elif who.expires_at is not None and who.expires_at - now < SOON_SECONDS and not who.source:
        yield f"the credential expires in {duration(who.expires_at - now)}"
    yield from who.notes


def lines_of(identity: Mapping[str, Any]) -> list[str]:
    """The same for people."""
    cluster, user = identity["cluster"], identity["user"]
    says = user["says"] and " in ".join(filter(None, [user["says"], ", ".join(user["groups"])]))
    rows = [
        ("configuration", identity["source"]),
        ("files", ", ".join(identity["files"])),
        ("context", identity["context"]),
        ("cluster", cluster["name"]),
        ("server", cluster["server"]),
        ("proxy", _from(cluster["proxy"], cluster["proxySource"])),
        ("authority", cluster["certificateAuthority"]),
        ("TLS server name", cluster["tlsServerName"]),
        ("namespace", cluster["namespace"]),
        ("user", user["name"]),
        ("credential", _from(user["credential"], user["source"])),
        ("it says", says),
        ("valid from", user["validFrom"]),
        ("valid until", user["validUntil"]),
        *(("warning", warning) for warning in identity["warnings"]),
    ]
    width = max(len(label) for label, _ in rows)
    return [f"{label:<{width}}   {value}" for label, value in rows if value]


def _from(value: str | None, source: str | None) -> str | None:
    return f"{value} from {source}" if value and source else value
