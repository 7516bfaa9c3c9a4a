"""Ways to prove who you are, one file each, and the protocol to write your own in ten lines.

Each holds no lock and waits for nothing but the disk; each may be shared by threads and clients, and used after a fork.
"""

from __future__ import annotations

from kwsync.credentials._anonymous import Anonymous
from kwsync.credentials._basic import BasicAuth
from kwsync.credentials._bearer import BearerToken
from kwsync.credentials._certificate import ClientCertificate
from kwsync.credentials._protocol import AuthContext, Authorization, Certificate, Credential, CredentialError
from kwsync.credentials._service_account import ServiceAccount
from kwsync.credentials._token_file import TokenFile

__all__ = [
    # The protocol
    "AuthContext",
    "Authorization",
    "Certificate",
    "Credential",
    "CredentialError",
    # The ways
    "Anonymous",
    "BasicAuth",
    "BearerToken",
    "ClientCertificate",
    "ServiceAccount",
    "TokenFile",
]
