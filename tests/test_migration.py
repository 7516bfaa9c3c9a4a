"""docs/from-the-official-client.md: the code before and the code after are run, and print the same."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kwsync.testing import ApiServer, pod

kubernetes = pytest.importorskip("kubernetes")

PAGE = Path(__file__).parents[1] / "docs" / "from-the-official-client.md"
TEXT = PAGE.read_text(encoding="utf-8")
SECTIONS = dict(part.partition("\n")[::2] for part in TEXT.split("\n## ")[1:])
ROWS = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in TEXT.splitlines() if line.startswith("| `")]
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        ],
    },
}


def blocks(section: str) -> list[str]:
    """The code of a section."""
    return re.findall(r"^```python\n(.*?)^```", SECTIONS[section], re.DOTALL | re.MULTILINE)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    """A cluster with two pods and a widget, which the kubeconfig of this process names, in two contexts."""
    for name in ("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with ApiServer() as server:
        for name in ("a", "b"):
            server.create(pod(name, metadata={"labels": {"app": "web"}}))
        server.create(DEFINITION)
        server.create(
            {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "default"}}
        )
        config = server.kubeconfig("bob")
        config["contexts"].append({**config["contexts"][0], "name": "other"})
        path = tmp_path / "config"
        path.write_text(json.dumps(config))
        monkeypatch.setattr("kubernetes.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION", str(path))
        kubernetes.config.load_kube_config()
        server.forget_history()
        yield server
    kubernetes.client.Configuration.set_default(None)


def printed(code: str) -> str:
    """What a block prints, on its own."""
    out, names = io.StringIO(), dict[str, Any]()
    with contextlib.redirect_stdout(out):
        exec(compile(code, PAGE.name, "exec"), names)
    for name in ("kube", "stream"):
        if hasattr(names.get(name), "close"):
            names[name].close()
    names.clear()
    gc.collect()
    return out.getvalue()


@pytest.mark.timeout(20)
@pytest.mark.parametrize("section", SECTIONS)
@pytest.mark.leaks_ok("the official client keeps its connections")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_section(section: str, server: ApiServer) -> None:
    """Before and after print the same, and something."""
    before, after = blocks(section)
    assert ("kwsync" in before, "import kwsync" in after) == (False, True)
    told = printed(before)
    for name in ("a", "b"):
        server.patch("pods", name, {"metadata": {"labels": {"app": "web"}}})
    server.forget_history()

    assert told.strip()
    assert printed(after) == told


def test_table() -> None:
    """The table has a row for each section, whose cells are code of that section."""
    assert len(ROWS) == len(SECTIONS)
    for (before, after, link), section in zip(ROWS, SECTIONS, strict=True):
        assert link.endswith(f"](#{section.lower().replace(' ', '-').replace(',', '')})")
        for cell, block in zip((before, after), blocks(section), strict=True):
            for code in re.findall(r"`([^`]+)`", cell):
                assert code in block, (section, code)
