"""The pytest plugin, as somebody else's test suite would use it."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]


def test_fixture(pytester: pytest.Pytester) -> None:
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


def test_not_loaded_unasked(pytester: pytest.Pytester) -> None:
    """Nobody gets the fixture without asking for the plugin."""
    pytester.makepyfile("def test_it(scripted_server): pass")
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*fixture 'scripted_server' not found*"])
