"""Microsoft Entra's access tokens, by azure-identity."""

from __future__ import annotations

import os
from contextlib import closing
from typing import Any, Literal, get_args

import attrs

from kwsync.credentials._cached import Cached, Issued
from kwsync.credentials._describe import CredentialDescription
from kwsync.credentials._fields import check_flag, check_optional_text, check_text, hide, optional_path
from kwsync.credentials._protocol import AuthContext, Authorization, CredentialError
from kwsync.credentials._reason import ask_library, load_library

SCOPE = "6dae42f8-4368-4678-94ff-3960e28e3630/.default"
"""The application that every AKS cluster with Entra is (AKS: "Use kubelogin"), in all of Azure's clouds."""

EARLY_SECONDS = 900.0
"""Before the expiry, as Backstage does it. What gives managed identities may hand out its last token until minutes
before its end; `Cached` asks it no more than a few times for that."""

TRY_SECONDS = 10.0
"""For connecting, and between two bytes of an answer; azure-core would wait for five minutes."""

PAUSE_SECONDS = 5.0
"""Before the one further try, whatever a server's Retry-After says."""

Source = Literal["client_secret", "workload_identity", "managed_identity", "default"]
_HINT = ": set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET, or run where there is a managed identity"
_SOURCES: tuple[str, ...] = get_args(Source)


