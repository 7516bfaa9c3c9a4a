"""The rules of each write: what is kept, what is checked, what the server sets itself. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from kwsync.testing.apiserver import _lifecycle, _status
from kwsync.testing.apiserver._collection import ADDED, MODIFIED, Version
from kwsync.testing.apiserver._defaults import complete, complete_status
from kwsync.testing.apiserver._failure import quoted
from kwsync.testing.apiserver._kind import Kind
from kwsync.testing.apiserver._metadata import born, carried, is_terminating
from kwsync.testing.apiserver._numbers import parse_version
from kwsync.testing.apiserver._rules import check_finalizers, check_object
from kwsync.testing.apiserver._storage import Storage, key_of

Object = dict[str, Any]

_TYPE = ("kind", "apiVersion", "metadata")
_SUFFIX_LETTERS = "bcdfghjklmnpqrst"
_SUFFIX_LENGTH = 5
_MOST_BEGINNING = 63 - _SUFFIX_LENGTH
_NAME_TRIES = 8
_CREATED_BY_UPDATE = frozenset(
    [
        "endpoints",
        "events",
        "leases",
        "limitranges",
        "services",
        "roles",
        "rolebindings",
        "clusterroles",
        "clusterrolebindings",
    ]
)
"""Kinds whose PUT creates what is not there (AllowCreateOnUpdate)."""
_CONDITIONAL = frozenset(
    [
        "leases",
        "customresourcedefinitions",
        "apiservices",
        "csidrivers",
        "csinodes",
        "runtimeclasses",
        "poddisruptionbudgets",
        "volumeattachments",
        "mutatingwebhookconfigurations",
        "validatingwebhookconfigurations",
    ]
)
"""Built-in kinds whose PUT must carry a version, as that of every custom kind (no AllowUnconditionalUpdate)."""


class Deletion(NamedTuple):
    """What a delete asks for. *grace* is in seconds; None for what the kind says."""

    grace: int | None = None
    uid: str = ""
    resource_version: str = ""
    dry_run: bool = False


class Written(NamedTuple):
    """What a write left. *gone*: the object is no longer there; *created*: it was not there before."""

    version: Version
    gone: bool = False
    created: bool = False


class State(Storage):
    """The rules of each write, on top of what is stored."""

    def create(self, kind: Kind, namespace: str, object: Object, *, dry_run: bool = False) -> Written:
        """Store a new object; 409 where the name is taken, 404 without its namespace, 403 where that is ending."""
        given = object.get("metadata") or {}
        if given.get("resourceVersion") not in (None, "", "0"):
            raise _status.nameless_error("resourceVersion should not be set on objects to be created")
        _lifecycle.check_open(self, kind, namespace, given.get("name") or "")
        new = self._new(kind, namespace, object, given)
        check_object(kind, new)
        key = key_of(namespace, new["metadata"]["name"])
        if key in self.collection(kind.stored_as).objects:
            raise _status.already_exists(kind.plural, new["metadata"]["name"], kind.group)
        if dry_run:
            del new["metadata"]["resourceVersion"]
            return Written(Version(key, new, 0), created=True)
        version = self.commit(kind, ADDED, key, new, None)
        return Written(_lifecycle.after_write(self, kind, None, version), created=True)

    def _new(self, kind: Kind, namespace: str, object: Object, given: Mapping[str, Any]) -> Object:
        name = given.get("name") or self._free_name(kind, namespace, given.get("generateName"))
        if not name:
            cause = _status.Cause(
                "FieldValueRequired", "metadata.name", "Required value: name or generateName is required"
            )
            raise _status.invalid(kind.name, "", [cause], kind.group)
        metadata = born(given, name, namespace, self.new_uid(), self.now(), int(kind.has_generation))
        new = _body(object, metadata)
        # A node says its status itself when it registers; everybody else's is the controllers' to write.
        if kind.has_status and kind.plural != "nodes":
            new.pop("status", None)
        complete(kind.stored_as, new, creating=True)
        return new

    def _free_name(self, kind: Kind, namespace: str, beginning: str | None) -> str:
        """A name that begins so; a few are tried, as a real server does it."""
        name = ""
        for _ in range(_NAME_TRIES if beginning else 0):
            digits = self.new_uid()[-_SUFFIX_LENGTH:]
            name = (
                f"{(beginning or '')[:_MOST_BEGINNING]}{''.join(_SUFFIX_LETTERS[int(digit, 16)] for digit in digits)}"
            )
            if self.find(kind, namespace, name) is None:
                break
        return name

    def replace(
        self, kind: Kind, namespace: str, name: str, object: Object, *, status: bool = False, dry_run: bool = False
    ) -> Written:
        """Store an object over the one of its name, or with *status* its status alone.

        409 when it carries another version or uid. A write that changes nothing keeps the version (trap 10).
        """
        given = object.get("metadata") or {}
        old = self.find(kind, namespace, name)
        if old is None and kind.plural in _CREATED_BY_UPDATE and not status:
            return self.create(kind, namespace, {**object, "metadata": {**given, "name": name}}, dry_run=dry_run)
        old = old or self.get(kind, namespace, name)
        _check_versions(kind, old, given)
        new = self._rewritten(kind, old, object, status)
        if new == old.object:
            return Written(old)
        check_finalizers(kind, old.metadata, new["metadata"])
        check_object(kind, new, old.object)
        if _changed_spec(kind, old.object, new):
            new["metadata"] = {**new["metadata"], "generation": old.metadata.get("generation", 0) + 1}
        if dry_run:
            return Written(Version(old.key, new, old.revision))
        return self._store(kind, old, new)

    def _rewritten(self, kind: Kind, old: Version, object: Object, status: bool) -> Object:
        if status:
            rest = {name: value for name, value in old.object.items() if name != "status"}
            written = {**rest, "status": object["status"]} if "status" in object else rest
            complete_status(kind.stored_as, written)
            return written
        new = _body(object, carried(object.get("metadata") or {}, old.metadata))
        if kind.has_status:
            new.pop("status", None)
            if "status" in old.object:
                new["status"] = old.object["status"]
        complete(kind.stored_as, new)
        return new

    def _store(self, kind: Kind, old: Version, new: Object) -> Written:
        metadata = new["metadata"]
        if is_terminating(metadata) and not metadata.get("finalizers") and not metadata["deletionGracePeriodSeconds"]:
            # Trap 8: no MODIFIED, DELETED still shows the finalizer, and the answer carries the old version.
            self.remove(kind, old)
            return Written(Version(old.key, new, old.revision), gone=True)
        version = self.commit(kind, MODIFIED, old.key, new, old)
        return Written(_lifecycle.after_write(self, kind, old, version))

    def delete(self, kind: Kind, namespace: str, name: str, options: Deletion = Deletion()) -> Written:  # noqa: B008
        """Delete an object, or begin to: with finalizers, and for pods with a grace period, it goes in two steps."""
        _lifecycle.check_mortal(kind, name)
        old = self.get(kind, namespace, name)
        _check_deletion(kind, old, options)
        grace = _lifecycle.grace_of(kind, old, options.grace)
        if is_terminating(old.metadata) and grace >= old.metadata.get("deletionGracePeriodSeconds", 0):
            return Written(old)
        if options.dry_run:
            return Written(old, gone=not old.metadata.get("finalizers") and not grace)
        return self._delete(kind, old, grace)

    def _delete(self, kind: Kind, old: Version, grace: int) -> Written:
        version = old
        finalizers = old.metadata.get("finalizers")
        if finalizers or _lifecycle.dies_in_two_steps(kind):
            version = self.commit(kind, MODIFIED, old.key, _lifecycle.dying(kind, old, self.now(), grace), old)
            if finalizers or grace:
                return Written(version)
        if _lifecycle.holds_others(kind):
            return self._empty(kind, version)
        return Written(self.remove(kind, version), gone=True)

    def _empty(self, kind: Kind, holder: Version) -> Written:
        """Delete what a namespace or a definition holds, and then that itself, as far as finalizers let it."""
        for member, version in _lifecycle.members(self, kind, holder):
            # One deletion may take others with it.
            if self.find(member, version.namespace, version.name) is version:
                self.delete(member, version.namespace, version.name, Deletion(grace=0))
        _lifecycle.finish(self, kind.stored_as, holder.key)
        return Written(holder, gone=self.find(kind, "", holder.name) is None)

    def remove(self, kind: Kind, old: Version) -> Version:
        """Take an object away at once; its last state at the version of the deletion."""
        gone = self.take_away(kind, old)
        _lifecycle.after_removal(self, kind, old)
        return gone


def _body(object: Object, metadata: Object) -> Object:
    body: Object = {"metadata": metadata}
    body.update((name, value) for name, value in object.items() if name not in _TYPE)
    return body


def _changed_spec(kind: Kind, old: Object, new: Object) -> bool:
    if not kind.has_generation:
        return False
    apart = ("metadata", "status") if kind.has_status else ("metadata",)
    return any(old.get(name) != new.get(name) for name in {*old, *new} if name not in apart)


def _check_versions(kind: Kind, old: Version, given: Mapping[str, Any]) -> None:
    uid, version = given.get("uid"), given.get("resourceVersion")
    name, group = old.name, kind.group
    if uid and uid != old.metadata["uid"]:
        key = f"/registry/{kind.group + '/' if kind.custom else ''}{kind.plural}/{old.key}"
        raise _status.uid_conflict(kind.plural, name, group, key, uid, old.metadata["uid"])
    if version and parse_version(version) is None:
        raise _status.nameless_error(f"strconv.ParseUint: parsing {quoted(version)}: invalid syntax")
    if version and version != old.metadata["resourceVersion"]:
        raise _status.conflict(kind.plural, name, group)
    if not version and (kind.custom or kind.plural in _CONDITIONAL):
        text = "Invalid value: 0: must be specified for an update"
        cause = _status.Cause("FieldValueInvalid", "metadata.resourceVersion", text)
        raise _status.invalid(kind.plural, name, [cause], group)


def _check_deletion(kind: Kind, old: Version, options: Deletion) -> None:
    metadata = old.metadata
    for field, wanted, actual in (
        ("UID", options.uid, metadata["uid"]),
        ("ResourceVersion", options.resource_version, metadata["resourceVersion"]),
    ):
        if wanted and wanted != actual:
            raise _status.delete_conflict(kind.name, old.name, kind.group, field, wanted, actual)
