"""Who may do what on a server, and what a user needs to come in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from kwsync.testing._tls import ClientCert, TestCA
from kwsync.testing.apiserver._access import Access, Rule
from kwsync.testing.apiserver._client import new_client
from kwsync.testing.apiserver._kubeconfig import kubeconfig

if TYPE_CHECKING:
    from kwsync.testing.apiserver._client import Client

Names = str | Iterable[str]


class Users:
    """Tokens, certificates, rights, kubeconfigs and clients. For any thread."""

    ca: TestCA | None
    """The authority of a server with TLS; it also makes client certificates."""
    url: str
    _access: Access

    def token_for(self, user: str, groups: Iterable[str] = ()) -> str:
        """A new bearer token for a user; the group `system:masters` may do everything. Older tokens stay valid."""
        return self._access.new_token(user, groups)

    def revoke(self, token: str) -> None:
        """Answer requests with this token by 401; open watches go on (A3)."""
        self._access.revoke(token)

    def certificate_for(self, user: str, group: str | None = None) -> ClientCert:
        """A client certificate for a user; for a server with TLS. RuntimeError without."""
        if self.ca is None:
            raise RuntimeError("client certificates need ApiServer(tls=True)")
        return self.ca.client_cert(user, organization=group)

    def allow(
        self,
        user: Names = (),
        *,
        verbs: Names = (),
        resources: Names = (),
        namespaces: Names = (),
        names: Names = (),
    ) -> None:
        """Let a user (or group, or several) do something; whatever is not named means everything.

        At first everybody may do everything; the last rule that fits a request counts. `deny("bob")` and then
        `allow("bob", verbs=["get", "list"], resources=["pods"])` leaves bob those two. Resources are plurals, with
        `.group` or `/status` behind them where that matters. Rights are checked when a request comes: a watch that is
        open goes on (A3).
        """
        self._access.add_rule(_rule(True, user, verbs, resources, namespaces, names))

    def deny(
        self,
        user: Names = (),
        *,
        verbs: Names = (),
        resources: Names = (),
        namespaces: Names = (),
        names: Names = (),
    ) -> None:
        """Answer with 403, as `allow` in everything else; `system:anonymous` is the user without credentials."""
        self._access.add_rule(_rule(False, user, verbs, resources, namespaces, names))

    def allow_everything(self) -> None:
        """Forget what was allowed and denied."""
        self._access.clear_rules()

    def kubeconfig(
        self,
        user: str | None = None,
        *,
        groups: Iterable[str] = (),
        namespace: str = "default",
        certificate: bool = False,
    ) -> dict[str, Any]:
        """A kubeconfig as a dictionary, to be written as JSON: for nobody, or for a user with a new token.

        With *certificate* the user has a client certificate in place of a token.
        """
        if user is None:
            return kubeconfig(self.url, self.ca, namespace, {})
        if certificate:
            cert = self.certificate_for(user, next(iter(groups), None))
            return kubeconfig(self.url, self.ca, namespace, cert)
        return kubeconfig(self.url, self.ca, namespace, {"token": self.token_for(user, groups)})

    def client(self, user: str | None = None, *, groups: Iterable[str] = ()) -> Client:
        """A new `kwsync.Client` for this server, as nobody or as a user; who asks for it closes it."""
        token = None if user is None else self.token_for(user, groups)
        return new_client(self.url, self.ca.pem if self.ca else None, token)


def _rule(allow: bool, user: Names, *rest: Names) -> Rule:
    return Rule(allow, *((given,) if isinstance(given, str) else tuple(given) for given in (user, *rest)))
