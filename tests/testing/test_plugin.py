"""The pytest plugin, as somebody else's test suite would use it."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]


def test_scripted_server(pytester: pytest.Pytester) -> None:
    """The fixture is a started server, and a failure on one of its threads fails the test that used it."""
    pytester.makeconftest('pytest_plugins = ["kwsync.testing.pytest_plugin"]')
    pytester.makepyfile(
        """
        import contextlib
        import http.client
        import pytest
        from kwsync.testing import Call, Http

        def get(server):
            with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)) as connection:
                connection.request("GET", "/")
                return connection.getresponse().read()

        def test_good(scripted_server):
            scripted_server.add(Http(200, "hello"))
            assert get(scripted_server) == b"hello"

        def test_bug_in_a_script(scripted_server):
            scripted_server.add(Call(lambda request: 1 / 0))
            with pytest.raises(http.client.RemoteDisconnected):
                get(scripted_server)
        """
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*ZeroDivisionError*"])


def test_api_server(pytester: pytest.Pytester) -> None:
    """The fixture is a started server with nothing in it, for each test a new one, and is stopped afterwards."""
    pytester.makeconftest('pytest_plugins = ["kwsync.testing.pytest_plugin"]')
    pytester.makepyfile(
        """
        import socket
        import threading
        import pytest
        from kwsync.testing import ApiServer, pod

        PORTS = []

        @pytest.mark.parametrize("name", ["a", "b"])
        def test_good(api_server, name):
            assert isinstance(api_server, ApiServer)
            api_server.create(pod(name))
            PORTS.append(api_server.port)
            with api_server.client() as client:
                assert [item["metadata"]["name"] for item in client.list("pods")] == [name]

        def test_stopped():
            assert len(PORTS) == 2
            for port in PORTS:
                with pytest.raises(ConnectionRefusedError):
                    socket.create_connection(("127.0.0.1", port))
            assert [thread for thread in threading.enumerate() if "kwsync" in thread.name] == []

        def test_own_failure(api_server):
            api_server.fail_next(None)

        def test_failure_of_the_server(api_server):
            api_server.failures.append(ZeroDivisionError("on a thread"))
        """
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=4, failed=1, errors=1)
    result.stdout.fnmatch_lines(["*ZeroDivisionError: on a thread*", "*a fault is what a method of Fault gives*"])


@pytest.mark.parametrize("name", ["api_server", "scripted_server"])
def test_not_loaded_unasked(pytester: pytest.Pytester, name: str) -> None:
    """Nobody gets the fixtures without asking for the plugin."""
    pytester.makepyfile(f"def test_it({name}): pass")
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"*fixture '{name}' not found*"])
