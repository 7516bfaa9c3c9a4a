"""A patch that cannot be applied."""

from __future__ import annotations

from kwsync.testing.apiserver._status import ApiError, failure, unprocessable

# A mistake that only the merge itself finds is an error without a reason in a real server, too.
_REASONS = {400: "BadRequest", 413: "RequestEntityTooLarge", 500: ""}


class PatchError(ApiError):
    """The answer to a bad patch; *why* is also there for a 422, which hides it (recorded: patch-json-422)."""

    def __init__(self, code: int, why: str) -> None:
        answer = unprocessable() if code == 422 else failure(code, _REASONS[code], why)
        super().__init__(code, answer.status, headers=answer.headers)
        self.why = why

    def __str__(self) -> str:
        return self.why
