"""The examples, run as a user runs them, against a real API server and against the one in memory."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import attrs
import pytest

import kwsync
from kwsync.testing import ApiServer, Fault
from tests.controlplane.server import ControlPlane
from tests.keeping.support import wait_until

EXAMPLES = Path(__file__).parents[1] / "examples"
OPERATORS = EXAMPLES.parent / "docs" / "operators.md"
LIMIT = 30  # seconds: an example that takes longer hangs
EVENTS = "events.v1.events.k8s.io"


class Running:
    """An example in a process of its own, whose lines are read one by one."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: list[str] = []

    def until(self, text: str) -> None:
        """Read on to a line that holds *text*; fails at the end of the output. The test's own limit bounds the wait."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))
            if text in line:
                return
        pytest.fail(f"no line with {text!r}; it wrote {self.lines}")

    def end(self, number: signal.Signals | None = None) -> int:
        """Its exit code, after a signal if one is given: again and again, since wsgiref drops Ctrl-C in a request."""
        for _ in range(LIMIT if number else 0):
            if self.process.poll() is None and number is not None:
                self.process.send_signal(number)
                with suppress(subprocess.TimeoutExpired):
                    self.process.wait(1)
        assert self.process.stdout is not None
        self.lines += self.process.stdout.read().splitlines()
        return self.process.wait(LIMIT)


@attrs.frozen
class Place:
    """A namespace of a server, and a way to change things there."""

    namespace: str
    kubeconfig: dict[str, Any]
    client: kwsync.Client

    def request(self, method: str, path: str, body: object = None) -> None:
        """Change something, as the administrator; a patch is a merge patch."""
        kind = "merge-patch+json" if method == "PATCH" else "json"
        self.client.request(method, path, body=body, headers={"Content-Type": f"application/{kind}"})


@pytest.fixture(params=["real", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """A fresh namespace on each kind of server."""
    if request.param == "real":
        plane: ControlPlane = request.getfixturevalue("control_plane")
        kubeconfig = plane.kubeconfig()
        namespace = request.getfixturevalue("real_namespace")
    else:
        server: ApiServer = request.getfixturevalue("api_server")
        kubeconfig, namespace = server.kubeconfig(), "default"
    path = tmp_path / "admin"
    path.write_text(json.dumps(kubeconfig))
    with kwsync.Client.from_kubeconfig(path) as client:
        yield Place(namespace, kubeconfig, client)


@pytest.fixture
def environment(place: Place, tmp_path: Path) -> dict[str, str]:
    """A user's environment: a kubeconfig, which is JSON so that no extra is needed."""
    path = tmp_path / "config"
    path.write_text(json.dumps(place.kubeconfig))
    return {**os.environ, "KUBECONFIG": str(path), "PYTHONPATH": str(EXAMPLES.parent), "PYTHONWARNINGS": "error"}


@contextmanager
def running(environment: dict[str, str], name: str, *arguments: str) -> Iterator[Running]:
    command = [sys.executable, str(EXAMPLES / name), *arguments]
    with subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            yield Running(process)
        finally:
            process.kill()


def config_map(name: str, **data: str) -> dict[str, object]:
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name}, "data": data}


def collection(namespace: str, plural: str = "configmaps") -> str:
    return f"/api/v1/namespaces/{namespace}/{plural}"


def pod(name: str) -> dict[str, object]:
    container = {"name": "main", "image": "none.invalid/none"}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name}, "spec": {"containers": [container]}}


def test_prints_pods(place: Place, environment: dict[str, str]) -> None:
    """01 prints a pod that is there and one that comes, and Ctrl-C ends it without a traceback."""
    place.request("POST", collection(place.namespace, "pods"), pod("first"))
    with running(environment, "01_print_pods.py", place.namespace) as example:
        example.until(f"ADDED {place.namespace}/first")
        place.request("POST", collection(place.namespace, "pods"), pod("second"))
        example.until(f"ADDED {place.namespace}/second")

        assert example.end(signal.SIGINT) == 0
    assert not any("Traceback" in line for line in example.lines)


