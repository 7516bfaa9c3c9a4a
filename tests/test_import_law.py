"""The law of imports: what setup.cfg says, read here without the linter, and what no linter knows."""

from __future__ import annotations

import ast
import configparser
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = "kwsync"
EDGES = ("kwsync.testing", "kwsync.cli")
"""What nothing in the package may import, the package's own front least of all."""

SEAMS = {
    ("kwsync.cli", "main"): {"kwsync"},
    ("kwsync.cli._server", "new_server"): {"kwsync"},
    ("kwsync._json", "_choose"): {"orjson", "msgspec"},
    ("kwsync._kubeconfig._files", "_yaml_loader"): {"yaml"},
    ("kwsync._official", "_default_configuration"): {"kubernetes"},
    ("kwsync._packing", "_load_zstandard"): {"zstandard"},
    ("kwsync._scan", "_choose"): {"kwsync"},
    ("kwsync.credentials._aws_sdk", "_load"): {"botocore"},
    ("kwsync.credentials._azure", "_load"): {"azure"},
    ("kwsync.credentials._google", "_load"): {"google"},
    ("kwsync.testing._tls", "_new_ca"): {"trustme"},
    ("kwsync.testing.apiserver._client", "new_client"): {"kwsync"},
    ("kwsync.testing.apiserver._encode", "_choose"): {"orjson"},
    ("kwsync.testing.apiserver._yaml_body", "read_yaml"): {"yaml"},
}
"""The functions that import something themselves: optional dependencies, and what most users of a room do not need."""

THREAD_MAKERS = {"_thread", "asyncio", "concurrent", "multiprocessing"}


class Import(NamedTuple):
    """One import statement's wish for one module."""

    importer: str
    target: str
    line: int
    function: str | None

    def __str__(self) -> str:
        where = f" in {self.function}()" if self.function else ""
        return f"{self.importer}:{self.line}{where} imports {self.target}"


def find_modules() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    found = {}
    for path in (ROOT / PACKAGE).rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return dict(sorted(found.items()))


MODULES = find_modules()


@cache
def tree_of(module: str) -> ast.Module:
    """The syntax tree of a module."""
    return ast.parse(MODULES[module].read_text(encoding="utf-8"))


@cache
def imports_of(module: str) -> tuple[Import, ...]:
    """What a module imports anywhere, for type checkers too."""
    return tuple(_find_imports(tree_of(module), module, None))


def _find_imports(node: ast.AST, module: str, function: str | None) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            for target in _targets(child, module):
                yield Import(module, target, child.lineno, function)
        inner = child.name if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else function
        yield from _find_imports(child, module, inner)


def _targets(node: ast.Import | ast.ImportFrom, module: str) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
        return
    base = _base(node, module)
    for alias in node.names:
        name = f"{base}.{alias.name}"
        yield name if name in MODULES else base


def _base(node: ast.ImportFrom, module: str) -> str:
    if not node.level:
        return node.module or ""
    is_package = MODULES[module].name == "__init__.py"
    parts = module.split(".")
    kept = parts[: len(parts) - node.level + is_package]
    return ".".join([*kept, *([node.module] if node.module else [])])


def is_within(module: str, packages: Sequence[str]) -> bool:
    """Is it one of them, or inside one of them? ``kwsync.*`` is every room."""
    return any(
        module == package or module.startswith(package.removesuffix("*").rstrip(".") + ".") for package in packages
    )


def room_of(module: str) -> str | None:
    """The room that a module is or belongs to; None for the package's front and for foreign modules."""
    parts = module.split(".")
    return parts[1] if parts[0] == PACKAGE and len(parts) > 1 else None


def contracts(kind: str) -> list[configparser.SectionProxy]:
    """The contracts of one type in setup.cfg."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    return [config[name] for name in config.sections() if config[name].get("type") == kind]


def lines_of(contract: configparser.SectionProxy, key: str) -> list[str]:
    """The values of an option, one a line."""
    return contract[key].split()


def heights() -> dict[str, int]:
    """How high each room stands; rooms of one height do not know each other."""
    (contract,) = contracts("layers")
    layers = [line.split("|") for line in contract["layers"].strip().splitlines()]
    return {room.strip(" ()"): height for height, layer in enumerate(reversed(layers)) for room in layer}


def broken(found: Iterator[Import]) -> list[str]:
    """Imports in words, to compare with an empty list."""
    return [str(one) for one in found]


@pytest.mark.parametrize("module", [module for module in MODULES if room_of(module)])
def test_downwards(module: str) -> None:
    """Every room has its place in setup.cfg, and imports rooms below it only."""
    height = heights()
    room = room_of(module)
    assert room in height, f"setup.cfg gives no place to {room}"
    found = [(one, room_of(one.target)) for one in imports_of(module)]
    inside = [(one, target) for one, target in found if target and target != room]
    assert broken(one for one, target in inside if height.get(target, -1) >= height[room]) == []


def test_no_cycle() -> None:
    """No module imports itself, whatever the way; the files of a folder and the package's front count too."""
    graph = {module: {one.target for one in imports_of(module) if one.target in MODULES} for module in MODULES}
    assert find_cycle(graph) == []


