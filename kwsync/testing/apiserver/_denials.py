"""The failures of who may not: 401 and 403."""

from __future__ import annotations

from kwsync.testing.apiserver._failure import NO_SNIFF, ApiError, details_of, failure, qualified, quoted


def unauthorized() -> ApiError:
    """Credentials that the server does not know, or none where it wants some."""
    return failure(401, "Unauthorized", "Unauthorized")


def forbidden(
    user: str, verb: str, resource: str, group: str = "", namespace: str = "", name: str = "", subresource: str = ""
) -> ApiError:
    """A user without the right, in the words of the authoriser (recorded: auth-403-viewer-get)."""
    full = f"{resource}/{subresource}" if subresource else resource
    where = f"in the namespace {quoted(namespace)}" if namespace else "at the cluster scope"
    why = f"User {quoted(user)} cannot {verb} resource {quoted(full)} in API group {quoted(group)} {where}"
    error = forbidden_because(resource, name, why, group)
    error.headers.update(NO_SNIFF)
    return error


def forbidden_because(resource: str, name: str, why: str, group: str = "") -> ApiError:
    """A write that no user may do, such as a create in what is terminating (recorded: crd-terminating-create)."""
    subject = f"{qualified(resource, group)} {quoted(name)}" if name else qualified(resource, group)
    return failure(403, "Forbidden", f"{subject} is forbidden: {why}", details_of(resource, name, group))


def forbidden_path(user: str, verb: str, path: str) -> ApiError:
    """A user without the right to a path that is no resource; the verb is the method in small letters."""
    message = f"forbidden: User {quoted(user)} cannot {verb} path {quoted(path)}"
    return failure(403, "Forbidden", message, {}, headers=NO_SNIFF)