def test_calls_back(place: Place, environment: dict[str, str]) -> None:
    """02 tells changes and deletions while the main thread is free, and a signal stops it."""
    with running(environment, "02_callbacks.py", place.namespace) as example:
        example.until("the main thread is free")
        place.request("POST", collection(place.namespace), config_map("one", k="v"))
        example.until(f"now {place.namespace}/one {{'k': 'v'}}")
        place.request("DELETE", f"{collection(place.namespace)}/one")
        example.until(f"gone {place.namespace}/one")

        assert example.end(signal.SIGTERM) == 0
    assert example.lines[-1] == "end CLOSED"


def test_cancels_after_seconds(environment: dict[str, str]) -> None:
    """03 is ended by its token, though the server would go on."""
    with running(environment, "03_cancel_after_30_seconds.py", "0.5") as example:
        assert example.end() == 0
    assert example.lines[-1] == "ended: CANCELLED"


def test_resumes_by_hand(place: Place, environment: dict[str, str]) -> None:
    """04 gives each change once across the ends of its streams."""
    with running(environment, "04_resume_by_hand.py", place.namespace, "3") as example:
        example.until("state")
        for number in range(3):
            place.request("POST", collection(place.namespace), config_map(f"m{number}"))
            example.until(f"ADDED {place.namespace}/m{number}")

        assert example.end() == 0
    added = [line for line in example.lines if line.startswith("ADDED")]
    assert added == [f"ADDED {place.namespace}/m{number}" for number in range(3)]


@pytest.mark.parametrize("change", ["runs already", "runs later", "deleted"])
def test_waits_for_a_phase(place: Place, environment: dict[str, str], change: str) -> None:
    """05 looks at the object and not at the verb: a pod may run already, come to run, or vanish."""
    path = collection(place.namespace, "pods")
    place.request("POST", path, pod("it"))

    def become_running() -> None:
        place.request("PATCH", f"{path}/it/status", {"status": {"phase": "Running"}})

    if change == "runs already":
        become_running()
    with running(environment, "05_wait_for_phase.py", place.namespace, "it", "Running", "20") as example:
        example.until(f"{place.namespace}/it")
        if change == "runs later":
            become_running()
        elif change == "deleted":
            place.request("DELETE", f"{path}/it", {"gracePeriodSeconds": 0})
        code = example.end()

    assert (example.lines[-1], code) == (("deleted", 1) if change == "deleted" else ("Running", 0))


def test_serves_wsgi(place: Place, environment: dict[str, str]) -> None:
    """06 answers requests from what its watch has seen, and its probe says that it watches."""
    place.request("POST", collection(place.namespace), config_map("seen"))
    with running(environment, "06_wsgi_application.py", "0") as example:
        example.until("http://")
        url = example.lines[-1]
        wanted = f"{place.namespace}/seen"
        found = any(wanted in read(url) for _ in range(500))

        assert found, "the config map never came"
        assert any(probe(url + "healthz") == 200 for _ in range(500)), "it never got healthy"
        assert example.end(signal.SIGINT) == 0


def test_keeps_a_cache(place: Place, environment: dict[str, str]) -> None:
    """07 tells changes with the state before, and answers from its cache what was written before."""
    place.request("POST", collection(place.namespace), config_map("one", k="v"))
    with running(environment, "07_informer.py", place.namespace) as example:
        example.until("synced")
        place.request("PATCH", f"{collection(place.namespace)}/one", {"data": {"k": "w"}})
        example.until(f"MODIFIED {place.namespace}/one {{'k': 'v'}} -> {{'k': 'w'}}")
        assert example.process.stdin is not None
        example.process.stdin.write("one\nother\n")
        example.process.stdin.flush()
        example.until("one holds {'k': 'w'}")
        example.until("other holds None")
        place.request("DELETE", f"{collection(place.namespace)}/one")
        example.until(f"DELETED {place.namespace}/one {{'k': 'w'}} -> {{'k': 'w'}}")
        example.process.stdin.close()

        assert example.end() == 0


