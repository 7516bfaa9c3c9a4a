"""A control plane of two processes: etcd and a kube-apiserver with RBAC, on free loopback ports."""

import ssl
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from .api import Reply, send
from .commands import apiserver_flags, etcd_flags
from .credentials import Credentials
from .process import ServerProcess, free_port

PROBE_LIMIT = 2.0  # seconds for one request of a wait
RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"


class ControlPlane:
    """Start with `with ControlPlane(folder) as plane`, *folder* being the one that find_binaries() found.

    The extra flags go behind those of commands.py and win over them.
    No controller runs: a pod stays Pending, a deleted namespace stays Terminating, nothing is collected.
    The attributes below are set from the start on.
    """

    url: str
    folder: Path
    ca_file: Path
    client_cert_file: Path
    """A certificate of a user in the group system:masters, and its key."""
    client_key_file: Path
    admin_token: str
    """The token of a user who may do everything."""
    viewer_token: str
    """The token of a user who may only get, list and watch pods in the namespace default."""
    nobody_token: str
    """The token of a user without rights of its own."""

    def __init__(
        self,
        binaries: Path,
        *,
        extra_apiserver: Sequence[str] = (),
        extra_etcd: Sequence[str] = (),
    ) -> None:
        self.binaries = binaries
        self._extra_flags: dict[str, Sequence[str]] = {"etcd": extra_etcd, "kube-apiserver": extra_apiserver}
        self._holder: tempfile.TemporaryDirectory[str] | None = None
        self._etcd: ServerProcess | None = None
        self._apiserver: ServerProcess | None = None

    def __enter__(self) -> "ControlPlane":
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start both servers and return when the API is ready and the viewer has its rights."""
        try:
            self._write_folder()
            self._start_etcd()
            self._choose_apiserver()
            self.start_apiserver()
            self._bind_viewer()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End both servers and remove the folder; calling it again does nothing."""
        for process in (self._apiserver, self._etcd):
            if process is not None:
                process.end()
        if self._holder is not None:
            self._holder.cleanup()
            self._holder = None

    def start_apiserver(self) -> None:
        """Start the stopped API server on its old port and its old data, and wait until it is ready."""
        self._apiserver_process.start()
        self._apiserver_process.wait_until(self._is_ready, "ok from /readyz")
        # A hook creates this namespace on the first start, and /readyz does not wait for it.
        self.wait_served("/api/v1/namespaces/default")

    def stop_apiserver(self, *, kill: bool = False) -> None:
        """End the API server: in good order (open watches end cleanly) or by a kill (they break)."""
        self._apiserver_process.end(kill=kill)

    def restart_apiserver(self, *, kill: bool = False) -> None:
        """Stop and start the API server: same port, same etcd, same credentials, empty caches."""
        self.stop_apiserver(kill=kill)
        self.start_apiserver()

    def restart_etcd(self) -> None:
        """Kill etcd and start it again on its old port and its old data; the API server stays, and waits for it."""
        if self._etcd is None:
            raise RuntimeError("the control plane was not started")
        self._etcd.end(kill=True)
        self._etcd.start()
        self._etcd.wait_until(self._is_healthy, "200 from /health")

    def compact(self) -> None:
        """Make etcd forget every state but the present one.

        Of kinds that the API server caches it keeps the recent past all the same; of events it does not.
        """
        status = send(self._etcd_url, "POST", "/v3/maintenance/status", body={}).checked()
        wanted = {"revision": status["header"]["revision"], "physical": True}
        send(self._etcd_url, "POST", "/v3/kv/compaction", body=wanted).checked()

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        token: str | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> Reply:
        """Send one request for the set-up of a test: as the admin, or anonymously with an empty token."""
        token = self.admin_token if token is None else token
        return send(self.url, method, path, body=body, token=token, tls=tls or self.tls_context())

    def wait_served(self, path: str, token: str | None = None) -> None:
        """Wait until a GET of the path succeeds: a custom resource or a right just created takes a moment."""
        self._apiserver_process.wait_until(lambda: self._probe(path, token).status == 200, f"200 from {path}")

    def kubeconfig(self, token: str | None = None) -> dict[str, Any]:
        """Return a kubeconfig for the admin, or for the user of the token."""
        user = {"token": self.admin_token if token is None else token}
        cluster = {"server": self.url, "certificate-authority": str(self.ca_file)}
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": "test", "user": user}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            "current-context": "test",
        }

    def tls_context(self) -> ssl.SSLContext:
        """Return a new TLS context that trusts this server and nothing else."""
        return ssl.create_default_context(cafile=self.ca_file)

    @property
    def pids(self) -> list[int]:
        """The process ids of the servers that run."""
        return [pid for process in (self._etcd, self._apiserver) if process and (pid := process.pid)]

    @property
    def _apiserver_process(self) -> ServerProcess:
        if self._apiserver is None:
            raise RuntimeError("the control plane was not started")
        return self._apiserver

    def _write_folder(self) -> None:
        self._holder = tempfile.TemporaryDirectory(prefix="kwsync-controlplane-")
        self.folder = Path(self._holder.name)
        self._files = files = Credentials(self.folder)
        files.write()
        self.ca_file = files.ca_file
        self.client_cert_file, self.client_key_file = files.client_cert_file, files.client_key_file
        self.admin_token, self.viewer_token = files.admin_token, files.viewer_token
        self.nobody_token = files.nobody_token

    def _start_etcd(self) -> None:
        self._etcd_url, peer_url = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        self._etcd = self._process("etcd", etcd_flags(self.folder, self._etcd_url, peer_url))
        self._etcd.start()
        self._etcd.wait_until(self._is_healthy, "200 from /health")

    def _choose_apiserver(self) -> None:
        port = free_port()
        self.url = f"https://127.0.0.1:{port}"
        flags = apiserver_flags(self.folder, self._etcd_url, port, self._files)
        self._apiserver = self._process("kube-apiserver", flags)

    def _process(self, program: str, flags: Sequence[str]) -> ServerProcess:
        command = [str(self.binaries / program), *flags, *self._extra_flags[program]]
        return ServerProcess(command, self.folder / f"{program}.log")

    def _is_healthy(self) -> bool:
        return send(self._etcd_url, "GET", "/health", limit=PROBE_LIMIT).status == 200

    def _is_ready(self) -> bool:
        return self._probe("/readyz") == Reply(200, "ok")

    def _probe(self, path: str, token: str | None = None) -> Reply:
        token = self.admin_token if token is None else token
        return send(self.url, "GET", path, token=token, tls=self.tls_context(), limit=PROBE_LIMIT)

    def _bind_viewer(self) -> None:
        role = {
            "metadata": {"name": "viewer"},
            "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}],
        }
        binding = {
            "metadata": {"name": "viewer"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "viewer"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "viewer"}],
        }
        self.request("POST", f"{RBAC}/roles", role).checked()
        self.request("POST", f"{RBAC}/rolebindings", binding).checked()
        self.wait_served("/api/v1/namespaces/default/pods", self.viewer_token)
