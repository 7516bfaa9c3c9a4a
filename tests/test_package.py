"""The package as a whole: what importing it costs, what it shows, and that all of it is documented."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import inspect
import io
import json
import os
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, get_origin

import pytest

import kwsync

FOLDER = Path(kwsync.__file__).parent
PUBLIC = [
    "kwsync",
    "kwsync.cli",
    "kwsync.credentials",
    "kwsync.errors",
    "kwsync.mapping",
    "kwsync.ratelimit",
    "kwsync.testing",
    "kwsync.typing",
]

NOT_LOADED = ["click", "http.server", "kwsync.cli", "kwsync.testing", "msgspec", "orjson", "pytest", "trustme", "yaml"]
IMPORT_SECONDS = 0.08
IMPORT_KIB = 8 * 1024
"""What importing kwsync may add to importing urllib3 (design: 0.08 s, 8 MiB)."""

MEASURE = """
import json, os, sys, time
import urllib3
def resident():
    if sys.platform != "linux": return 0
    with open("/proc/self/statm") as file: return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024
def used(): return time.process_time(), resident()
seconds, memory = used()
import kwsync
print(json.dumps([*(after - before for before, after in zip((seconds, memory), used())), sorted(sys.modules)]))
"""


def measure(bytecode: Path | None = None) -> tuple[float, int, list[str]]:
    """Import kwsync in a fresh process: processor seconds, KiB (Linux), and all modules loaded.

    Whoever measures gives a folder for *bytecode*, which an installed package has, but a checkout need not have.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    if bytecode is not None:
        environment["PYTHONPYCACHEPREFIX"] = str(bytecode)
    done = subprocess.run(
        [sys.executable, "-c", MEASURE], env=environment, capture_output=True, text=True, timeout=30, check=True
    )
    seconds, memory, modules = json.loads(done.stdout)
    return seconds, memory, modules


def modules_of_package() -> list[str]:
    """Every module by its dotted name."""
    names = (path.relative_to(FOLDER.parent).with_suffix("").parts for path in FOLDER.rglob("*.py"))
    return sorted(".".join(parts[:-1] if parts[-1] == "__init__" else parts) for parts in names)


def groups_of(module: ModuleType) -> list[list[str]]:
    """The names in ``__all__``; a comment line or an empty line begins another group."""
    source = inspect.getsource(module)
    (assigned,) = [
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    ]
    groups: list[list[str]] = [[]]
    for token in tokenize.generate_tokens(io.StringIO(ast.get_source_segment(source, assigned.value) or "").readline):
        if token.type == tokenize.STRING:
            groups[-1].append(ast.literal_eval(token.string))
        elif (token.type == tokenize.COMMENT and token.line.strip().startswith("#")) or token.line == "\n":
            groups.append([])
    return [group for group in groups if group]


def documented(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """What needs a docstring: the public names of a module, and the public members that kwsync gives its classes."""
    for name in module.__all__:
        thing = getattr(module, name)
        if inspect.isclass(thing) and not get_origin(thing):  # Python 3.10 takes Callable[...] for a class
            yield name, thing
            for member, value in vars(thing).items():
                if not member.startswith("_") and (inspect.isroutine(value) or isinstance(value, property)):
                    yield f"{name}.{member}", getattr(thing, member)
        elif inspect.isroutine(thing):
            yield name, thing


def doc_of(thing: Any) -> str | None:
    """A docstring; a method may inherit it, a class must have its own."""
    return thing.__doc__ if inspect.isclass(thing) else inspect.getdoc(thing)


class TestImport:
    def test_loads_no_more_than_it_needs(self) -> None:
        """Importing kwsync loads no parser of YAML, no server, no test equipment and no command line."""
        loaded = measure()[2]
        assert [name for name in NOT_LOADED if name in loaded] == []

    def test_cost(self, tmp_path: Path) -> None:
        """Importing kwsync costs 8 MiB beyond urllib3 at most, and no more than twice 0.08 s on a busy machine.

        The best of five runs counts; `python -m tests.bench --only imports` holds it to 0.08 s on an idle one.
        """
        seconds, memory, _ = zip(*(measure(tmp_path) for _ in range(5)), strict=True)
        print(f"import kwsync: {min(seconds):.3f} s, {min(memory)} KiB")
        assert min(seconds) <= 2 * IMPORT_SECONDS
        assert min(memory) <= IMPORT_KIB


@pytest.mark.parametrize("name", ["credentials", "mapping", "ratelimit", "typing"])
def test_public_rooms(name: str) -> None:
    """The public rooms are there after ``import kwsync`` alone, as their names in the documentation say."""
    program = f"import kwsync; assert kwsync.{name}.__name__ == 'kwsync.{name}'; assert {name!r} in dir(kwsync)"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=30)


class TestMetadata:
    def test_requires_three_packages(self) -> None:
        """kwsync requires urllib3, attrs and certifi, and nothing else unless an extra is asked for."""
        required = [one for one in importlib.metadata.requires("kwsync") or [] if "extra ==" not in one]
        assert sorted(one.split(">=")[0] for one in required) == ["attrs", "certifi", "urllib3"]

    def test_version(self) -> None:
        """The package and its metadata tell one version."""
        assert importlib.metadata.version("kwsync") == importlib.import_module("kwsync._version").__version__

    def test_typed(self) -> None:
        """The marker that tells type checkers to look lies in the package."""
        assert (FOLDER / "py.typed").is_file()


@pytest.mark.parametrize("name", PUBLIC)
class TestPublicNames:
    def test_all(self, name: str) -> None:
        """Every name in ``__all__`` is there, once, and sorted within its group."""
        module = importlib.import_module(name)
        groups = groups_of(module)
        names = [one for group in groups for one in group]
        assert names == list(module.__all__)
        assert len(set(names)) == len(names)
        assert [one for one in names if not hasattr(module, one)] == []
        assert groups == [sorted(group) for group in groups]

    def test_documented(self, name: str) -> None:
        """Every public class, function, method and property has a docstring."""
        module = importlib.import_module(name)
        assert [what for what, thing in documented(module) if not (doc_of(thing) or "").strip()] == []


@pytest.mark.parametrize("name", modules_of_package())
def test_module_docstring(name: str) -> None:
    """Every module says in its first line what it is there for."""
    assert ast.get_docstring(ast.parse(path_of(name).read_text(encoding="utf-8")))


def path_of(module: str) -> Path:
    """Where the source of a module lies."""
    path = FOLDER.parent.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def test_every_test_states_its_rule() -> None:
    """Every test function has a docstring: the suite is the specification."""
    silent = [
        f"{path.name}:{node.lineno} {node.name}"
        for path in sorted(Path(__file__).parent.rglob("test_*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and not ast.get_docstring(node)
    ]
    assert silent == []
