"""Which kubeconfigs there are, and what is in them: JSON by itself, YAML with the extra."""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable, Iterable, Mapping

from kwsync import _json
from kwsync._kubeconfig._section import Section
from kwsync.errors import ConfigError

SIZE_LIMIT = 16 << 20
"""Bytes; a kubeconfig of a thousand clusters has three million."""


def read_kubeconfigs(path: str | os.PathLike[str] | None, environ: Mapping[str, str]) -> list[Section]:
    """The file *path*; else those of KUBECONFIG that are there; else ``~/.kube/config``. Never an empty list."""
    if path is not None:
        return [_read_one(_absolute(os.fspath(path), environ), "pass the path of a kubeconfig")]
    if environ.get("KUBECONFIG"):
        return _read_several(environ["KUBECONFIG"], environ)
    return [_read_one(_absolute("~/.kube/config", environ), "set KUBECONFIG or pass a path")]


def _read_several(paths: str, environ: Mapping[str, str]) -> list[Section]:
    files = (_absolute(path, environ) for path in paths.split(os.pathsep) if path.strip())
    found = [section for section in map(_read, files) if section is not None]
    if not found:
        raise ConfigError(f"there is no kubeconfig: KUBECONFIG is {paths!r}, and no such file exists")
    return found


def _read_one(path: str, advice: str) -> Section:
    section = _read(path)
    if section is None:
        raise ConfigError(f"there is no kubeconfig {path}: {advice}")
    return section


def _absolute(path: str, environ: Mapping[str, str]) -> str:
    """Fixed now, so that a later change of the working directory moves nothing."""
    if path.startswith("~/"):
        path = os.path.join(environ.get("HOME") or os.path.expanduser("~"), path[2:])
    return os.path.abspath(path)


def _read(path: str) -> Section | None:
    """None for a file that is not there."""
    try:
        with open(path, "rb") as file:
            data = file.read(SIZE_LIMIT + 1)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        detail = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigError(f"the kubeconfig {path} cannot be read: {detail}") from error
    if len(data) > SIZE_LIMIT:
        raise ConfigError(f"the kubeconfig {path} is larger than 16 MiB: is it one?")
    document = _parse(path, data) or {}
    if not isinstance(document, Mapping):
        raise ConfigError(f"the kubeconfig {path} is no mapping at its top: is it a kubeconfig?")
    return Section(document, f"the kubeconfig {path}", path)


def _parse(path: str, data: bytes) -> object:
    """A parser's own error would show lines of the file, so none is chained to ours."""
    data = data.removeprefix(codecs.BOM_UTF8)
    if not data.strip():
        return None
    try:
        return _json.loads(data)
    except ValueError:
        pass
    try:
        return _yaml_loader()(data)
    except ImportError:
        problem = 'is no JSON, and YAML needs PyYAML: pip install "kwsync[kubeconfig]"'
    except Exception as error:  # noqa: BLE001 - PyYAML raises KeyError, IndexError, AttributeError … on some documents
        problem = f"is neither YAML nor JSON{_line_of(error)}: repair or replace it"
    raise ConfigError(f"the kubeconfig {path} {problem}")


def _yaml_loader() -> Callable[[bytes], object]:
    """The one seam to PyYAML; ImportError where it is not installed."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return lambda data: yaml.load(data, loader)  # noqa: S506 - a safe one, in C or in Python


def _line_of(error: Exception) -> str:
    line = getattr(getattr(error, "problem_mark", None), "line", None)
    return "" if line is None else f" (line {line + 1})"


def merge(sections: Iterable[dict[str, Section]]) -> dict[str, Section]:
    """By name, the first file wins, and each entry stays whole."""
    merged: dict[str, Section] = {}
    for entries in sections:
        merged = {**entries, **merged}
    return merged
