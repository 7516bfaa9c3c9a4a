"""Names that only the server can explain."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kwsync import Client, ErrorOrigin, ErrorType, Resource, WatchError, watch_resource
from kwsync.testing import End, Event, Head, Http, List, Reply, Request, ScriptedServer, Step, pod, status
from tests.client.support import failure


def entry(plural: str, kind: str, *short_names: str, namespaced: bool = True) -> dict[str, Any]:
    """A resource as aggregated discovery tells it."""
    return {
        "resource": plural,
        "responseKind": {"group": "", "version": "", "kind": kind},
        "scope": "Namespaced" if namespaced else "Cluster",
        "singularResource": kind.lower(),
        "verbs": ["get", "list", "watch"],
        "shortNames": list(short_names),
        "subresources": [{"subresource": "status", "responseKind": {"kind": kind}}],
    }


GROUPS: dict[str, dict[str, list[dict[str, Any]]]] = {
    "": {"v1": [entry("pods", "Pod", "po"), entry("gadgets", "Gadget", namespaced=False)]},
    "stable.example.com": {
        "v2": [entry("crontabs", "CronTab", "ct", "cront")],
        "v1": [entry("crontabs", "CronTab", "ct"), entry("oldtabs", "OldTab")],
    },
    "other.example.com": {"v1beta1": [entry("crontabs", "CronTab"), entry("sites", "Site", namespaced=False)]},
}

CRONTABS = Resource("stable.example.com", "v2", "crontabs")

NAMES = [
    ("crontabs", CRONTABS, True, "CronTab"),
    ("crontab", CRONTABS, True, "CronTab"),
    ("CronTab", CRONTABS, True, "CronTab"),
    ("CRONTABS", CRONTABS, True, "CronTab"),
    ("ct", CRONTABS, True, "CronTab"),
    ("cront", CRONTABS, True, "CronTab"),
    ("crontabs.stable.example.com", CRONTABS, True, "CronTab"),
    ("ct.stable.example.com", CRONTABS, True, "CronTab"),
    ("crontabs.v1.stable.example.com", Resource("stable.example.com", "v1", "crontabs"), True, "CronTab"),
    ("stable.example.com/v1/crontabs", Resource("stable.example.com", "v1", "crontabs"), True, "CronTab"),
    ("crontabs.other.example.com", Resource("other.example.com", "v1beta1", "crontabs"), True, "CronTab"),
    ("oldtab", Resource("stable.example.com", "v1", "oldtabs"), True, "OldTab"),
    ("sites", Resource("other.example.com", "v1beta1", "sites"), False, "Site"),
    ("gadget", Resource("", "v1", "gadgets"), False, "Gadget"),
    ("gadgets.v1", Resource("", "v1", "gadgets"), False, "Gadget"),
    ("v1/gadgets", Resource("", "v1", "gadgets"), False, "Gadget"),
    ("po", Resource("", "v1", "pods"), True, "Pod"),
]


def aggregated(request: Request) -> Step:
    """A server of 1.26 or later: two documents tell everything."""
    if request.path not in ("/api", "/apis"):
        return Http(404, "404 page not found\n")
    items = [
        {
            "metadata": {"name": group} if group else {},
            "versions": [{"version": name, "resources": found} for name, found in versions.items()],
        }
        for group, versions in GROUPS.items()
        if (request.path == "/api") == (group == "")
    ]
    return Http(200, {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": items})


def legacy(request: Request) -> Step:
    """An older server: one document for each version of each group."""
    if request.path == "/api":
        return Http(200, {"kind": "APIVersions", "versions": ["v1"]})
    if request.path == "/apis":
        groups = [
            {"name": group, "versions": [{"groupVersion": f"{group}/{name}", "version": name} for name in versions]}
            for group, versions in GROUPS.items()
            if group
        ]
        return Http(200, {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
    *_, group, version = request.path.split("/")
    found = GROUPS.get("" if group == "api" else group, {}).get(version)
    return Http(200, legacy_list(found)) if found else Http(404, "404 page not found\n")


def legacy_list(found: list[dict[str, Any]]) -> dict[str, Any]:
    """The resources of one version, with a subresource behind each."""
    resources: list[dict[str, Any]] = []
    for one in found:
        plain = {
            "name": one["resource"],
            "singularName": one["singularResource"],
            "namespaced": one["scope"] == "Namespaced",
            "kind": one["responseKind"]["kind"],
            "shortNames": one["shortNames"],
        }
        resources += [plain, {**plain, "name": f"{one['resource']}/status", "shortNames": None}]
    return {"kind": "APIResourceList", "resources": resources}


@pytest.mark.parametrize("answers", [aggregated, legacy])
class TestNames:
    @pytest.mark.parametrize(("name", "resource", "namespaced", "kind"), NAMES)
    def test_found(
        self,
        server: ScriptedServer,
        client: Client,
        answers: Any,
        name: str,
        resource: Resource,
        namespaced: bool,
        kind: str,
    ) -> None:
        """A plural, singular, kind or short name is found, alone or with its group and version, in any letter case."""
        server.default = (Reply(answers),)
        found = client.discover(name)
        assert (found, found.namespaced, found.kind) == (resource, namespaced, kind)

    @pytest.mark.parametrize("name", ["nothing", "crontabs.v3.stable.example.com", "pods/status", "ct/status", ""])
    def test_unknown(self, server: ScriptedServer, client: Client, answers: Any, name: str) -> None:
        """What the server does not have is NOT_FOUND 404, and so is a subresource."""
        server.default = (Reply(answers),)
        error = failure(lambda: client.discover(name))
        assert (error.error_type, error.status_code) == (ErrorType.NOT_FOUND, 404)
        assert repr(name) in error.message

    def test_cost(self, server: ScriptedServer, client: Client, answers: Any) -> None:
        """Aggregated discovery needs two requests at most; without it each version is asked for, until it is found."""
        server.default = (Reply(answers),)
        client.discover("sites")
        expected = ["/api", "/apis"]
        if answers is legacy:
            expected = ["/api", "/api/v1", "/apis", *(f"/apis/{g}/{v}" for g in GROUPS if g for v in GROUPS[g])]
        assert [request.path for request in server.requests] == expected
        assert server.connections_accepted == 1

    def test_in_verbs(self, server: ScriptedServer, client: Client, answers: Any) -> None:
        """Verbs take such names as well, and ask first; a name that is built in needs no request."""
        path = "/apis/stable.example.com/v2/namespaces/ns/crontabs"
        server.on(path, List("1", []))
        server.on("/api/v1/namespaces/ns/pods", List("1", []))
        server.default = (Reply(answers),)
        assert client.list("ct", "ns").resource_version == "1"
        assert server.requests[-1].path == path
        before = len(server.requests)
        client.list("po", "ns")
        assert len(server.requests) == before + 1

    def test_in_watches(self, server: ScriptedServer, client: Client, answers: Any) -> None:
        """Watches do as well; a name that nobody knows is one ERROR event."""
        server.on(lambda request: request.is_watch, Head(), Event("ADDED", pod("a")), End())
        server.default = (Reply(answers),)
        assert [event.type for event in watch_resource("ct", client=client)] == ["ADDED"]
        assert server.requests[-1].path == "/apis/stable.example.com/v2/crontabs"
        (event,) = watch_resource("nothing", client=client)
        assert event.error is not None
        assert event.error.error_type is ErrorType.NOT_FOUND


class TestTrouble:
    @pytest.mark.parametrize("answer", [Http(404, "404 page not found\n"), Http(503, "service unavailable\n")])
    def test_one_group_away(self, server: ScriptedServer, client: Client, answer: Http) -> None:
        """A group whose own server is away does not hide the others."""
        server.on("/apis/stable.example.com/v2", answer)
        server.on("/apis/stable.example.com/v1", answer)
        server.default = (Reply(legacy),)
        assert client.discover("crontabs").group == "other.example.com"

    @pytest.mark.parametrize("path", ["/api", "/apis", "/apis/stable.example.com/v2"])
    @pytest.mark.parametrize("code", [401, 403, 429, 500])
    def test_refused(self, server: ScriptedServer, client: Client, path: str, code: int) -> None:
        """Any other error is told as it is: the name may stand in what could not be read."""
        server.on(path, Http(code, status(code, "Reason")))
        server.default = (Reply(legacy),)
        error = failure(lambda: client.discover("sites"))
        assert (error.status_code, error.resource_path) == (code, path)

    @pytest.mark.parametrize("answer", [Http(200, "html"), Http(200, []), Http(200, b"{")])
    def test_no_object(self, server: ScriptedServer, client: Client, answer: Http) -> None:
        """An answer that is no JSON object is an error DECODE."""
        server.default = (answer,)
        assert failure(lambda: client.discover("sites")).origin is ErrorOrigin.DECODE


WORDS = [
    "",
    "v1",
    "pods",
    "widgets",
    "widget",
    "example.com",
    "wd",
    "a b",
    "a/b",
    "..",
    "a\r\nb: c",
    "ä",
    "\ud800",
    "?#%",
]
KEYS = ["kind", "groups", "items", "versions", "version", "resources", "resource", "name", "metadata", "responseKind"]
KEYS += ["scope", "namespaced", "shortNames", "singularName", "singularResource"]
KINDS = ["APIGroupDiscoveryList", "APIVersions", "APIGroupList", "Status", "Namespaced"]

scalars = st.none() | st.booleans() | st.integers() | st.sampled_from(WORDS) | st.sampled_from(KINDS)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5)
)


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """A discovery document of the right kind, most of whose parts are anything."""

    def some(value: Any) -> Any:
        return draw(values) if draw(st.integers(0, 9)) == 0 else value

    def word() -> str:
        return draw(st.sampled_from(WORDS))

    found = {
        "resource": word(),
        "name": word(),
        "responseKind": some({"kind": "Widget"}),
        "kind": some("Widget"),
        "scope": some("Cluster"),
        "namespaced": some(True),
        "shortNames": some(["wd"]),
    }
    version = some({"version": word(), "resources": some([some(found), draw(values)])})
    group = some({"metadata": some({"name": word()}), "name": word(), "versions": some([version, draw(values)])})
    return {
        "kind": some(draw(st.sampled_from(KINDS))),
        "items": some([group]),
        "groups": some([group]),
        "versions": some([word()]),
        "resources": some([found]),
    }


class TestAnyShape:
    @settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(answer=documents() | st.dictionaries(st.sampled_from(KEYS), values, max_size=5), name=st.sampled_from(WORDS))
    def test_discover(self, server: ScriptedServer, client: Client, answer: dict[str, Any], name: str) -> None:
        """Whatever the server answers, discovery gives a Resource with a path or raises a WatchError."""
        body = json.dumps(answer).encode()
        server.default = (Http(200, body, {"Content-Type": "application/json"}),)
        try:
            found = client.discover(name)
        except WatchError:
            return
        assert found.path().startswith("/api")
