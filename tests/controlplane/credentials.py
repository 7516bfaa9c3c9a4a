"""Who may talk to the server: a certificate authority, certificates and tokens, made new for every start."""

import secrets
from pathlib import Path

import trustme


class Credentials:
    """Files in a folder for the server and its users, and the tokens of the users."""

    def __init__(self, folder: Path) -> None:
        self.ca_file = folder / "ca.pem"
        self.server_cert_file, self.server_key_file = folder / "server.pem", folder / "server.key"
        self.client_cert_file, self.client_key_file = folder / "client.pem", folder / "client.key"
        self.service_account_key_file = folder / "service-account.key"
        self.token_file = folder / "tokens.csv"
        self.admin_token, self.viewer_token, self.nobody_token = (secrets.token_hex(16) for _ in range(3))

    def write(self) -> None:
        """Make the keys and write every file."""
        authority = trustme.CA(organization_name="kwsync tests")
        authority.cert_pem.write_to_path(self.ca_file)
        # Any private key will do to sign service account tokens, and nobody else needs this one.
        trustme.CA().private_key_pem.write_to_path(self.service_account_key_file)
        server = authority.issue_cert("127.0.0.1", "localhost")
        _write_pair(server, self.server_cert_file, self.server_key_file)
        # To Kubernetes the common name is the user, the organization its group. The address is there because
        # trustme marks the list of names critical, and Go refuses that when the list is empty.
        client = authority.issue_cert(
            "admin@kwsync.test", common_name="certificate-admin", organization_name="system:masters"
        )
        _write_pair(client, self.client_cert_file, self.client_key_file)
        self.token_file.write_text(self._token_lines())

    def _token_lines(self) -> str:
        admin = f'{self.admin_token},admin,1,"system:masters"'
        return "\n".join([admin, f"{self.viewer_token},viewer,2", f"{self.nobody_token},nobody,3", ""])


def _write_pair(cert: trustme.LeafCert, cert_file: Path, key_file: Path) -> None:
    cert.cert_chain_pems[0].write_to_path(cert_file)
    cert.private_key_pem.write_to_path(key_file)
