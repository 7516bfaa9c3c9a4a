"""Who may do what on a server, and what a user needs to come in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from kwsync.testing._tls import ClientCert, TestCA
from kwsync.testing.apiserver._access import Access, Rule
from kwsync.testing.apiserver._checks import Names, as_names, check_resource, check_text, check_verb
from kwsync.testing.apiserver._client import new_client
from kwsync.testing.apiserver._impersonation import VERB as IMPERSONATE
from kwsync.testing.apiserver._kubeconfig import kubeconfig

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from kwsync.testing.apiserver._client import Client


class What(TypedDict, total=False):
    """What a rule is about, beside users."""

    verbs: Names
    resources: Names
    namespaces: Names
    names: Names


class Users:
    """Tokens, certificates, rights, kubeconfigs and clients. For any thread."""

    ca: TestCA | None
    """The authority of a server with TLS; it also makes client certificates."""
    url: str
    _access: Access

    def token_for(self, user: str, groups: Names = ()) -> str:
        """A new bearer token for a user; the group `system:masters` may do everything. Older tokens stay valid."""
        check_text("user", user)
        return self._access.new_token(user, as_names("groups", groups))

    def revoke(self, token: str) -> None:
        """Answer requests with this token by 401; open watches go on (A3)."""
        self._access.revoke(token)

    def certificate_for(self, user: str, group: str | None = None) -> ClientCert:
        """A client certificate for a user; for a server with TLS. RuntimeError without."""
        if self.ca is None:
            raise RuntimeError("client certificates need ApiServer(tls=True)")
        return self.ca.client_cert(user, organization=group)

    def allow(self, user: Names = (), **what: Unpack[What]) -> None:
        """Let a user (or group, or several) do something; whatever is not named means everything.

        At first everybody may do everything; the last rule that fits a request counts. `deny("bob")` and then
        `allow("bob", verbs=["get", "list"], resources=["pods"])` leaves bob those two. Rights are checked when a
        request comes: a watch that is open goes on (A3).

        Args:
            verbs: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`; `impersonate`, of
                users, groups and serviceaccounts, is for requests in the name of somebody else.
            resources: plurals, with `.group` or `/status` behind them where that matters.
            namespaces, names: of objects; a list or watch has a name by the selector `metadata.name=…` only.

        Each is one text or several. TypeError and ValueError for what can never fit.
        """
        self._access.add_rule(_rule(True, user, **what))

    def deny(self, user: Names = (), **what: Unpack[What]) -> None:
        """Answer with 403, as `allow` in everything else; `system:anonymous` is the user without credentials."""
        self._access.add_rule(_rule(False, user, **what))

    def allow_everything(self) -> None:
        """Forget what was allowed and denied."""
        self._access.clear_rules()

    def kubeconfig(
        self,
        user: str | None = None,
        *,
        groups: Names = (),
        namespace: str = "default",
        certificate: bool = False,
    ) -> dict[str, Any]:
        """A kubeconfig as a dictionary, to be written as JSON: for nobody, or for a user with a new token.

        With *certificate* the user has a client certificate in place of a token, in which there is one group at most.
        """
        credentials = self._credentials(user, as_names("groups", groups), certificate)
        return kubeconfig(self.url, self.ca, namespace, credentials)

    def _credentials(self, user: str | None, groups: tuple[str, ...], certificate: bool) -> dict[str, Any] | ClientCert:
        if user is None:
            return {}
        if not certificate:
            return {"token": self.token_for(user, groups)}
        if len(groups) > 1:
            raise ValueError(f"a certificate has one group at most, not {', '.join(groups)}")
        return self.certificate_for(user, *groups)

    def client(self, user: str | None = None, *, groups: Names = ()) -> Client:
        """A new `kwsync.Client` for this server, as nobody or as a user; who asks for it closes it."""
        token = None if user is None else self.token_for(user, groups)
        return new_client(self.url, self.ca.pem if self.ca else None, token)


def _rule(allow: bool, user: Names, **what: Unpack[What]) -> Rule:
    rule = Rule(allow, as_names("user", user), **{name: as_names(name, given) for name, given in what.items()})
    for verb in rule.verbs:
        check_verb(verb, IMPERSONATE)
    for resource in rule.resources:
        check_resource(resource)
    return rule
