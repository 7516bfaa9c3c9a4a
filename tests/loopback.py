"""Keeps the tests of this process on the loopback interface."""

import ipaddress
import socket
import sys


def guard() -> None:
    """From now on refuse to connect to any other address; an audit hook cannot be removed."""
    sys.addaudithook(_check)


def _check(event: str, arguments: tuple[object, ...]) -> None:
    if event == "socket.connect":
        connecting, address = arguments
        if isinstance(connecting, socket.socket) and isinstance(address, tuple) and not _is_loopback(str(address[0])):
            raise RuntimeError(f"tests connect to loopback addresses only, not to {address!r}")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return host == "localhost"
