"""What the numbers were measured on."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import ssl
from pathlib import Path

PACKAGES = ("kwsync", "urllib3", "orjson", "msgspec", "kubernetes", "lightkube")


def describe() -> dict[str, str | int | float]:
    """Processor, cores, load average of the last minute, and the versions of what takes part."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count() or 0,
        "system": f"{platform.system()} {platform.release()}",
        "load": round(os.getloadavg()[0], 2),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "openssl": ssl.OPENSSL_VERSION,
        **{package: version_of(package) or "not installed" for package in PACKAGES},
    }


def version_of(package: str) -> str | None:
    """The version of an installed package, else None."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
