"""The failures that a mistake in the request brings: what is not there, what clashes, what is said wrongly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kwsync.testing.apiserver._failure import ApiError, Cause, details_of, failure, plain, qualified, quoted

MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"
BODY_LIMIT = 3 << 20
"""Bytes of a body that are read; a longer one gets 413."""
STREAM_TYPES = ("application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch")
_PROTOBUF = "application/vnd.kubernetes.protobuf"
BODY_TYPES = ("application/json", "application/yaml", _PROTOBUF)


# What is not there.


def not_found(resource: str, name: str, group: str = "") -> ApiError:
    """There is no such object."""
    message = f"{qualified(resource, group)} {quoted(name)} not found"
    return failure(404, "NotFound", message, details_of(resource, name, group))


def namespace_not_found(namespace: str) -> ApiError:
    """A create in a namespace that does not exist; the details name the namespace, not the object."""
    return not_found("namespaces", namespace)


def resource_not_found() -> ApiError:
    """A plural, version or subresource that a built-in group does not have (recorded: 404-unknown-plural)."""
    return failure(404, "NotFound", "the server could not find the requested resource", {})


def text_404() -> ApiError:
    """A group that does not exist, a custom resource that is not served, a path outside the API: no Status."""
    return plain(404, "404 page not found")


# What clashes with what is there.


def conflict(resource: str, name: str, group: str = "", why: str = MODIFIED) -> ApiError:
    """A write that was based on an older state, or whose precondition does not hold."""
    message = f"Operation cannot be fulfilled on {qualified(resource, group)} {quoted(name)}: {why}"
    return failure(409, "Conflict", message, details_of(resource, name, group))


def uid_conflict(resource: str, name: str, group: str, key: str, wanted: str, actual: str) -> ApiError:
    """A write with the uid of another object of this name; *key* is its key in etcd (recorded: update-409-uid)."""
    storage = f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: "
    precondition = f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {actual}"
    return conflict(resource, name, group, storage + precondition)


def delete_conflict(kind: str, name: str, group: str, field: str, wanted: str, actual: str) -> ApiError:
    """A precondition of a delete that does not hold; *field* is UID or ResourceVersion, *kind* no plural here."""
    since = "deleted and then recreated" if field == "UID" else "modified"
    difference = f"the {field} in the precondition ({wanted}) does not match the {field} in record ({actual})."
    return conflict(kind, name, group, f"{difference} The object might have been {since}")


def already_exists(resource: str, name: str, group: str = "") -> ApiError:
    """A create of a name that is taken."""
    message = f"{qualified(resource, group)} {quoted(name)} already exists"
    return failure(409, "AlreadyExists", message, details_of(resource, name, group))


# What is said wrongly.


def invalid(kind: str, name: str, causes: Sequence[Cause], group: str = "") -> ApiError:
    """An object, or options, with wrong fields; the message lists equal sentences once, several of them in brackets."""
    sentences = list(dict.fromkeys(f"{cause.field}: {cause.message}" for cause in causes))
    listed = f"[{', '.join(sentences)}]" if len(sentences) > 1 else "".join(sentences)
    message = f"{qualified(kind, group)} {quoted(name)} is invalid" + (f": {listed}" if listed else "")
    return failure(422, "Invalid", message, details_of(kind, name, group, causes=causes))


def invalid_options(causes: Sequence[Cause], kind: str = "ListOptions") -> ApiError:
    """Query parameters that contradict each other."""
    return invalid(kind, "", causes, "meta.k8s.io")


def unprocessable() -> ApiError:
    """A JSON patch that cannot be applied: the server does not say why (recorded: patch-json-422)."""
    return failure(422, "Invalid", "the server rejected our request due to an error in our request", {})


def bad_request(message: str) -> ApiError:
    """A request that cannot be understood."""
    return failure(400, "BadRequest", message)


def bad_version(version: str) -> ApiError:
    """A list or get whose version is no number (recorded: list-rv-unparsable)."""
    return bad_request(f"invalid resource version: {_not_a_number(version)}")


def bad_integer(text: str) -> ApiError:
    """A limit or timeoutSeconds that is no number (recorded: list-limit-unparsable)."""
    return bad_request(f"strconv.ParseInt: parsing {quoted(text)}: invalid syntax")


def unparsable_watch_version(version: str) -> ApiError:
    """A watch whose version is no number: 500 without a reason (recorded: watch-rv-unparsable)."""
    return nameless_error(_not_a_number(version))


def nameless_error(message: str) -> ApiError:
    """500 without a reason: an error in Go that nobody made a Status of, although many are the client's fault."""
    return failure(500, "", message)


def method_not_allowed() -> ApiError:
    """A method that the path does not have."""
    return failure(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})


def verb_not_supported(verb: str, resource: str, group: str = "") -> ApiError:
    """A verb that the kind does not have although its path has the method (recorded: 405-watch-not-supported)."""
    message = f"{verb} is not supported on resources of kind {quoted(qualified(resource, group))}"
    return failure(405, "MethodNotAllowed", message, details_of(resource, group=group))


def not_acceptable(accepted: Iterable[str] = BODY_TYPES) -> ApiError:
    """An Accept that names a known type, which is not to be had here (recorded: watch-yaml, crd-cbor-406)."""
    return failure(406, "NotAcceptable", f"only the following media types are accepted: {', '.join(accepted)}")


def nothing_acceptable(*, collection: bool = True) -> ApiError:
    """An Accept that names no type the server knows, of a built-in kind (recorded: list-accept-unknown)."""
    types = (*BODY_TYPES, *STREAM_TYPES) if collection else BODY_TYPES
    available = f"406: Not Acceptable\n\nAvailable representations: {', '.join(types)}"
    return failure(406, "NotAcceptable", available, {})


def not_a_list(kind: str, *, custom: bool = False) -> ApiError:
    """PartialObjectMetadata asked of a list, whatever else Accept offers (recorded: list-partial-singular)."""
    go = "*unstructured.UnstructuredList" if custom else f"*core.{kind}List"
    message = f"you requested PartialObjectMetadata, but the requested object is a list ({go})"
    return failure(406, "NotAcceptable", message)


def unsupported_media_type(accepted: Iterable[str] = BODY_TYPES) -> ApiError:
    """A body in a type that the server does not read."""
    text = "the body of the request was in an unknown format - accepted media types include: "
    return failure(415, "UnsupportedMediaType", text + ", ".join(accepted))


def unread_media_type(media_type: str) -> ApiError:
    """A body in a type that is not read here: the real server's words, but for protobuf, which only that one reads."""
    if media_type != _PROTOBUF:
        return unsupported_media_type()
    error = unsupported_media_type([name for name in BODY_TYPES if name != _PROTOBUF])
    assert error.status is not None
    error.status["message"] += "; kwsync.testing.ApiServer reads no protobuf: give kubectl a file, as in create -f"
    return error


def wrong_patch_type() -> ApiError:
    """A PATCH in plain JSON: no route takes it (recorded: patch-415)."""
    return failure(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})


def request_entity_too_large(limit: int = BODY_LIMIT) -> ApiError:
    """A body above the limit."""
    return failure(413, "RequestEntityTooLarge", f"Request entity too large: limit is {limit}")


def _not_a_number(version: str) -> str:
    why = "value out of range" if version.isascii() and version.isdigit() else "invalid syntax"
    return f"resourceVersion: Invalid value: {quoted(version)}: strconv.ParseUint: parsing {quoted(version)}: {why}"