@attrs.define(eq=False, kw_only=True)
class AzureEntra:
    """An access token of Microsoft Entra, as AKS takes it. Needs the extra ``kwsync[azure]``.

    *source* says whose token it is:

    - ``client_secret``: an application's, with *tenant_id*, *client_id* and *client_secret*.
    - ``workload_identity``: of a pod, or whoever has a token that Entra trusts, with *tenant_id*, *client_id* and
      *token_file* or what AKS puts into the environment for them: AZURE_TENANT_ID, AZURE_CLIENT_ID and
      AZURE_FEDERATED_TOKEN_FILE.
    - ``managed_identity``: the machine's (virtual machine, App Service, Container Apps, Arc …), or with *client_id* one
      of those that were assigned to it.
    - ``default``: the first of these that is there: what the environment says (AZURE_TENANT_ID, AZURE_CLIENT_ID and
      AZURE_CLIENT_SECRET or AZURE_CLIENT_CERTIFICATE_PATH), a workload identity, a managed identity. That is
      azure-identity's DefaultAzureCredential without whatever needs a person or a developer's program.

    Without *source* it is ``client_secret`` where there is a *client_secret*, else ``default``. *scope* is the
    application of AKS. *authority_host* (AZURE_AUTHORITY_HOST, else the public cloud's) is where Entra is, and
    *disable_instance_discovery* does not ask the public cloud whether that is true, for clouds that are cut off. Files
    and environment are read at each fetch.

    The token is fetched on a thread of its own and renewed 15 minutes before its expiry, beside the requests; as long
    as it is valid it stays in use, whatever becomes of the renewal (see `Cached`). Fetching goes through the proxies of
    the environment (HTTPS_PROXY, NO_PROXY), not the cluster's, and trusts REQUESTS_CA_BUNDLE where that is set.

    ValueError for a source that lacks something or does not exist, TypeError for an argument of a wrong kind; anything
    else that is wrong shows as `CredentialError` when it is used, in which no secret is.
    """

    source: Source | None = None
    tenant_id: str | None = attrs.field(default=None, validator=check_optional_text)
    client_id: str | None = attrs.field(default=None, validator=check_optional_text)
    client_secret: str | None = attrs.field(default=None, repr=hide, validator=check_optional_text)
    token_file: str | None = attrs.field(default=None, converter=optional_path)
    scope: str = attrs.field(default=SCOPE, validator=check_text)
    authority_host: str | None = attrs.field(default=None, validator=check_optional_text)
    disable_instance_discovery: bool = attrs.field(default=False, validator=check_flag)
    _cached: Cached = attrs.field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        if self.source is None:
            self.source = "default" if self.client_secret is None else "client_secret"
        self._check()
        self._cached = Cached(self._new_token, name="azure", early=EARLY_SECONDS)

    def authorize(self, context: AuthContext) -> Authorization:
        """The kept token, or after waiting a new one."""
        return self._cached.authorize(context)

    def refresh(self, rejected: Authorization) -> bool:
        """Drop the kept token if it is the rejected one, and not fetched a moment ago."""
        return self._cached.refresh(rejected)

    def describe(self) -> CredentialDescription:
        """Whose token it is, and how long that is good, or why there is none; nothing is fetched."""
        return self._cached.described_as("Entra access token", f"the source {self.source}")

    def _check(self) -> None:
        if self.source not in _SOURCES:
            raise ValueError(f"source must be one of {', '.join(_SOURCES)}, not {self.source!r}")
        if (self.source == "client_secret") is not (self.client_secret is not None):
            raise ValueError("client_secret= and the source client_secret belong together")
        if self.source == "client_secret" and not (self.tenant_id and self.client_id):
            raise ValueError("the source client_secret needs tenant_id= and client_id=, too")

    def _new_token(self) -> Issued:
        azure = load_library(_load, "Entra's access tokens need azure-identity", "azure")
        hint = _HINT if self.source == "default" else ""
        return ask_library(lambda: self._ask(azure), f"Entra gave no access token for the source {self.source}", hint)

    def _ask(self, azure: Any) -> Issued:
        # All is new for each fetch: azure-identity's own cache would give the old token again, after a 401 too, and an
        # hour later the connections would be dead, or another process's.
        transport = azure.core.pipeline.transport.RequestsTransport(
            connection_timeout=TRY_SECONDS, read_timeout=TRY_SECONDS
        )
        sleep = transport.sleep
        transport.sleep = lambda seconds: sleep(min(seconds, PAUSE_SECONDS))
        with closing(transport):
            credential = self._credential(azure.identity, {"transport": transport, "retry_total": 1})
            return _issued(credential.get_token(self.scope))

    def _credential(self, identity: Any, options: dict[str, Any]) -> Any:
        if self.source == "client_secret":
            return identity.ClientSecretCredential(
                self.tenant_id, self.client_id, self.client_secret, **self._entra, **options
            )
        if self.source == "workload_identity":
            return self._workload(identity, options)
        if self.source == "managed_identity":
            return identity.ManagedIdentityCredential(client_id=self.client_id, **options)
        return self._chain(identity, options)

    @property
    def _entra(self) -> dict[str, Any]:
        """Where Entra is."""
        return {"authority": self.authority_host, "disable_instance_discovery": self.disable_instance_discovery or None}

    def _workload(self, identity: Any, options: dict[str, Any]) -> Any:
        settings = self._workload_settings
        missing = [name for name, setting in settings.items() if not setting]
        if missing:
            raise CredentialError(f"the source workload_identity lacks {', '.join(missing)}")
        tenant_id, client_id, token_file = settings.values()
        return identity.WorkloadIdentityCredential(
            tenant_id=tenant_id, client_id=client_id, token_file_path=token_file, **self._entra, **options
        )

    @property
    def _workload_settings(self) -> dict[str, str | None]:
        """What is set, by the names of the arguments and of AKS's variables."""
        return {
            "tenant_id= or AZURE_TENANT_ID": self.tenant_id or os.environ.get("AZURE_TENANT_ID"),
            "client_id= or AZURE_CLIENT_ID": self.client_id or os.environ.get("AZURE_CLIENT_ID"),
            "token_file= or AZURE_FEDERATED_TOKEN_FILE": (
                self.token_file or os.environ.get("AZURE_FEDERATED_TOKEN_FILE")
            ),
        }

    def _chain(self, identity: Any, options: dict[str, Any]) -> Any:
        ways = [identity.EnvironmentCredential(**self._entra, **options)]
        if all(self._workload_settings.values()):
            ways.append(self._workload(identity, options))
        client_id = self.client_id or os.environ.get("AZURE_CLIENT_ID")
        ways.append(identity.ManagedIdentityCredential(client_id=client_id, **options))
        return identity.ChainedTokenCredential(*ways)


def _issued(answer: Any) -> Issued:
    if not isinstance(answer.token, str):
        raise CredentialError("Entra's answer holds no access token")
    return Issued(Authorization.bearer(answer.token), float(answer.expires_on))


def _load() -> Any:
    """The one seam to azure-identity."""
    import azure.core.pipeline.transport
    import azure.identity

    return azure
