"""Every failure is, word for word and member for member, what a real server was seen to answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kwsync.testing.apiserver import _status
from kwsync.testing.apiserver._names import subdomain_errors
from kwsync.testing.apiserver._status import ApiError, Cause
from tests.testing.apiserver import recorded

MATCH = "resourceVersionMatch"
ONLY = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"


def forbidden(field: str, why: str) -> Cause:
    """The cause of a query parameter that is not allowed here."""
    return Cause("FieldValueForbidden", field, f"Forbidden: {why}")


def unsupported(value: str, *allowed: str) -> Cause:
    """The cause of an unknown resourceVersionMatch."""
    supported = ", ".join(f'"{each}"' for each in allowed)
    return Cause("FieldValueNotSupported", MATCH, f'Unsupported value: "{value}": supported values: {supported}')


WITHOUT_VERSION = forbidden(MATCH, "resourceVersionMatch is forbidden unless resourceVersion is provided")
WITH_CONTINUE = forbidden(MATCH, "resourceVersionMatch is forbidden when continue is provided")
BAD_NAME = Cause("FieldValueInvalid", "metadata.name", f'Invalid value: "Bad_Name": {subdomain_errors("Bad_Name")[0]}')
UID = "fb047ae6-b516-4a07-bc19-c95b696a90c5"
NOBODY = "00000000-0000-0000-0000-000000000000"
MANAGER = Cause("FieldValueRequired", "fieldManager", "Required value: is required for apply patch")

STATUSES: dict[str, ApiError] = {
    "404-unknown-plural": _status.resource_not_found(),
    "get-404": _status.not_found("configmaps", "nope"),
    "lease-get-404": _status.not_found("leases", "lead", "coordination.k8s.io"),
    "create-404-namespace": _status.namespace_not_found("nowhere"),
    "create-409-exists": _status.already_exists("configmaps", "w-1"),
    "lease-create-409": _status.already_exists("leases", "lead", "coordination.k8s.io"),
    "update-409-conflict": _status.conflict("configmaps", "w-1"),
    "lease-update-409": _status.conflict("leases", "lead", "coordination.k8s.io"),
    "update-409-uid": _status.uid_conflict("configmaps", "w-1", "", "/registry/configmaps/demo/w-1", NOBODY, UID),
    "delete-409-precondition": _status.delete_conflict(
        "ConfigMap", "w-1", "", "UID", NOBODY, "c9d903f6-f7dc-42c9-86bc-75804640d1dd"
    ),
    "create-422-invalid": _status.invalid("ConfigMap", "Bad_Name", [BAD_NAME]),
    "apply-422-no-manager": _status.invalid_options([MANAGER], "PatchOptions"),
    "list-exact-no-rv": _status.invalid_options([WITHOUT_VERSION]),
    "list-continue-with-rvm": _status.invalid_options([WITHOUT_VERSION, WITH_CONTINUE]),
    "list-match-unknown": _status.invalid_options([unsupported("Nearest", "Exact", "NotOlderThan", "")]),
    "watchlist-rvm-exact": _status.invalid_options([forbidden(MATCH, ONLY), unsupported("Exact", "NotOlderThan")]),
    "patch-json-422": _status.unprocessable(),
    "list-continue-with-rv": _status.bad_request("specifying resource version is not allowed when using continue"),
    "list-rv-unparsable": _status.bad_version("abc"),
    "list-rv-negative": _status.bad_version("-1"),
    "list-limit-unparsable": _status.bad_integer("abc"),
    "watch-rv-unparsable": _status.unparsable_watch_version("abc"),
    "create-500-with-rv": _status.nameless_error("resourceVersion should not be set on objects to be created"),
    "405-post-object": _status.method_not_allowed(),
    "405-watch-not-supported": _status.verb_not_supported("watch", "componentstatuses"),
    "crd-cbor-406": _status.not_acceptable(),
    "list-accept-unknown": _status.nothing_acceptable(),
    "list-partial-singular": _status.not_a_list("ConfigMap"),
    "create-415": _status.unsupported_media_type(),
    "crd-strategic-415": _status.unsupported_media_type(
        ["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"]
    ),
    "patch-415": _status.wrong_patch_type(),
    "auth-401-bad-token": _status.unauthorized(),
    "auth-403-anonymous": _status.forbidden("system:anonymous", "list", "configmaps", namespace="demo"),
    "auth-403-viewer-get": _status.forbidden("viewer", "get", "configmaps", namespace="demo", name="cm-a"),
    "auth-403-viewer-list-all": _status.forbidden("viewer", "list", "configmaps"),
    "crd-terminating-create": _status.forbidden_because(
        "widgets", "w-new", "create not allowed while custom resource definition is terminating", "example.com"
    ),
    "list-exact-410": _status.expired(),
    "list-continue-410": _status.expired_continue(
        "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoicDEuMVx1MDAwMCJ9"
    ),
    "list-rv-too-large": _status.too_large_resource_version(99999999, 260),
    "list-events-rv-too-large": _status.too_large_resource_version(99999999, 418, 0),
}

EVENTS: dict[str, dict[str, Any]] = {
    "watch-410-after-restart": _status.expired_event(608, 615),
    "watch-410-etcd": _status.expired_uncached_event(),
    "watchlist-rv-too-large": _status.too_large_event(99999999, 351),
    "watch-events-watchlist-rv-too-large": _status.too_large_event(99999999, 418, 2),
    "watch-timeout-negative": _status.deadline_event(),
}

TEXTS: dict[str, ApiError] = {
    "404-unknown-group": _status.text_404(),
    "429-apf-list": _status.too_many_requests(),
    "429-max-in-flight-list": _status.too_many_requests(),
    "429-shutdown-list": _status.shutting_down(),
    "aggregated-503": _status.service_unavailable(),
}


@pytest.mark.parametrize("name", STATUSES)
def test_status_documents_are_those_of_a_real_server(name: str) -> None:
    """The code, every member and the order of the members."""
    answer, error = recorded.transcript(name), STATUSES[name]
    assert error.code == answer.status
    assert json.dumps(error.status) == json.dumps(json.loads(answer.answer_body))


@pytest.mark.parametrize("name", STATUSES)
def test_status_headers_are_those_of_a_real_server(name: str) -> None:
    """Retry-After stands where the details have retryAfterSeconds, nosniff on 403."""
    answer = recorded.transcript(name)
    for header in ("Retry-After", "X-Content-Type-Options"):
        assert STATUSES[name].headers.get(header) == answer.answer_headers.get(header)


@pytest.mark.parametrize("name", EVENTS)
def test_error_events_hold_the_status_of_a_real_server(name: str) -> None:
    """In a stream there is no header, only the document."""
    assert json.dumps(EVENTS[name]) == json.dumps(recorded.event(name))


@pytest.mark.parametrize("name", TEXTS)
def test_texts_are_those_of_a_real_server(name: str) -> None:
    """Where a real server sends no Status: the text, its type and what goes with it."""
    answer, error = recorded.transcript(name), TEXTS[name]
    assert (error.code, error.text.encode(), error.status) == (answer.status, answer.answer_body, None)
    for header, value in error.headers.items():
        assert answer.answer_headers.get(header) == value


def test_success_tells_what_was_deleted() -> None:
    """A delete of an object without finalizers."""
    details = _status.details_of("configmaps", "w-1", uid="fb047ae6-b516-4a07-bc19-c95b696a90c5")
    assert json.dumps(_status.success(details)) == json.dumps(recorded.body("delete-200-status"))


def test_a_failure_is_an_exception_with_its_message() -> None:
    """So that a traceback says what was answered."""
    assert str(_status.not_found("pods", "a")) == 'pods "a" not found'
    assert str(_status.text_404()) == "404 page not found"


def test_equal_causes_are_said_once() -> None:
    """As Go's aggregate of errors does it; the causes are all listed."""
    cause = Cause("FieldValueRequired", "spec", "Required value")
    error = _status.invalid("Pod", "a", [cause, cause])
    assert str(error) == 'Pod "a" is invalid: spec: Required value'
    assert error.status is not None
    assert len(error.status["details"]["causes"]) == 2


def test_a_version_beyond_64_bits_is_out_of_range() -> None:
    """Go has another word for it than for what is no number."""
    assert str(_status.bad_version("9" * 30)).endswith(": value out of range")


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (_status.request_entity_too_large(), 413, "Request entity too large: limit is 3145728"),
        (_status.timeout(), 504, "Timeout: request did not complete within the allotted timeout"),
        (_status.internal_error("boom"), 500, "Internal error occurred: boom"),
        (_status.too_many_requests_status(), 429, "storage is (re)initializing"),
        (_status.forbidden_path("eve", "get", "/metrics"), 403, 'forbidden: User "eve" cannot get path "/metrics"'),
        (
            _status.delete_conflict("Pod", "a", "", "ResourceVersion", "1", "2"),
            409,
            (
                'Operation cannot be fulfilled on Pod "a": the ResourceVersion in the precondition (1) does not match '
                "the ResourceVersion in record (2). The object might have been modified"
            ),
        ),
    ],
)
def test_failures_that_were_not_recorded_have_the_words_of_the_source(error: ApiError, code: int, message: str) -> None:
    """apimachinery's api/errors, apiserver's rest/delete.go and filters."""
    assert (error.code, str(error)) == (code, message)