def test_copies_a_config_map(place: Place, environment: dict[str, str]) -> None:
    """08 copies where the label is, follows changes of the original and of copies, and takes away what it made."""
    label = f"copies-of-{place.namespace}"
    targets = [f"{place.namespace}-{word}" for word in ("one", "two")]
    place.request("POST", collection(place.namespace), config_map("it", k="v"))
    for target in targets:
        place.request("POST", "/api/v1/namespaces", {"metadata": {"name": target, "labels": {label: ""}}})
    one, two = targets
    with running(environment, "08_copy_config_map.py", place.namespace, "it", label) as example:
        example.until(f"created {one}")
        if f"created {two}" not in example.lines:
            example.until(f"created {two}")
        assert place.client.get("configmaps", "it", one)["data"] == {"k": "v"}
        place.request("PATCH", f"{collection(one)}/it", {"data": {"other": "x"}})
        example.until(f"updated {one}")
        assert place.client.get("configmaps", "it", one)["data"] == {"k": "v"}
        place.request("PATCH", f"/api/v1/namespaces/{one}", {"metadata": {"labels": {label: None}}})
        example.until(f"removed {one}")
        place.request("PATCH", f"{collection(place.namespace)}/it", {"data": {"k": "w"}})
        example.until(f"updated {two}")
        place.request("DELETE", f"{collection(two)}/it")
        example.until(f"created {two}")
        assert place.client.get("configmaps", "it", two)["data"] == {"k": "w"}
        place.request("DELETE", f"{collection(place.namespace)}/it")
        example.until(f"removed {two}")

        assert example.end(signal.SIGTERM) == 0
    assert [line for line in example.lines if "error" in line or "Traceback" in line] == []
    assert [name for name in targets if place.client.list("configmaps", name, name="it")] == []


def test_leaves_other_config_maps_alone(place: Place, environment: dict[str, str]) -> None:
    """08 says so where another has the name, and makes its copy when that has gone."""
    label, target = f"copies-of-{place.namespace}", f"{place.namespace}-one"
    place.request("POST", collection(place.namespace), config_map("it", k="v"))
    place.request("POST", "/api/v1/namespaces", {"metadata": {"name": target, "labels": {label: ""}}})
    place.request("POST", collection(target), config_map("it", mine="yes"))
    with running(environment, "08_copy_config_map.py", place.namespace, "it", label) as example:
        example.until(f"error {target} 409 AlreadyExists")
        assert place.client.get("configmaps", "it", target)["data"] == {"mine": "yes"}
        place.request("DELETE", f"{collection(target)}/it")
        example.until(f"created {target}")

        assert example.end(signal.SIGTERM) == 0


def test_reports_pods(place: Place, environment: dict[str, str]) -> None:
    """09 reports what becomes of pods, not that they are there; one that was made anew is deleted and created."""
    path = collection(place.namespace, "pods")
    place.request("POST", path, pod("first"))
    with running(environment, "09_report_pods.py", place.namespace) as example:
        example.until(f"knows {place.namespace}/first")
        place.request("POST", path, pod("second"))
        example.until(f"created {place.namespace}/second Pending 0")
        place.request("PATCH", f"{path}/first/status", {"status": {"phase": "Running"}})
        example.until(f"changed {place.namespace}/first Running 0")
        place.request("PATCH", f"{path}/first", {"metadata": {"labels": {"no": "news"}}})
        place.request("DELETE", f"{path}/first", {"gracePeriodSeconds": 0})
        example.until(f"deleted {place.namespace}/first Running 0")
        place.request("POST", path, pod("first"))
        example.until(f"created {place.namespace}/first Pending 0")

        assert example.end(signal.SIGTERM) == 0
    assert len(example.lines) == 5


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("08_copy_config_map.py", ("default", "it", "label")),
        ("09_report_pods.py", ("default",)),
        ("10_sqlite.py", (":memory:", "default")),
        ("12_operator.py", ("default", "one")),
    ],
)
def test_ends_while_all_is_forbidden(api_server: ApiServer, tmp_path: Path, name: str, arguments: tuple[str]) -> None:
    """A controller whose caches are never filled, as its user may not list, ends at once when it is told to."""
    api_server.fail_every(1, Fault.answer(403))
    path = tmp_path / "config"
    path.write_text(json.dumps(api_server.kubeconfig()))
    environment = {**os.environ, "KUBECONFIG": str(path), "PYTHONPATH": str(EXAMPLES.parent)}
    with running(environment, name, *arguments) as example:
        wait_until(lambda: bool(api_server.requests), "a request", LIMIT)
        example.process.send_signal(signal.SIGTERM)
        assert example.process.wait(LIMIT / 3) == 0


