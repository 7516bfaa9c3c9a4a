"""Check an installed kwsync from outside of its checkout: complete, importable, typed, and with only what it needs."""

import importlib
import importlib.metadata
import pkgutil
import sys
from pathlib import Path

import kwsync

REQUIRED = {"attrs", "certifi", "urllib3"}
OPTIONAL = {"kwsync.testing.pytest_plugin": "pytest"}


def public_modules() -> list[str]:
    """Every module whose path has no underscore."""
    found = [module.name for module in pkgutil.walk_packages(kwsync.__path__, "kwsync.")]
    return ["kwsync", *(name for name in found if "._" not in name)]


def main() -> None:
    """Fail with a traceback that names what is wrong."""
    folder = Path(kwsync.__file__).parent
    assert folder.is_relative_to(sys.prefix), f"this is not the installed one: {folder}"
    assert (folder / "py.typed").is_file(), "type checkers need py.typed"
    metadata = importlib.metadata.metadata("kwsync")
    assert metadata["License-Expression"] == "MIT"
    assert metadata["Description-Content-Type"] == "text/markdown"
    installed = {distribution.metadata["Name"].lower() for distribution in importlib.metadata.distributions()}
    assert installed - {"pip", "setuptools", "wheel"} == REQUIRED | {"kwsync"}, installed
    for name in public_modules():
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name != OPTIONAL.get(name):
                raise
    print(f"kwsync {metadata['Version']}: {', '.join(public_modules())}")


if __name__ == "__main__":
    main()
