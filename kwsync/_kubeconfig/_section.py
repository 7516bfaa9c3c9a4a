"""One mapping of a kubeconfig, read with types: a wrong one is a ConfigError that says where and shows no value."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping

import attrs

from kwsync.errors import ConfigError


@attrs.frozen
class Section:
    """Null and empty values count as absent, as in Go, which knows no difference."""

    fields: Mapping[object, object] = attrs.field(repr=False)
    label: str
    """What errors call it, with its file: ``cluster 'dev' in /home/me/.kube/config``."""
    file: str
    """The kubeconfig that it stands in."""

    def error(self, problem: str) -> ConfigError:
        """An error that names this section and its file."""
        return ConfigError(f"{self.label} {problem}")

    def text(self, key: str) -> str | None:
        """A string; a number in its place was probably meant as one, but which (``010``, ``1e3``) is a guess."""
        value = self.fields.get(key)
        if value is None or isinstance(value, str):
            return value or None
        raise self.error(f"has a {key} that is no text: put it in quotes")

    def flag(self, key: str) -> bool:
        """true or false."""
        value = self.fields.get(key)
        if value is None or isinstance(value, bool):
            return bool(value)
        raise self.error(f"has a value for {key} that is neither true nor false")

    def path(self, key: str) -> str | None:
        """A file's path; a relative one starts at the kubeconfig it stands in."""
        value = self.text(key)
        return value and os.path.join(os.path.dirname(self.file), value)

    def data(self, key: str) -> bytes | None:
        """Base64, decoded."""
        value = self.text(key)
        if value is None:
            return None
        try:
            return base64.b64decode("".join(value.split()), validate=True)
        except ValueError:
            pass
        raise self.error(f"has a {key} that is no base64: encode the whole PEM file")

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings."""
        found = []
        for item in self._items(key):
            if not isinstance(item, str):
                raise self.error(f"has an item in {key} that is no text: put it in quotes")
            found.append(item)
        return tuple(found)

    def sections(self, key: str) -> list[Section]:
        """A list of mappings."""
        found = []
        for item in self._items(key):
            if not isinstance(item, Mapping):
                raise self.error(f"has an item in {key} that is no mapping")
            found.append(Section(item, f"an item in {key} of {self.label}", self.file))
        return found

    def _items(self, key: str) -> list[object]:
        items = self.fields.get(key)
        if items is None or isinstance(items, list):
            return items or []
        raise self.error(f"has a value for {key} that is no list")

    def section(self, key: str, label: str) -> Section:
        """The mapping under *key*; empty where there is none."""
        value = self.fields.get(key)
        if value is None or isinstance(value, Mapping):
            return Section(value or {}, label, self.file)
        raise self.error(f"has a value for {key} that is no mapping")

    def named(self, key: str, kind: str) -> dict[str, Section]:
        """The list under *key*, whose items have a name and, under *kind*, a mapping."""
        found: dict[str, Section] = {}
        for item in self._items(key):
            name, section = self._item(item, key, kind)
            if name in found:
                raise self.error(f"has two {key} named {name!r}: rename or remove one")
            found[name] = section
        return found

    def _item(self, item: object, key: str, kind: str) -> tuple[str, Section]:
        if not isinstance(item, Mapping):
            raise self.error(f"has an item in {key} that is no mapping")
        entry = Section(item, f"an item of {key} in {self.file}", self.file)
        name = entry.text("name")
        if name is None:
            raise entry.error("has no name")
        return name, entry.section(kind, f"{kind} {name!r} in {self.file}")
