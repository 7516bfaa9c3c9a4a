"""What a test tells its server by mistake is refused at once, with a sentence."""

from __future__ import annotations

from typing import Any

import pytest

from kwsync.testing import ApiServer, ProxyServer, ScriptedServer
from kwsync.testing._first_ones import FirstOnes
from kwsync.testing._server import LoopbackServer
from tests.testing.apiserver.wire import config_map


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"history": -1}, ValueError, "history must be at least 0, not -1"),
        ({"history": "5"}, TypeError, "history must be a whole number"),
        ({"history": 1.5}, TypeError, "history must be a whole number"),
        ({"history_bytes": -1}, ValueError, "history_bytes must be at least 0"),
        ({"watch_buffer": None}, TypeError, "watch_buffer must be a whole number"),
        ({"watch_buffer_bytes": True}, TypeError, "watch_buffer_bytes must be a whole number"),
        ({"bookmark_interval": 0}, ValueError, "bookmark_interval must be more than 0"),
        ({"bookmark_interval": "1"}, TypeError, "bookmark_interval must be a number of seconds"),
        ({"min_request_timeout": float("inf")}, ValueError, "must end"),
        ({"min_request_timeout": float("nan")}, ValueError, "must end"),
        ({"too_large_wait": -1}, ValueError, "too_large_wait must not be negative"),
        ({"port": "80"}, TypeError, "port must be a whole number"),
        ({"port": -1}, ValueError, "port must be at least 0"),
        ({"tls": "yes"}, TypeError, "tls must be True, False or a TestCA"),
        ({"now": 5}, TypeError, "now must be a function"),
    ],
    ids=str,
)
def test_server(options: dict[str, Any], error: type[Exception], words: str) -> None:
    """A server that could not be is not made."""
    with pytest.raises(error, match=words):
        ApiServer(**options)


@pytest.mark.parametrize("value", [None, [], "pod", 5, [("kind", "Pod")]], ids=str)
@pytest.mark.parametrize("verb", ["create", "replace"])
def test_objects(api_server: ApiServer, verb: str, value: Any) -> None:
    """What is no mapping is no object."""
    before = api_server.resource_version
    with pytest.raises(TypeError, match="an object is a mapping"):
        getattr(api_server, verb)(value)
    assert api_server.resource_version == before


@pytest.mark.parametrize(
    ("patch", "patch_type", "error", "words"),
    [
        (None, "merge", TypeError, "of the type merge is a mapping, not None"),
        ([], "strategic", TypeError, "of the type strategic is a mapping"),
        ("{}", "apply", TypeError, "of the type apply is a mapping"),
        ({}, "json", TypeError, "of the type json is a list of operations"),
        ("[]", "json", TypeError, "of the type json is a list of operations"),
        ({}, "nosuch", ValueError, "one of merge, json, strategic, apply, not 'nosuch'"),
    ],
)
def test_patches(api_server: ApiServer, patch: Any, patch_type: str, error: type[Exception], words: str) -> None:
    """A patch is what its type says."""
    api_server.create(config_map())
    with pytest.raises(error, match=words):
        api_server.patch("configmaps", "a", patch, patch_type=patch_type)


def test_resources(api_server: ApiServer) -> None:
    """A resource is named by a text."""
    nothing: Any = None
    with pytest.raises(TypeError, match="resource must be a str"):
        api_server.list(nothing)


@pytest.mark.parametrize("make", [ApiServer, ScriptedServer, ProxyServer])
def test_started_twice(make: type[LoopbackServer]) -> None:
    """A server of any kind that runs cannot be started; one that has stopped can."""
    with make() as server:
        port = server.port
        with pytest.raises(RuntimeError, match="started already"):
            server.start()
        server.wait_until_idle()
    server.start()
    assert server.port == port
    server.stop()


def test_troubles_are_bounded() -> None:
    """Of many failures the first are kept: a list of them does not grow for ever."""
    server = ApiServer()
    for troubles in (server.failures, server.tls_errors, server.bad_requests):
        assert isinstance(troubles, FirstOnes)
    for number in range(1500):
        server.bad_requests.append(str(number))
    assert (server.bad_requests[0], len(server.bad_requests)) == ("0", 1000)
