"""What a request is answered with instead of an object: a Status document, or a plain text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

JSON = dict[str, Any]

NO_SNIFF = {"X-Content-Type-Options": "nosniff"}


class Cause(NamedTuple):
    """One field that is wrong; *reason* is Kubernetes' name of the mistake (FieldValueInvalid, FieldValueRequired…)."""

    reason: str
    field: str
    message: str

    def document(self) -> JSON:
        """As it stands in `details.causes`; what is empty is left out."""
        values = {"reason": self.reason, "message": self.message, "field": self.field}
        return {name: value for name, value in values.items() if value}


class ApiError(Exception):
    """What a request is answered with instead of an object: *status* is a Status document, or *text* a plain text."""

    def __init__(
        self, code: int, status: JSON | None = None, *, text: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(text.strip() or (status or {}).get("message", ""))
        self.code = code
        self.status = status
        self.text = text
        self.headers: dict[str, str] = dict(headers or {})


def failure(
    code: int,
    reason: str,
    message: str,
    details: JSON | None = None,
    *,
    metadata: JSON | None = None,
    headers: Mapping[str, str] | None = None,
) -> ApiError:
    """Any failure; *details* that are given are in the document even if they are empty, as Go's omitempty does it.

    `retryAfterSeconds` in the details is also sent as the header Retry-After.
    """
    status: JSON = {"kind": "Status", "apiVersion": "v1", "metadata": metadata or {}, "status": "Failure"}
    status.update({name: text for name, text in (("message", message), ("reason", reason)) if text})
    sent = dict(headers or {})
    if details is not None:
        status["details"] = details
        if details.get("retryAfterSeconds"):
            sent["Retry-After"] = str(details["retryAfterSeconds"])
    return ApiError(code, {**status, "code": code}, headers=sent)


def plain(code: int, text: str, headers: Mapping[str, str] | None = None) -> ApiError:
    """A failure as text/plain, which Go's http.Error ends with a newline."""
    sent = {"Content-Type": "text/plain; charset=utf-8", **NO_SNIFF, **(headers or {})}
    return ApiError(code, text=f"{text}\n", headers=sent)


def success(details: JSON | None = None) -> JSON:
    """The answer to a delete of an object that is gone at once (recorded: delete-200-status)."""
    status: JSON = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    return status if details is None else {**status, "details": details}


def details_of(
    resource: str = "",
    name: str = "",
    group: str = "",
    uid: str = "",
    causes: Iterable[Cause] = (),
    retry_after: int = 0,
) -> JSON:
    """`details` of a Status, in the order of the real ones; `kind` is the plural, whatever its name says."""
    values: JSON = {"name": name, "group": group, "kind": resource, "uid": uid}
    values["causes"] = [cause.document() for cause in causes]
    values["retryAfterSeconds"] = retry_after
    return {key: value for key, value in values.items() if value}


def qualified(resource: str, group: str = "") -> str:
    """`deployments.apps`; without the point in the core group."""
    return f"{resource}.{group}" if group else resource


def quoted(text: str) -> str:
    """As Go's %q prints plain text."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'