def test_keeps_a_database(place: Place, environment: dict[str, str], tmp_path: Path) -> None:
    """10 keeps a table and a journal: a restart repeats nothing, and removes what went, or was made anew, meanwhile."""
    path, file = collection(place.namespace), tmp_path / "it.db"
    others = {each["metadata"]["name"] for each in place.client.list("configmaps", place.namespace)}

    def table(what: str) -> list[Any]:
        with closing(sqlite3.connect(file)) as database:
            return [row for row in database.execute(what).fetchall() if row[0] not in others]

    def once(names: str, *, change: bool = False) -> None:
        with running(environment, "10_sqlite.py", str(file), place.namespace) as example:
            for word in names.split():
                if not any(f"is {place.namespace}/{word} " in line for line in example.lines):
                    example.until(f"is {place.namespace}/{word} ")
            if change:
                place.request("PATCH", f"{path}/stays", {"data": {"k": "w"}})
                example.until(f"is {place.namespace}/stays ")
            assert example.end(signal.SIGTERM) == 0

    for name in ("stays", "goes", "anew"):
        place.request("POST", path, config_map(name, k="v"))
    once("stays goes anew", change=True)
    first = table("SELECT name, what FROM journal ORDER BY number")
    assert sorted(first[:3]) == [("anew", "ADDED"), ("goes", "ADDED"), ("stays", "ADDED")]
    assert first[3:] == [("stays", "MODIFIED")]
    place.request("DELETE", f"{path}/goes")
    place.request("DELETE", f"{path}/anew")
    place.request("POST", path, config_map("anew", k="x"))
    once("stays goes anew")
    once("stays anew")
    later = table("SELECT name, what FROM journal ORDER BY number")[len(first) :]
    assert [each for each in later if each[0] == "anew"] == [("anew", "DELETED"), ("anew", "ADDED")]
    assert [each for each in later if each[0] != "anew"] == [("goes", "DELETED")]
    expected = [
        (each["metadata"]["name"], each["metadata"]["uid"], each["metadata"]["resourceVersion"], each["data"])
        for each in place.client.list("configmaps", place.namespace)
        if each["metadata"]["name"] not in others
    ]
    found = table("SELECT name, uid, version, data FROM config_maps ORDER BY name")
    assert [(*row[:3], json.loads(row[3])) for row in found] == sorted(expected)


def test_has_one_leader(place: Place, environment: dict[str, str]) -> None:
    """11 works in one process of two; when that ends in good order, the other goes on with a greater token."""
    with running(environment, "11_one_leader.py", place.namespace, "one") as first:
        first.until("leads with token 0")
        with running(environment, "11_one_leader.py", place.namespace, "two") as second:
            second.until("leader: one")

            assert first.end(signal.SIGTERM) == 0
            second.until("leads with token 1")
            assert second.end(signal.SIGINT) == 0
    assert first.lines[-1] == second.lines[-1] == "end: CANCELLED"
    assert [line for line in first.lines + second.lines if "trouble" in line or "Traceback" in line] == []


