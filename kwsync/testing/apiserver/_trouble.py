"""The failures that need no mistake in the request: a version out of reach, or a server in trouble."""

from __future__ import annotations

from collections.abc import Mapping

from kwsync.testing.apiserver._failure import JSON, ApiError, Cause, details_of, failure, plain

# A version out of reach.


def expired() -> ApiError:
    """A list at a version that is no longer kept (recorded: list-exact-410)."""
    return failure(410, "Expired", "The resourceVersion for the provided list is too old.")


def expired_continue(token: str = "") -> ApiError:
    """A page of a list that is no longer kept; *token* goes on at the newest state (recorded: list-continue-410)."""
    message = (
        "The provided continue parameter is too old to display a consistent list result. You can start a new list "
        "without the continue parameter, or use the continue token in this response to retrieve the remainder of the "
        "results. Continuing with the provided token results in an inconsistent list - objects that were created, "
        "modified, or deleted between the time the first chunk was returned and now may show up in the list."
    )
    return failure(410, "Expired", message, metadata={"continue": token} if token else {})


def expired_event(version: str | int, oldest: str | int) -> JSON:
    """For the ERROR event of a watch below the history of a cached kind (recorded: watch-410-after-restart)."""
    return _document(failure(410, "Expired", f"too old resource version: {version} ({oldest})"))


def expired_uncached_event() -> JSON:
    """The same for a kind that is not cached, which are events only (recorded: watch-410-etcd)."""
    return _document(failure(410, "Expired", "The resourceVersion for the provided watch is too old."))


def deadline_event() -> JSON:
    """For the ERROR event of a watch whose initial state did not come in time (recorded: watch-timeout-negative)."""
    return _document(failure(500, "InternalError", "context deadline exceeded"))


def too_large_resource_version(wanted: str | int, current: str | int, retry_after: int = 1) -> ApiError:
    """A version not reached yet; *retry_after* is 0 for a list of events, 2 for a watch of them (recorded)."""
    cause = Cause("ResourceVersionTooLarge", "", "Too large resource version")
    message = f"Timeout: Too large resource version: {wanted}, current: {current}"
    return failure(504, "Timeout", message, details_of(causes=[cause], retry_after=retry_after))


def too_large_event(wanted: str | int, current: str | int, retry_after: int = 1) -> JSON:
    """The same as the object of an ERROR event."""
    return _document(too_large_resource_version(wanted, current, retry_after))


# A server in trouble.


def too_many_requests(retry_after: int = 1, headers: Mapping[str, str] | None = None) -> ApiError:
    """Rejected by a full server, as text (recorded: 429-apf-list, 429-max-in-flight-list)."""
    sent = {"Retry-After": str(retry_after), **(headers or {})}
    return plain(429, "Too many requests, please try again later.", sent)


def too_many_requests_status(message: str = "storage is (re)initializing", retry_after: int = 1) -> ApiError:
    """The same as a Status, as a server sends it whose cache is not ready."""
    return failure(429, "TooManyRequests", message, details_of(retry_after=retry_after))


def shutting_down() -> ApiError:
    """A new request to a server that is going away (recorded: 429-shutdown-list)."""
    headers = {"Retry-After": "5", "Connection": "close"}
    return plain(429, "The apiserver is shutting down, please try again later.", headers)


def internal_error(why: str) -> ApiError:
    """A fault of the server, as apimachinery's NewInternalError puts it."""
    return failure(500, "InternalError", f"Internal error occurred: {why}", details_of(causes=[Cause("", "", why)]))


def service_unavailable() -> ApiError:
    """A backend that is down, as text (recorded: aggregated-503)."""
    return plain(503, "service unavailable")


def timeout() -> ApiError:
    """A request that took longer than the server's own limit."""
    return failure(504, "Timeout", "Timeout: request did not complete within the allotted timeout", {})


def _document(error: ApiError) -> JSON:
    return error.status or {}
