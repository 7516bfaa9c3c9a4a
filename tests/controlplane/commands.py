"""The command lines of the two servers."""

from pathlib import Path

from .credentials import Credentials


def etcd_flags(folder: Path, url: str, peer_url: str) -> list[str]:
    """Return what makes one etcd server on its own; its data need not survive a crash of the machine."""
    return [
        f"--data-dir={folder / 'etcd'}",
        f"--listen-client-urls={url}",
        f"--advertise-client-urls={url}",
        f"--listen-peer-urls={peer_url}",
        "--unsafe-no-fsync",
    ]


def apiserver_flags(folder: Path, etcd_url: str, port: int, files: Credentials) -> list[str]:
    """Return what makes a secured API server that needs neither controllers nor a network."""
    return [
        f"--etcd-servers={etcd_url}",
        f"--secure-port={port}",
        "--bind-address=127.0.0.1",
        # No other machine reaches it, and a machine without a network has no address to advertise.
        "--advertise-address=127.0.0.1",
        "--endpoint-reconciler-type=none",
        f"--cert-dir={folder / 'certificates'}",
        f"--tls-cert-file={files.server_cert_file}",
        f"--tls-private-key-file={files.server_key_file}",
        f"--client-ca-file={files.ca_file}",
        f"--token-auth-file={files.token_file}",
        "--authorization-mode=RBAC",
        "--service-account-issuer=https://kwsync.test",
        f"--service-account-key-file={files.service_account_key_file}",
        f"--service-account-signing-key-file={files.service_account_key_file}",
        "--service-cluster-ip-range=10.0.0.0/24",
        # Without a controller no service account exists, and this plugin refuses pods without one.
        "--disable-admission-plugins=ServiceAccount",
        # By default an open watch keeps the server from ending for a minute.
        "--shutdown-watch-termination-grace-period=1s",
    ]
