"""Where a cluster is: a value that shows no secret."""

from __future__ import annotations

from typing import Any

import pytest

from kwsync._cluster import AUTH_PROVIDER_KEY, Cluster, without_password

SECRET = "made-up-secret"


class TestRepr:
    @pytest.mark.parametrize(
        "cluster",
        [
            Cluster(f"https://user:{SECRET}@example.test:6443/base"),
            Cluster("https://example.test", proxy_url=f"http://user:{SECRET}@proxy.test:3128"),
            Cluster("https://example.test", proxy_url=f"user:{SECRET}@proxy.test:3128"),
            Cluster("https://example.test", proxy_url=f"http://user:{SECRET}@{SECRET}@proxy.test:3128"),
            Cluster("https://example.test", ca_data=SECRET),
            Cluster("https://example.test", auth_metadata={"serviceAccountToken": SECRET}),
        ],
    )
    def test_hides_secrets(self, cluster: Cluster) -> None:
        """Neither a password in a URL, nor data, nor the provider's metadata is in the repr."""
        assert SECRET not in repr(cluster)
        assert "example.test" in repr(cluster)
        assert "<hidden>" in repr(cluster)

    def test_bad_value(self) -> None:
        """A value of a wrong type has a repr, too, which does not show it: an error message may need one."""
        bad: object = f"https://user:{SECRET}@example.test".encode()
        assert without_password(bad) == "<hidden>"
        assert without_password(None) == "None"

    @pytest.mark.parametrize(
        ("url", "shown"),
        [
            ("https://example.test/a", "'https://example.test/a'"),
            ("https://u:p@example.test/a", "'https://<hidden>@example.test/a'"),
            ("u:p@example.test", "'<hidden>@example.test'"),
            ("https://example.test/?token=t", "'https://example.test/?<hidden>'"),
            ("https://u:p@example.test/?token=t", "'https://<hidden>@example.test/?<hidden>'"),
            ("https://u:p@example.test/?token=t@x", "'https://<hidden>@x'"),
            ("http://u:p/#?@example.test", "'http://<hidden>@example.test'"),
            ("", "''"),
        ],
    )
    def test_url(self, url: str, shown: str) -> None:
        """A URL is shown whole, apart from what stands before the host."""
        assert without_password(url) == shown


class TestProvider:
    def test_named_field_wins(self) -> None:
        """The provider is the field, else what Backstage's metadata names, else none."""
        metadata = {AUTH_PROVIDER_KEY: "aws"}
        assert Cluster("https://example.test").provider is None
        assert Cluster("https://example.test", auth_metadata=metadata).provider == "aws"
        assert Cluster("https://example.test", auth_metadata=metadata, auth_provider="azure").provider == "azure"


def test_value() -> None:
    """A cluster is a value: equal by its fields, and usable as a key."""
    one = Cluster("https://example.test", auth_metadata={"a": "b"})
    assert one == Cluster("https://example.test", auth_metadata={"a": "b"})
    assert len({one, Cluster("https://example.test", auth_metadata={"a": "b"})}) == 1


@pytest.mark.parametrize(
    "values",
    [{"ca_data": 5}, {"ca_file": 5}, {"proxy_url": b"x"}, {"tls_server_name": 1}, {"skip_tls_verify": "no"}],
    ids=str,
)
def test_wrong_types(values: dict[str, Any]) -> None:
    """A value of a wrong type is a TypeError at once, and not an odd error inside the first watch."""
    with pytest.raises(TypeError, match=next(iter(values))):
        Cluster("https://x", **values)
