"""``kwsync auth``."""

from __future__ import annotations

import json
import logging
import re
from typing import Any

import click

from kwsync import Client, ErrorOrigin, ErrorType, WatchError
from kwsync._clock import wall
from kwsync.cli._documents import mapping, text
from kwsync.cli._errors import LOG_IN_AGAIN, CommandError, ExitCode, brief_message, explain, location
from kwsync.cli._identity import identity_of, lines_of, problem_of
from kwsync.cli._options import configured, open_client, seconds_option, verbose_option
from kwsync.cli._output import Output
from kwsync.cli._text import escaped, escaped_json
from kwsync.cli._verbose import tell, telling
from kwsync.credentials import Anonymous, describe

log = logging.getLogger("kwsync.cli.auth")

REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
"""Who am I? Since Kubernetes 1.28, and for everybody with a name."""
_REVIEW = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
_NAMES = "/api"
"""What every server has, for everybody with a name."""

SECONDS = 30.0
_USER = re.compile('User "([^"]*)" cannot')
"""In the words of a 403."""
_ANONYMOUS = "system:anonymous"
_GIVE_ONE = "give the user a credential in the kubeconfig"


@click.group("auth", short_help="See why a server says 401.", invoke_without_command=True)
@click.pass_context
def auth(context: click.Context) -> ExitCode:
    """Which cluster would be asked, as whom, and whether it agrees."""
    if context.invoked_subcommand is None:
        tell(f"{context.get_help()}\n")
        return ExitCode.USAGE
    return ExitCode.DONE


@auth.command("check", short_help="Tell which cluster, user and credential would be used, and try them.")
@configured
@click.option("--offline", is_flag=True, help="Do not ask the server.")
@click.option("-o", "--output", "form", type=click.Choice(["text", "json"]), default="text", help="Default: text.")
@seconds_option("--timeout", "So long the server may take; default: 30.")
@verbose_option
def check(
    kubeconfig: str | None, context: str | None, offline: bool, form: str, timeout: float | None, verbosity: int
) -> None:
    """Tell which cluster, user and credential would be used, until when that is valid, and what speaks against it.

    Then the server is asked who that is. Secrets are never shown. What a token or a certificate says of itself is told
    as it says it; nobody has verified it. A plugin or a cloud is asked only with the server.
    """
    output = Output()
    with telling(verbosity), open_client(kubeconfig, context) as client:
        who = describe(client.credential)
        identity = identity_of(client, who, wall())
        if form == "text":
            output.write(escaped(line) for line in lines_of(identity))
        problem = problem_of(client, who)
        failure = None if problem is None else explain(problem, client, "")
        if failure is None and not offline:
            answer, failure = _asked(client, SECONDS if timeout is None else timeout)
            before, who = lines_of(identity), describe(client.credential)
            identity = {**identity_of(client, who, wall()), "answer": answer}
            if form == "text":
                learned = [line for line in lines_of(identity) if line not in before]  # from a plugin, or a cloud
                output.write(escaped(line) for line in [*learned, *_answer_lines(client, answer)])
        if form == "json":
            output.write(_document({**identity, "failure": failure and str(failure)}, unicode=output.takes_unicode))
    if failure is not None:
        raise failure


def _document(document: dict[str, Any], *, unicode: bool) -> list[str]:
    lines = json.dumps(document, indent=2, ensure_ascii=not unicode).split("\n")
    return [escaped_json(line) for line in lines]


def _asked(client: Client, seconds: float) -> tuple[dict[str, Any] | None, CommandError | None]:
    """Whom the server takes us for; or what came in the way, and maybe whom all the same."""
    try:
        return _who(client, seconds), None
    except WatchError as error:
        named = _USER.search(error.message)
        answer: dict[str, Any] | None = None
        if error.status_code == 403 and named:
            answer = {"username": named[1], "groups": []}
        return answer, _explained(error, client, answer)


def _who(client: Client, seconds: float) -> dict[str, Any]:
    try:
        review = client.request("POST", REVIEWS, body=_REVIEW, timeout=seconds)
    except WatchError as error:
        if error.status_code not in (404, 405):
            raise
        log.info("the server has no reviews of oneself: it is older than Kubernetes 1.28")
        client.request("GET", _NAMES, timeout=seconds)
        return {"username": None, "groups": []}
    info = mapping(mapping(mapping(review).get("status")).get("userInfo"))
    groups = info.get("groups")
    found = [group for group in groups if isinstance(group, str)] if isinstance(groups, list) else []
    name = text(info.get("username"))
    if not name:
        error_type, origin = ErrorType.UNKNOWN_ERROR, ErrorOrigin.DECODE
        raise WatchError(error_type=error_type, origin=origin, message="the answer names no user")
    return {"username": name, "groups": found}


def _explained(error: WatchError, client: Client, answer: dict[str, Any] | None) -> CommandError:
    where = location(client)
    if error.status_code == 401 and isinstance(client.credential, Anonymous):
        sentence = f"{where} wants to know who you are (401), and there is no credential"
        return CommandError(f"{sentence}: {_GIVE_ONE}", ExitCode.REFUSED)
    if error.status_code == 401 and error.origin is not ErrorOrigin.CONFIG:
        sentence = f"{where} does not accept the credential (401): it is wrong, expired or of another cluster"
        return CommandError(f"{sentence}: {LOG_IN_AGAIN}", ExitCode.REFUSED)
    if error.status_code == 403 and answer and answer["username"] == _ANONYMOUS:
        sentence = f"{where} takes you for {_ANONYMOUS}, who may not ask who he is (403)"
        return CommandError(f"{sentence}: {_GIVE_ONE}", ExitCode.REFUSED)
    if error.status_code == 403:
        sentence = f"{where} may know you, but does not let you ask who you are (403)"
        return CommandError(f"{sentence}: {brief_message(error)}: ask for the rights that you need", ExitCode.REFUSED)
    return explain(error, client, "authentication API")


def _answer_lines(client: Client, answer: dict[str, Any] | None) -> list[str]:
    """Nothing where the sentence of the failure tells it all."""
    if answer is None:
        return []
    if answer["username"] is None:
        return [f"{location(client)} accepts this (it is too old to tell whom it takes you for)"]
    groups = f" in {', '.join(answer['groups'])}" if answer["groups"] else ""
    return [f"{location(client)} takes you for {answer['username']}{groups}"]
