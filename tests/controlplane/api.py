"""One HTTP request to an API server, with the standard library only: nothing is shared with kwsync."""

import http.client
import json
import ssl
from typing import Any, NamedTuple
from urllib.parse import urlsplit

REQUEST_LIMIT = 10.0  # seconds; the server itself answers a read it cannot serve after three


class Reply(NamedTuple):
    """A status code and its body: decoded if it is JSON, else text."""

    status: int
    body: Any

    def checked(self) -> Any:
        """Return the body of a success; anything else is an error in the set-up of a test."""
        if self.status >= 400:
            raise AssertionError(f"the API server answered {self.status}: {self.body}")
        return self.body


def send(
    url: str,
    method: str,
    path: str,
    *,
    body: Any = None,
    token: str = "",
    tls: ssl.SSLContext | None = None,
    limit: float = REQUEST_LIMIT,
) -> Reply:
    """Send one request on a connection of its own and read the whole answer."""
    host = urlsplit(url).netloc
    if tls is None:
        connection = http.client.HTTPConnection(host, timeout=limit)
    else:
        connection = http.client.HTTPSConnection(host, timeout=limit, context=tls)
    try:
        connection.request(method, path, _encoded(body), _headers(method, token))
        response = connection.getresponse()
        return Reply(response.status, _decoded(response))
    finally:
        connection.close()


def _encoded(body: Any) -> bytes | None:
    return None if body is None else json.dumps(body).encode()


def _headers(method: str, token: str) -> dict[str, str]:
    content = "application/merge-patch+json" if method == "PATCH" else "application/json"
    headers = {"Accept": "application/json", "Content-Type": content}
    return {**headers, "Authorization": f"Bearer {token}"} if token else headers


def _decoded(response: http.client.HTTPResponse) -> Any:
    content = response.read()
    if response.headers.get_content_type() == "application/json":
        return json.loads(content)
    return content.decode()