def find_cycle(graph: Mapping[str, set[str]]) -> list[str]:
    """One cycle of the graph, or nothing: take away what imports nothing any more, until that ends."""
    left = dict(graph)
    while free := [module for module, targets in left.items() if not targets & left.keys()]:
        for module in free:
            del left[module]
    path: list[str] = []
    while left and (not path or path[-1] not in path[:-1]):
        path.append(min(left[path[-1]] & left.keys()) if path else min(left))
    return path[path.index(path[-1]) :] if path else []


@pytest.mark.parametrize("contract", contracts("forbidden"), ids=lambda contract: contract["name"])
def test_forbidden(contract: configparser.SectionProxy) -> None:
    """The rooms that a contract names import nothing that it forbids; what they share is no import."""
    sources, forbidden = lines_of(contract, "source_modules"), lines_of(contract, "forbidden_modules")
    found = (one for module in MODULES if is_within(module, sources) for one in imports_of(module))
    foreign = (one for one in found if is_within(one.target, forbidden) and not is_within(one.target, sources))
    assert broken(one for one in foreign if not is_excused(one, contract)) == []


def is_excused(one: Import, contract: configparser.SectionProxy) -> bool:
    """Does the contract itself name the import as an exception?"""
    pairs = [line.split(" -> ") for line in contract.get("ignore_imports", "").strip().splitlines()]
    return any(is_within(one.importer, [importer]) and one.target == target for importer, target in pairs)


@pytest.mark.parametrize("contract", contracts("protected"), ids=lambda contract: contract["name"])
def test_protected(contract: configparser.SectionProxy) -> None:
    """What a contract protects is imported by those alone whom it allows to."""
    protected, allowed = lines_of(contract, "protected_modules"), lines_of(contract, "allowed_importers")
    found = (one for module in MODULES if not is_within(module, allowed) for one in imports_of(module))
    assert broken(one for one in found if is_within(one.target, protected)) == []


def test_edges() -> None:
    """Nothing in the package imports its edges, so that importing kwsync does not load them."""
    inner = [module for module in MODULES if not is_within(module, [*EDGES, "kwsync.__main__"])]
    found = (one for module in inner for one in imports_of(module))
    assert broken(one for one in found if is_within(one.target, EDGES)) == []


def test_no_import_inside_a_function() -> None:
    """A function imports nothing, except an optional dependency in one of the named seams."""
    found = (one for module in MODULES for one in imports_of(module) if one.function)
    assert broken(one for one in found if not is_seam(one)) == []


def is_seam(one: Import) -> bool:
    """Is it a named function that imports its own optional dependency?"""
    return one.target.split(".")[0] in SEAMS.get((one.importer, one.function or ""), set())


@pytest.mark.parametrize("seam", SEAMS, ids=".".join)
def test_seams_exist(seam: tuple[str, str]) -> None:
    """Every named seam is there and is used, so that the list of exceptions cannot grow stale."""
    module, function = seam
    assert {one.target.split(".")[0] for one in imports_of(module) if one.function == function} == SEAMS[seam]


@pytest.mark.parametrize("module", [module for module in MODULES if not is_within(module, ["kwsync.testing"])])
def test_threads_come_from_one_room(module: str) -> None:
    """Threads are made in kwsync._threads alone, where each gets its name; nothing brings threads of its own."""
    assert broken(one for one in imports_of(module) if one.target.split(".")[0] in THREAD_MAKERS) == []
    makers = [] if module == "kwsync._threads" else list(_thread_makers(tree_of(module)))
    assert makers == []


def _thread_makers(tree: ast.Module) -> Iterator[str]:
    """Calls and base classes; an annotation makes no thread."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "threading":
            yield from (f"line {node.lineno}: {name.name}" for name in node.names if name.name in ("Thread", "Timer"))
        used = [node.func] if isinstance(node, ast.Call) else node.bases if isinstance(node, ast.ClassDef) else []
        for name in used:
            if ast.unparse(name) in ("threading.Thread", "threading.Timer"):
                yield f"line {name.lineno}: {ast.unparse(name)}"


def test_finds_a_cycle() -> None:
    """The search for a cycle finds one behind modules that are in none."""
    assert find_cycle({"a": {"b"}, "b": {"c"}, "c": {"d", "b"}, "d": set()}) == ["b", "c", "b"]
    assert find_cycle({"a": {"b"}, "b": set()}) == []


def test_sees_every_import(monkeypatch: pytest.MonkeyPatch) -> None:
    """Absolute, relative, nested and conditional imports are all seen, and names are told from modules."""
    monkeypatch.setitem(MODULES, "kwsync._clock", ROOT / PACKAGE / "_clock.py")
    text = "from kwsync import _clock, name\nfrom . import _clock\ndef f():\n  if x:\n    import a.b\n"
    tree = ast.parse(text)
    found = [(one.target, one.function) for one in _find_imports(tree, "kwsync._clock", None)]
    assert found == [
        ("kwsync._clock", None),
        ("kwsync", None),
        ("kwsync._clock", None),
        ("a.b", "f"),
    ]
