"""From kubeconfigs to a cluster and a credential, as kubectl reads them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import attrs

from kwsync._cluster import Cluster, Origin
from kwsync._kubeconfig._files import merge, read_kubeconfigs
from kwsync._kubeconfig._section import Section
from kwsync._kubeconfig._user import credential_of
from kwsync.credentials import Anonymous, Credential
from kwsync.errors import ConfigError


def load_kubeconfig(
    path: str | os.PathLike[str] | None = None,
    context: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> tuple[Cluster, Credential]:
    """The cluster and the user of *context*, or of the current context.

    Read are: the file *path*; else the files that the variable KUBECONFIG lists, merged (by name, the first file that
    has it wins; missing files are skipped); else ``~/.kube/config``. Relative paths start at the file they stand in.
    YAML needs the extra ``kwsync[kubeconfig]``, JSON does not. ConfigError, in one sentence and without any secret, for
    what cannot be used. The rules are kubectl's ("Organizing Cluster Access Using kubeconfig Files"). *environ* is the
    process's own environment by default.
    """
    config = _Config(read_kubeconfigs(path, os.environ if environ is None else environ))
    name = context or config.current_context()
    chosen = config.entry("context", name)
    cluster, user = chosen.text("cluster"), chosen.text("user")
    if cluster is None:
        raise chosen.error("names no cluster: add one")
    return (
        attrs.evolve(
            _cluster_of(config.entry("cluster", cluster), cluster, chosen.text("namespace")),
            origin=Origin("kubeconfig", tuple(file.file for file in config.files), name, user or ""),
        ),
        Anonymous() if user is None else credential_of(config.entry("user", user), config.entry("cluster", cluster)),
    )


@attrs.frozen
class _Config:
    """Several kubeconfigs, seen as one."""

    files: Sequence[Section]

    def current_context(self) -> str:
        for file in self.files:
            name = file.text("current-context")
            if name is not None:
                return name
        raise ConfigError(f"no current-context is set in {self._names()}: set one, or name a context")

    def entry(self, kind: str, name: str) -> Section:
        entries = merge(file.named(f"{kind}s", kind) for file in self.files)
        if name in entries:
            return entries[name]
        raise ConfigError(f"there is no {kind} {name!r} in {self._names()}: add it, or name another context")

    def _names(self) -> str:
        return ", ".join(file.file for file in self.files)


def _cluster_of(section: Section, name: str, namespace: str | None) -> Cluster:
    server = section.text("server")
    if server is None:
        raise section.error("has no server: add its URL")
    ca_data, ca_file = section.data("certificate-authority-data"), section.path("certificate-authority")
    insecure = section.flag("insecure-skip-tls-verify")
    if insecure and (ca_data or ca_file):
        raise section.error("has a certificate authority and insecure-skip-tls-verify: remove one of them")
    return Cluster(
        server,
        # Here data wins over the file, in a Cluster the file would: so only one is handed on.
        ca_file=None if ca_data else ca_file,
        ca_data=ca_data,
        skip_tls_verify=insecure,
        tls_server_name=section.text("tls-server-name"),
        proxy_url=section.text("proxy-url"),
        namespace=namespace or "default",
        name=name,
    )
