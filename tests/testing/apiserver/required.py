"""Programs and packages of others: where one is missing a test is skipped, or fails where it has to run, as in CI."""

from __future__ import annotations

import importlib
import shutil
from typing import Any

import pytest

from tests.controlplane.fixtures import give_up


def required_program(name: str) -> str:
    """The path of a program."""
    path = shutil.which(name)
    if path is None:
        give_up(f"{name} is not on the PATH")
    return path


def required_module(name: str) -> Any:
    """A module of a client that the extra kwsync[test] installs.

    CI runs once without some optional packages; a client that needs one of those cannot be used there, and is skipped.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        own = name.partition(".")[0]
        if error.name is not None and error.name.partition(".")[0] == own:
            give_up(f"{own} is not installed")
        pytest.skip(f"{own} needs {error.name}, which is not installed")
