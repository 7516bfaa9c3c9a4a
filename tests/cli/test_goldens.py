"""Each format of ``kwsync watch``, in a pipe and in a terminal: an object that comes, changes and goes."""

from __future__ import annotations

import re
import signal
from pathlib import Path
from typing import NamedTuple

import pytest

from kwsync.testing import ApiServer
from tests.cli.support import LIMIT, config_map, deployment, in_terminal, started

pytestmark = pytest.mark.usefixtures("environment")


class Golden(NamedTuple):
    kind: str
    marker: str
    """Is there once for each event."""
    pipe: str
    terminal: str = ""
    """Where it is different."""
    last: str = ""
    """The end of all in a terminal, where the marker is not."""


def coloured(line: str) -> str:
    """Verbs as they are painted, ``<…>`` faint."""
    for verb, code in (("ADDED   ", 32), ("MODIFIED", 33), ("DELETED ", 31)):
        if line.startswith(verb):
            line = f"\x1b[{code}m{verb}\x1b[0m{line[8:]}"
    if line.startswith("EVENT"):
        return f"\x1b[1m{line}\x1b[0m"
    return re.sub("<(.*?)>", "\x1b[2m\\1\x1b[0m", line)


GOLDENS = {
    "table": Golden(
        "deploy",
        "0s",
        """\
EVENT      NAME   READY   UP-TO-DATE   AVAILABLE   AGE
ADDED      a      0/1     0            0           0s
MODIFIED   a      0/1     0            0           0s
DELETED    a      0/1     0            0           0s
""",
        """\
EVENT      NAME   READY   UP-TO-DATE   AVAILABLE   AGE
ADDED      a      0/1     0            0           0s
MODIFIED   a      0/1     0            0           0s
DELETED    <a   >   <0/1  >   <0         >   <0        >   <0s>
""",
        "\x1b[2m0s\x1b[0m",
    ),
    "wide": Golden(
        "deploy",
        "app=a",
        """\
EVENT      NAME   READY   UP-TO-DATE   AVAILABLE   AGE   CONTAINERS   IMAGES   SELECTOR
ADDED      a      0/1     0            0           0s    main         x        app=a
MODIFIED   a      0/1     0            0           0s    main         x        app=a
DELETED    a      0/1     0            0           0s    main         x        app=a
""",
        """\
EVENT      NAME   READY   UP-TO-DATE   AVAILABLE   AGE   CONTAINERS   IMAGES   SELECTOR
ADDED      a      0/1     0            0           0s    main         x        app=a
MODIFIED   a      0/1     0            0           0s    main         x        app=a
DELETED    <a   >   <0/1  >   <0         >   <0        >   <0s >   <main      >   <x     >   <app=a>
""",
        "\x1b[2mapp=a\x1b[0m",
    ),
    "name": Golden(
        "deploy",
        "deployment.apps/a",
        """\
deployment.apps/a
deployment.apps/a
deployment.apps/a
""",
    ),
    "json": Golden(
        "cm",
        '[31m"',
        """\
{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"default",\
"uid":U,"resourceVersion":V,"creationTimestamp":"2026-06-01T12:00:00Z"},"data":{"text":"ü\\n\\u001b[31m"}}}
{"type":"MODIFIED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"default",\
"uid":U,"resourceVersion":V,"creationTimestamp":"2026-06-01T12:00:00Z","labels":{"app":"web"}},\
"data":{"text":"ü\\n\\u001b[31m"}}}
{"type":"DELETED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"default",\
"uid":U,"resourceVersion":V,"creationTimestamp":"2026-06-01T12:00:00Z","labels":{"app":"web"}},\
"data":{"text":"ü\\n\\u001b[31m"}}}
""",
    ),
    "yaml": Golden(
        "cm",
        '[31m"',
        """\
---
type: ADDED
object:
  kind: ConfigMap
  apiVersion: v1
  metadata:
    name: a
    namespace: default
    uid: U
    resourceVersion: V
    creationTimestamp: '2026-06-01T12:00:00Z'
  data:
    text: "ü\\n\\e[31m"
---
type: MODIFIED
object:
  kind: ConfigMap
  apiVersion: v1
  metadata:
    name: a
    namespace: default
    uid: U
    resourceVersion: V
    creationTimestamp: '2026-06-01T12:00:00Z'
    labels:
      app: web
  data:
    text: "ü\\n\\e[31m"
---
type: DELETED
object:
  kind: ConfigMap
  apiVersion: v1
  metadata:
    name: a
    namespace: default
    uid: U
    resourceVersion: V
    creationTimestamp: '2026-06-01T12:00:00Z'
    labels:
      app: web
  data:
    text: "ü\\n\\e[31m"
""",
    ),
}


def create(api: ApiServer, kind: str, name: str) -> None:
    """An object of the kind."""
    api.create(deployment(name) if kind == "deploy" else config_map(name, text="ü\n\x1b[31m"))


def happen(api: ApiServer, kind: str) -> None:
    """The watch begins, and then an object comes, changes and goes."""
    api.wait_for_requests(2)  # the list, and the watch
    create(api, kind, "a")
    plural = "deployments" if kind == "deploy" else "configmaps"
    api.patch(plural, "a", {"metadata": {"labels": {"app": "web"}}})
    api.delete(plural, "a")


def settled(text: str) -> str:
    """The output with letters for what is another each time."""
    text = re.sub(r"\b(uid\"?: ?)\"?[-0-9a-f]{36}\"?", r"\1U", text)
    return re.sub(r"\b(resourceVersion\"?: ?)[\"']?\d+[\"']?", r"\1V", text)


@pytest.mark.parametrize("form", GOLDENS)
def test_pipe(api: ApiServer, tmp_path: Path, form: str) -> None:
    """In a pipe: plain lines, each at once."""
    golden = GOLDENS[form]
    create(api, golden.kind, "b")
    with started(tmp_path, "watch", golden.kind, "-o", form, "--no-initial") as command:
        happen(api, golden.kind)
        command.until(golden.marker, 3)
        assert command.end() == 130
    assert settled("\n".join(command.lines)).splitlines() == golden.pipe.splitlines()
    assert command.errors == ""


@pytest.mark.parametrize("form", GOLDENS)
def test_terminal(api: ApiServer, form: str) -> None:
    """In a terminal: tables have colours, and what programs read is the same as in a pipe."""
    golden = GOLDENS[form]
    create(api, golden.kind, "b")
    with in_terminal("watch", golden.kind, "-o", form, "--no-initial") as terminal:
        happen(api, golden.kind)
        terminal.until(golden.last or golden.marker, 1 if golden.last else 3)
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.process.wait(LIMIT) == 130
    shown = settled("\n".join(terminal.lines)).splitlines()
    wanted = list(map(coloured, golden.terminal.splitlines())) if golden.terminal else golden.pipe.splitlines()
    assert shown[: len(wanted)] == wanted
