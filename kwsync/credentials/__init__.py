"""Ways to prove who you are, one file each, and the protocol to write your own in ten lines.

Each may be shared by threads and clients, and used after a fork. Most wait for nothing but the disk; what has to be
fetched (by a program, from a cloud) is fetched by a `Cached`, whose waits can be cancelled.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from kwsync.credentials._anonymous import Anonymous
from kwsync.credentials._basic import BasicAuth
from kwsync.credentials._bearer import BearerToken
from kwsync.credentials._cached import Cached, Issued
from kwsync.credentials._certificate import ClientCertificate
from kwsync.credentials._describe import CredentialDescription, describe
from kwsync.credentials._protocol import AuthContext, Authorization, Certificate, Credential, CredentialError
from kwsync.credentials._service_account import ServiceAccount
from kwsync.credentials._token_file import TokenFile

if TYPE_CHECKING:
    from kwsync.credentials._aws import AwsEks
    from kwsync.credentials._azure import AzureEntra
    from kwsync.credentials._exec import ExecPlugin
    from kwsync.credentials._google import GoogleServiceAccount

__all__ = [
    # The protocol
    "AuthContext",
    "Authorization",
    "Cached",
    "Certificate",
    "Credential",
    "CredentialDescription",
    "CredentialError",
    "Issued",
    "describe",
    # The ways
    "Anonymous",
    "AwsEks",
    "AzureEntra",
    "BasicAuth",
    "BearerToken",
    "ClientCertificate",
    "ExecPlugin",
    "GoogleServiceAccount",
    "ServiceAccount",
    "TokenFile",
]

_LATER = {
    "AwsEks": "_aws",
    "AzureEntra": "_azure",
    "ExecPlugin": "_exec",
    "GoogleServiceAccount": "_google",
}
"""Ways that need much (a program's start, a cloud's library), and their rooms: who goes another way does not wait."""


def __getattr__(name: str) -> Any:
    room = _LATER.get(name)
    if room is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(importlib.import_module(f"{__name__}.{room}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