@pytest.fixture
def operator_environment(place: Place, environment: dict[str, str], request: pytest.FixtureRequest) -> dict[str, str]:
    """The environment of the service account in docs/operators.md, which has the rights written there alone."""
    yaml = pytest.importorskip("yaml")
    [block] = re.findall(r"^```yaml\n(.*?)^```", OPERATORS.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    manifests = {each["kind"]: each for each in yaml.safe_load_all(block.replace("default", place.namespace))}
    for each in manifests.values():
        kwsync.apply(place.client, each, field_manager="test")
    if place.kubeconfig["clusters"][0]["name"] == "test":
        plane: ControlPlane = request.getfixturevalue("control_plane")
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        path = collection(place.namespace, "serviceaccounts") + "/backup/token"
        kubeconfig = plane.kubeconfig(place.client.request("POST", path, body=body)["status"]["token"])
        plane.wait_served(collection(place.namespace), kubeconfig["users"][0]["user"]["token"])
    else:
        server: ApiServer = request.getfixturevalue("api_server")
        user = f"system:serviceaccount:{place.namespace}:backup"
        server.deny(user)
        for rule in manifests["Role"]["rules"]:
            kinds = [f"{plural}.{group}".rstrip(".") for plural in rule["resources"] for group in rule["apiGroups"]]
            server.allow(user, verbs=rule["verbs"], resources=kinds, namespaces=place.namespace)
        kubeconfig = server.kubeconfig(user)
    Path(environment["KUBECONFIG"]).write_text(json.dumps(kubeconfig))
    return environment


def test_is_an_operator(place: Place, operator_environment: dict[str, str]) -> None:
    """12 copies what is labelled while it leads, and cleans up; a second one waits, and goes on when the first ends."""
    environment = operator_environment
    path, home = collection(place.namespace), place.namespace

    def ask_for(name: str, **data: str) -> None:
        labels = {"example.com/backup": "yes"}
        place.request("POST", path, {**config_map(name, **data), "metadata": {"name": name, "labels": labels}})

    ask_for("it", k="v")
    place.request("POST", path, config_map("other"))
    with running(environment, "12_operator.py", home, "one") as first:
        first.until("probes at ")
        url = first.lines[-1].rpartition(" ")[2]
        first.until("wrote it-backup")
        assert place.client.get("configmaps", "it-backup", home)["data"] == {"k": "v"}
        assert (probe(url + "livez"), probe(url + "readyz")) == (200, 200)
        with running(environment, "12_operator.py", home, "two") as second:
            second.until("probes at ")
            place.request("PATCH", f"{path}/it", {"data": {"k": "w"}})
            first.until("wrote it-backup")
            assert place.client.get("configmaps", "it-backup", home)["data"] == {"k": "w"}
            place.request("POST", path, config_map("mine-backup"))
            ask_for("mine")
            first.until("failed mine: mine-backup is there and no copy")
            place.request("DELETE", f"{path}/mine-backup")
            first.until("wrote mine-backup")
            place.request("DELETE", f"{path}/it")
            first.until("cleaned up after it")

            assert first.end(signal.SIGTERM) == 0
            second.until("two leads, term 1")
            place.request("PATCH", f"{path}/mine", {"metadata": {"labels": {"example.com/backup": None}}})
            second.until("cleaned up after mine")
            assert second.end(signal.SIGTERM) == 0
    assert first.lines[-1].endswith("end: CANCELLED")
    told = ("wrote", "failed", "WARNING", "ERROR", "Traceback")
    assert [line for line in first.lines if any(word in line for word in told[3:])] == []
    assert [line for line in second.lines if any(word in line for word in told)] == []
    left = {each["metadata"]["name"]: each["metadata"] for each in place.client.list("configmaps", home)}
    assert left.keys() - {"kube-root-ca.crt"} == {"other", "mine"}
    assert "finalizers" not in left["mine"]
    told_of = {(each["type"], each["reason"]) for each in place.client.list(EVENTS, home)}
    assert told_of >= {("Normal", "BackedUp"), ("Warning", "BackupFailed")}


def probe(url: str) -> int:
    """The status of a probe, which is 503 until there is a watch."""
    try:
        with urllib.request.urlopen(url, timeout=LIMIT) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def read(url: str) -> str:
    with urllib.request.urlopen(url, timeout=LIMIT) as response:
        return str(response.read(), "utf-8")
