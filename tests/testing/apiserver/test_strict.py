"""What a body holds twice, or does not need: as far as strict decoding tells."""

from __future__ import annotations

import json

import pytest

from kwsync.testing import ApiServer
from tests.testing.apiserver.wire import MAPS, WIDGETS, Http, config_map, definition

HEAD = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m"}'
TWICE = [
    (HEAD + b',"data":{"a":"1","a":"2"}}', ["data.a"]),
    (HEAD + b',"data":{"a":"1","a":"1","a":"1"}}', ["data.a"]),
    (HEAD + b',"immutable":true,"immutable":false}', ["immutable"]),
    (HEAD[:-1] + b',"name":"m","labels":{"x":"","x":""}}}', ["metadata.name", "metadata.labels.x"]),
    (
        HEAD[:-1] + b',"ownerReferences":[{"apiVersion":"v1","kind":"K","name":"n","uid":"1","uid":"1"}]}}',
        ["metadata.ownerReferences[0].uid"],
    ),
]


def warned(fields: list[str]) -> list[str]:
    return [f'299 - "duplicate field \\"{field}\\""' for field in fields]


class TestTwice:
    @pytest.mark.parametrize(("body", "fields"), TWICE)
    def test_strict(self, http: Http, body: bytes, fields: list[str]) -> None:
        """Who asks for it is refused a body that says something twice, and told what."""
        answer = http("POST", MAPS, body, query={"fieldValidation": "Strict"})
        listed = ", ".join(f'duplicate field "{field}"' for field in fields)
        assert answer.status == 400
        assert answer.body["message"].endswith(f"strict decoding error: {listed}")

    @pytest.mark.parametrize(("body", "fields"), TWICE)
    def test_warn(self, http: Http, body: bytes, fields: list[str]) -> None:
        """Or is warned, and then the last counts."""
        answer = http("POST", MAPS, body, query={"fieldValidation": "Warn"})
        assert answer.status == 201
        assert answer.headers.get_all("Warning") == warned(fields)
        assert answer.body["metadata"]["name"] == json.loads(body)["metadata"]["name"]

    def test_nobody_asks(self, http: Http) -> None:
        """Without either there is no warning."""
        for query in ({}, {"fieldValidation": "Ignore"}):
            answer = http("POST", MAPS, TWICE[0][0], query={**query, "dryRun": "All"})
            assert (answer.status, answer.headers.get_all("Warning")) == (201, None)

    def test_order(self, http: Http) -> None:
        """What is there twice, and what nobody knows, comes in the order of the document; the unknown once."""
        body = HEAD[:-1] + b',"zz":1,"name":"m"},"oops":1,"oops":2,"data":{"a":"","a":""}}'
        message = http("POST", MAPS, body, query={"fieldValidation": "Strict"}).body["message"]
        found = message.partition("strict decoding error: ")[2].split(", ")
        words = ("unknown", "metadata.zz"), ("duplicate", "metadata.name"), ("unknown", "oops"), ("duplicate", "data.a")
        assert found == [f'{word} field "{field}"' for word, field in words]

    @pytest.mark.parametrize(
        ("media_type", "body", "words"),
        [
            ("application/merge-patch+json", b'{"data":{"a":"1","a":"2"}}', 'duplicate field "data.a"'),
            ("application/strategic-merge-patch+json", b'{"data":{"a":"1","a":"2"}}', 'duplicate field "data.a"'),
            (
                "application/json-patch+json",
                b'[{"op":"add","path":"/data","value":{},"value":{"a":"2"}}]',
                'json patch duplicate field "[0].value"',
            ),
        ],
    )
    def test_patches(self, api_server: ApiServer, http: Http, media_type: str, body: bytes, words: str) -> None:
        """A patch is refused with 422, or done with a warning."""
        api_server.create(config_map("m"))
        path = f"{MAPS}/m"
        refused = http("PATCH", path, body, query={"fieldValidation": "Strict"}, Content_Type=media_type)
        assert refused.status == 422
        assert f"strict decoding error: {words}" in refused.body["message"]
        answer = http("PATCH", path, body, query={"fieldValidation": "Warn"}, Content_Type=media_type)
        assert (answer.status, answer.body["data"]) == (200, {"a": "2"})
        assert [text.replace("\\", "") for text in answer.headers.get_all("Warning") or []] == [f'299 - "{words}"']

    def test_apply(self, http: Http) -> None:
        """So is what is to be applied, which is read as YAML."""
        query = {"fieldValidation": "Strict", "fieldManager": "m"}
        media_type = "application/apply-patch+yaml"
        answer = http("PATCH", f"{MAPS}/m", TWICE[0][0], query=query, Content_Type=media_type)
        assert answer.status == 400
        assert 'duplicate field "data.a"' in answer.body["message"]

    def test_custom(self, api_server: ApiServer, http: Http) -> None:
        """Objects of custom kinds are no exception."""
        api_server.create(definition())
        body = b'{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"a":1,"a":2}}'
        answer = http("POST", WIDGETS, body, query={"fieldValidation": "Strict"})
        assert answer.status == 400
        assert answer.body["message"].endswith('strict decoding error: duplicate field "spec.a"')

    def test_replace(self, api_server: ApiServer, http: Http) -> None:
        """Nor is a PUT."""
        api_server.create(config_map("m"))
        assert http("PUT", f"{MAPS}/m", TWICE[0][0], query={"fieldValidation": "Strict"}).status == 400
