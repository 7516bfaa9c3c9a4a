"""A server with many pods, in pages; its watch tells what it was given to tell. ``COUNT EVENTS``

Each line of input is done, and then answered: ``relist N`` changes N per cent of the pods and lets all watches expire.
"""

from __future__ import annotations

import json
import re
import socketserver
import sys
import threading
from random import Random

from .feed import chunked, event_line
from .pods import make_pod

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
EXPIRED = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Expired", "code": 410}
FIRST_VERSION = 5_000_000


class Pods:
    """What the server has."""

    def __init__(self, count: int, events: int) -> None:
        self._random = Random(count)
        self.version = FIRST_VERSION
        self.items = [self._item(number) for number in range(count)]
        self.changes = self._changes(events)
        self.expire = threading.Event()
        self.expired = 0

    def _item(self, number: int, version: int | None = None) -> bytes:
        pod = make_pod(self._random, number)
        del pod["kind"], pod["apiVersion"]
        pod["metadata"]["uid"] = f"00000000-0000-4000-8000-{number:012x}"
        pod["metadata"]["name"] = f"pod-{number:05x}-x7k2p"
        pod["metadata"]["namespace"] = f"team-{number % 40}"
        if version is not None:
            pod["metadata"]["resourceVersion"] = str(version)
        return json.dumps(pod, ensure_ascii=False, separators=(",", ":")).encode()

    def _changes(self, count: int) -> bytes:
        """Half of them ADDED, then changes and some deletions of these; the last is a bookmark."""
        random, lines, uids = Random(1), [], max(1, count // 2)
        for number in range(count):
            pod = make_pod(random, number % uids)
            pod["metadata"].update(
                name=f"new-{number % uids:05x}",
                uid=f"11111111-0000-4000-8000-{number % uids:012x}",
                resourceVersion=str(FIRST_VERSION + number),
            )
            lines.append(event_line("ADDED" if number < uids else "MODIFIED", pod))
        end = {"kind": "Pod", "apiVersion": "v1", "metadata": {"resourceVersion": str(FIRST_VERSION + count)}}
        return chunked([*lines, event_line("BOOKMARK", end)])

    def relist(self, percent: int) -> None:
        """Change some of them, and let the watches expire."""
        self.version += 1_000_000
        for number in range(len(self.items) * percent // 100):
            self.items[number] = self._item(number, self.version + number)
        self.changes = b""
        self.expired += 1
        before, self.expire = self.expire, threading.Event()
        before.set()

    def page(self, limit: int, start: int) -> bytes:
        """One page of the list."""
        end = start + limit
        more = f',"continue":"{end}"' if end < len(self.items) else ""
        head = f'{{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"{self.version}"{more}}},"items":['
        return head.encode() + b",".join(self.items[start:end]) + b"]}"


class Handler(socketserver.StreamRequestHandler):
    """One connection."""

    pods: Pods

    def handle(self) -> None:
        """Answer requests until the client goes."""
        try:
            while self._answer(self.rfile.readline().decode()):
                pass
        except OSError:
            pass

    def _answer(self, line: str) -> bool:
        if not line:
            return False
        while self.rfile.readline() not in (b"\r\n", b""):
            pass
        if "watch=true" in line:
            return self._watch()
        words = {name: int(value) for name, value in re.findall(r"(limit|continue)=(\d+)", line)}
        body = self.pods.page(words.get("limit", len(self.pods.items) or 1), words.get("continue", 0))
        self.wfile.write(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        return True

    def _watch(self) -> bool:
        expire = self.pods.expire
        self.wfile.write(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + self.pods.changes)
        expire.wait()
        self.wfile.write(chunked([event_line("ERROR", EXPIRED)]) + b"0\r\n\r\n")
        return True


class Server(socketserver.ThreadingTCPServer):
    """Listens on loopback; a thread for each connection."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 256


def main(count: int, events: int) -> None:
    """Print the port, then do what each line of input says."""
    Handler.pods = Pods(count, events)
    with Server(("127.0.0.1", 0), Handler) as server:
        print(server.server_address[1], flush=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for line in sys.stdin:
            Handler.pods.relist(int(line.split()[1]))
            print("done", flush=True)
        server.shutdown()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
