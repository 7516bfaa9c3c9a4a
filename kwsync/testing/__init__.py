"""Tests without a cluster: a Kubernetes API server in memory, and one that does on the wire exactly what a script says.

    with ApiServer() as server, server.client() as client:
        server.create(pod("a"))

    with ScriptedServer([List("10", [pod("a")])], [Head(), Event("ADDED", pod("b", "11")), End()]) as server:
        ...  # point the client at server.url

Nothing here uses the rest of kwsync, but for its table of kinds, and for the client that `ApiServer.client` makes.
Threads: each server has one that accepts, and one for each connection.
"""

from kwsync.testing._exchange import Exchange
from kwsync.testing._headers import Headers
from kwsync.testing._objects import bookmark, pod, status
from kwsync.testing._proxy import ProxyServer
from kwsync.testing._request import PeerCertificate, Request
from kwsync.testing._script import Step
from kwsync.testing._scripted import ScriptedServer
from kwsync.testing._steps import (
    Blackhole,
    Call,
    CutChunk,
    End,
    Event,
    Fin,
    Gzip,
    Head,
    Head1,
    Http,
    List,
    NoHead,
    Raw,
    RawBytes,
    Repeat,
    Reply,
    Rst,
    Split,
    Stall,
    StallUntil,
)
from kwsync.testing._tls import ClientCert, TestCA
from kwsync.testing._transcripts import Transcript
from kwsync.testing.apiserver import ApiError, ApiServer, Fault, FaultRule

__all__ = [
    "ApiError",
    "ApiServer",
    "Blackhole",
    "Call",
    "ClientCert",
    "CutChunk",
    "End",
    "Event",
    "Exchange",
    "Fault",
    "FaultRule",
    "Fin",
    "Gzip",
    "Head",
    "Head1",
    "Headers",
    "Http",
    "List",
    "NoHead",
    "PeerCertificate",
    "ProxyServer",
    "Raw",
    "RawBytes",
    "Repeat",
    "Reply",
    "Request",
    "Rst",
    "ScriptedServer",
    "Split",
    "Stall",
    "StallUntil",
    "Step",
    "TestCA",
    "Transcript",
    "bookmark",
    "pod",
    "status",
]
