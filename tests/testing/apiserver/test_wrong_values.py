"""Values that are wrong, too long or too large: a 4xx in the real server's words, and nothing is changed by them.

`mistakes` has many more, of which `test_against_real` asks both servers.
"""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from kwsync.testing import ApiError, ApiServer
from kwsync.testing.apiserver import _bodies
from tests.testing.apiserver.wire import MAPS, PODS, WIDGETS, Http, Open, config_map, definition, widget

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SECRETS = "/api/v1/namespaces/default/secrets"
OWNER = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u"}
COLUMN = {"name": "c", "type": "string", "jsonPath": ".spec.c"}
MANY = "9" * 5000
MIB = 1024 * 1024


class TestTexts:
    @pytest.mark.parametrize(
        ("text", "words"),
        [
            (b'{"k":NaN}', "invalid character 'N' looking for beginning of value"),
            (b'{"k":-Infinity}', "invalid character 'I' looking for beginning of value"),
            (b'{"k":1e999}', "cannot unmarshal number 1e999 into Go value of type float64"),
            (b'{"k":%s}' % MANY.encode(), "into Go value of type float64"),
            (b'{"k":', "unexpected end of JSON input"),
            (b'{"k" 1}', "invalid character '1' after object key"),
            (b'{"k":1}x', "invalid character 'x' after top-level value"),
            (b"\xff", "invalid character"),
        ],
    )
    @pytest.mark.parametrize(
        ("method", "path", "content_type"),
        [
            ("POST", WIDGETS, "application/json"),
            ("PUT", f"{WIDGETS}/w", "application/json"),
            ("PATCH", f"{WIDGETS}/w", _bodies.MERGE),
            ("PATCH", f"{WIDGETS}/w", _bodies.JSON_PATCH),
            ("DELETE", f"{WIDGETS}/w", "application/json"),
            ("DELETE", WIDGETS, "application/json"),
        ],
    )
    def test_what_go_does_not_read(
        self, api_server: ApiServer, http: Http, text: bytes, words: str, method: str, path: str, content_type: str
    ) -> None:
        """What Go reads as nothing is 400 wherever it stands, whatever Python makes of it."""
        api_server.create(definition())
        api_server.create(widget())
        answer = http(method, path, text, Content_Type=content_type)
        assert (answer.status, answer.reason) == (400, "BadRequest")
        assert words in answer.body["message"]
        assert http.get(WIDGETS).names == ["w"]

    @pytest.mark.parametrize("text", [rb"a\ud800b", rb"a\udc00b", rb"a\ud800\ud800b"])
    def test_half_pairs(self, http: Http, watch: Open, text: bytes) -> None:
        """Half of a pair of surrogates is stored as U+FFFD, so that it can be sent."""
        answer = http("POST", MAPS, b'{"metadata":{"name":"a"},"data":{"k":"%s"}}' % text)
        assert answer.status == 201
        assert set(answer.body["data"]["k"]) == set("a\ufffdb")
        assert http.list_maps().body["items"][0]["data"] == answer.body["data"]
        assert watch(timeoutSeconds=5).event()["object"]["data"] == answer.body["data"]

    def test_bytes_that_are_no_text(self, http: Http) -> None:
        """The same for bytes that are no UTF-8."""
        answer = http("POST", MAPS, b'{"metadata":{"name":"a"},"data":{"k":"a\xffb"}}')
        assert answer.body["data"] == {"k": "a\ufffdb"}

    def test_numbers(self, api_server: ApiServer, http: Http) -> None:
        """An integer beyond 64 bits is a float."""
        api_server.create(definition())
        body = json.dumps(widget("w", small=2**63 - 1, large=2**70)).encode()
        spec = http("POST", WIDGETS, body).body["spec"]
        assert spec == {"small": 2**63 - 1, "large": float(2**70)}

    def test_warnings_stay_in_their_line(self, http: Http) -> None:
        """A field's name in a warning cannot begin another header."""
        answer = http("POST", MAPS, {**config_map(), "x\r\nEvil: 1": 1})
        assert answer.headers["Evil"] is None
        assert answer.headers["Warning"] == r'299 - "unknown field \"x\\r\\nEvil: 1\""'


def spoilt_definition(**version: Any) -> dict[str, Any]:
    """A definition of one version with something in it."""
    found = copy.deepcopy(definition())
    found["spec"]["versions"] = [{**found["spec"]["versions"][0], **version}]
    return found


class TestDefinitions:
    @pytest.mark.parametrize(
        ("version", "field"),
        [
            ({"additionalPrinterColumns": "x"}, "additionalPrinterColumns of type []v1.CustomResourceColumnDefinition"),
            ({"additionalPrinterColumns": [1]}, "additionalPrinterColumns of type v1.CustomResourceColumnDefinition"),
            ({"additionalPrinterColumns": [{**COLUMN, "jsonPath": 1}]}, "additionalPrinterColumns.jsonPath of type"),
            ({"subresources": "x"}, "subresources of type v1.CustomResourceSubresources"),
            ({"subresources": {"status": 1}}, "subresources.status of type"),
            ({"selectableFields": {}}, "selectableFields of type []v1.SelectableField"),
            ({"selectableFields": [{"jsonPath": 1}]}, "selectableFields.jsonPath of type string"),
            ({"name": 1}, "versions.name of type string"),
            ({"served": "yes"}, "versions.served of type bool"),
        ],
    )
    def test_types(self, http: Http, version: dict[str, Any], field: str) -> None:
        """A part of a wrong type is 400, and names the field."""
        answer = http("POST", DEFINITIONS, spoilt_definition(**version))
        assert (answer.status, answer.reason) == (400, "BadRequest")
        assert field in answer.body["message"]
        self.check_nothing_served(http)

    @pytest.mark.parametrize(
        ("version", "field"),
        [
            ({"additionalPrinterColumns": [{}]}, "spec.additionalPrinterColumns[0].name"),
            ({"additionalPrinterColumns": [{**COLUMN, "type": "x"}]}, "spec.additionalPrinterColumns[0].type"),
            ({"additionalPrinterColumns": [{**COLUMN, "jsonPath": "x"}]}, "spec.additionalPrinterColumns[0].JSONPath"),
            ({"subresources": {"scale": {}}}, "spec.subresources.scale.specReplicasPath"),
            ({"selectableFields": [{}]}, "spec.selectableFields[0].jsonPath"),
            ({"name": "V 1"}, "spec.versions[0].name"),
            ({"storage": False}, "spec.versions"),
            ({"deprecationWarning": "x"}, "spec.versions[0].deprecationWarning"),
            ({"deprecated": True, "deprecationWarning": "x\r\ny"}, "spec.versions[0].deprecationWarning"),
        ],
    )
    def test_values(self, http: Http, version: dict[str, Any], field: str) -> None:
        """A value that is none is 422."""
        answer = http("POST", DEFINITIONS, spoilt_definition(**version))
        assert (answer.status, answer.reason) == (422, "Invalid")
        assert answer.body["details"]["causes"][0]["field"] == field
        self.check_nothing_served(http)

    @pytest.mark.parametrize(
        ("spec", "field"),
        [
            ({"scope": "Everywhere"}, "spec.scope"),
            ({"scope": None}, "spec.scope"),
            ({"group": "apps"}, "metadata.name"),
            ({"names": {"plural": "Widgets", "kind": "Widget"}}, "metadata.name"),
            ({"versions": []}, "spec.versions"),
        ],
    )
    def test_specs(self, http: Http, spec: dict[str, Any], field: str) -> None:
        """The same for what is above the versions."""
        answer = http("POST", DEFINITIONS, definition(**spec))
        assert (answer.status, answer.body["details"]["causes"][0]["field"]) == (422, field)
        self.check_nothing_served(http)

    def check_nothing_served(self, http: Http) -> None:
        """Neither the definition nor its kind is there."""
        assert http.get(DEFINITIONS).names == []
        assert http.get(WIDGETS).status == 404

    def test_a_version_each_with_columns_of_its_own(self, http: Http) -> None:
        """What not all versions have in common is named where it stands."""
        found = definition()
        found["spec"]["versions"][1]["additionalPrinterColumns"] = [{}]
        causes = http("POST", DEFINITIONS, found).body["details"]["causes"]
        assert causes[0]["field"] == "spec.versions[1].additionalPrinterColumns[0].name"

    @pytest.mark.parametrize("spec", [{"scope": "Cluster"}, {"names": {"kind": "Gadget"}}])
    def test_changes(self, api_server: ApiServer, http: Http, spec: dict[str, Any]) -> None:
        """Scope and kind stay as they were, since objects are there already."""
        api_server.create(definition())
        api_server.create(widget())
        answer = http("PATCH", f"{DEFINITIONS}/widgets.example.com", {"spec": spec}, Content_Type=_bodies.MERGE)
        assert "field is immutable" in answer.body["message"]
        assert http.get(WIDGETS).names == ["w"]


class TestDeletions:
    @pytest.mark.parametrize(
        ("options", "code"),
        [
            ({"gracePeriodSeconds": "abc"}, 400),
            ({"gracePeriodSeconds": 0.5}, 400),
            ({"gracePeriodSeconds": True}, 400),
            ({"preconditions": "x"}, 400),
            ({"preconditions": {"uid": 1}}, 400),
            ({"preconditions": {"resourceVersion": 1}}, 400),
            ({"propagationPolicy": 1}, 400),
            ({"propagationPolicy": ""}, 422),
            ({"propagationPolicy": "Orphan", "orphanDependents": True}, 422),
            ({"orphanDependents": "x"}, 400),
            ({"dryRun": "All"}, 400),
            ({"dryRun": ["None"]}, 422),
            ({"kind": []}, 400),
            ([], 400),
            ("x", 400),
        ],
    )
    @pytest.mark.parametrize("path", [f"{MAPS}/a", MAPS])
    def test_options(self, http: Http, path: str, options: Any, code: int) -> None:
        """Options that are not understood delete nothing."""
        http("POST", MAPS, config_map())
        answer = http("DELETE", path, options)
        assert (answer.status, answer.body["kind"]) == (code, "Status")
        assert http.list_maps().names == ["a"]

    @pytest.mark.parametrize(
        ("query", "code"),
        [
            ({"dryRun": "None"}, 422),
            ({"dryRun": ""}, 422),
            ({"gracePeriodSeconds": "abc"}, 400),
            ({"gracePeriodSeconds": MANY}, 400),
            ({"propagationPolicy": "x"}, 422),
        ],
    )
    @pytest.mark.parametrize("path", [f"{MAPS}/a", MAPS])
    def test_query(self, http: Http, path: str, query: dict[str, str], code: int) -> None:
        """The same for options in the query."""
        http("POST", MAPS, config_map())
        assert http("DELETE", path, query=query).status == code
        assert http.list_maps().names == ["a"]

    def test_null(self, http: Http) -> None:
        """No options are no mistake."""
        http("POST", MAPS, config_map())
        assert http("DELETE", f"{MAPS}/a", b"null").status == 200
        assert http.list_maps().names == []

    @pytest.mark.parametrize("seconds", [10**12, 2**63 - 1])
    def test_ages(self, api_server: ApiServer, http: Http, seconds: int) -> None:
        """A pod may take until the end of time to go, asked for in the deletion or by itself."""
        spec = {"nodeName": "n", "containers": [{"name": "c"}], "terminationGracePeriodSeconds": seconds}
        for name in "ab":
            api_server.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})
        for path, body in ((f"{PODS}/a", {"gracePeriodSeconds": seconds}), (f"{PODS}/b", None)):
            answer = http("DELETE", path, body)
            assert answer.status == 200
            assert answer.body["metadata"]["deletionTimestamp"]
        assert http.get(PODS).names == ["a", "b"]


class TestNumbers:
    @pytest.mark.parametrize("parameter", ["limit", "timeoutSeconds"])
    @pytest.mark.parametrize("watch", ["0", "1"])
    def test_integers(self, http: Http, parameter: str, watch: str) -> None:
        """A number of more than 64 bits is 400; whatever Python could read."""
        for text in (MANY, "9" * 30, f"-{MANY}", str(2**63)):
            answer = http.get(MAPS, watch=watch, **{parameter: text})
            assert (answer.status, answer.reason) == (400, "BadRequest")
            assert "value out of range" in answer.body["message"]

    def test_zeros(self, http: Http) -> None:
        """Zeros in front do not count, however many."""
        assert http.get(MAPS, limit="0" * 5000 + "1").status == 200
        assert http.get(MAPS, resourceVersion="0" * 5000 + "1").status == 200

    def test_versions(self, api_server: ApiServer, http: Http) -> None:
        """A version of thousands of digits is answered as any other that is none: not always with a 4xx (D1)."""
        api_server.create(config_map())
        assert http.get(MAPS, resourceVersion=MANY).status == 400
        for answer in (
            http.get(MAPS, resourceVersion=MANY, watch=1),
            http.get(f"{MAPS}/a", resourceVersion=MANY),
            http("PUT", f"{MAPS}/a", {"metadata": {"name": "a", "resourceVersion": MANY}}),
        ):
            assert (answer.status, answer.reason) == (500, "")

    def test_the_longest_watch(self, watch: Open, http: Http) -> None:
        """A watch may be asked for until the end of time."""
        stream = watch(timeoutSeconds=2**63 - 1)
        http("POST", MAPS, config_map())
        assert stream.event()["type"] == "ADDED"


class TestPatches:
    @pytest.mark.parametrize("text", [b"[]", b'"x"', b"1", b"true"])
    @pytest.mark.parametrize("content_type", [_bodies.MERGE, _bodies.STRATEGIC])
    def test_no_object(self, http: Http, text: bytes, content_type: str) -> None:
        """A merge patch is an object, and nothing else."""
        http("POST", MAPS, config_map())
        answer = http("PATCH", f"{MAPS}/a", text, Content_Type=content_type)
        assert (answer.status, answer.reason) == (400, "BadRequest")
        assert "into Go value of type map[string]interface {}" in answer.body["message"]

    def test_null(self, http: Http) -> None:
        """Null changes nothing as a strategic merge patch, and is refused as a merge patch."""
        version = http("POST", MAPS, config_map()).version
        assert http("PATCH", f"{MAPS}/a", b"null", Content_Type=_bodies.STRATEGIC).version == version
        assert http("PATCH", f"{MAPS}/a", b"null", Content_Type=_bodies.MERGE).status == 400

    def test_copies_add_up(self, http: Http) -> None:
        """Copies of one patch may have 3 MiB together; each could double what is there."""
        http("POST", MAPS, config_map(k="x" * 1000))
        steps = [{"op": "copy", "from": "/data", "path": f"/data/{index}"} for index in range(60)]
        assert http("PATCH", f"{MAPS}/a", steps, Content_Type=_bodies.JSON_PATCH).status == 422

    def test_result_of_a_wrong_type(self, http: Http) -> None:
        """What a patch makes is looked at like what is sent."""
        http("POST", MAPS, config_map())
        answer = http("PATCH", f"{MAPS}/a", {"data": {"k": 1}}, Content_Type=_bodies.MERGE)
        assert (answer.status, answer.reason) == (422, "Invalid")


class TestLimits:
    def test_annotations(self, http: Http) -> None:
        """All annotations together have at most 256 KiB."""
        most = {"k": "x" * (256 * 1024 - 1)}
        assert http("POST", MAPS, {"metadata": {"name": "a", "annotations": most}}).status == 201
        answer = http("POST", MAPS, {"metadata": {"name": "b", "annotations": {**most, "m": ""}}})
        assert (answer.status, answer.body["details"]["causes"][0]["reason"]) == (422, "FieldValueTooLong")

    @pytest.mark.parametrize(
        ("path", "data", "field"), [(MAPS, {"k": "x" * (MIB + 1)}, "[]"), (SECRETS, {"k": "AAAA" * 349526}, "data")]
    )
    def test_data(self, http: Http, path: str, data: dict[str, str], field: str) -> None:
        """A config map or secret has at most a MiB of data."""
        answer = http("POST", path, {"metadata": {"name": "a"}, "data": data})
        assert (answer.status, answer.body["details"]["causes"][0]["field"]) == (422, field)

    def test_objects(self, api_server: ApiServer, http: Http) -> None:
        """Any object has less than a MiB and a half, which is what etcd takes; its error has no reason."""
        api_server.create(definition())
        large = widget("w", text="x" * 1600 * 1024)
        answer = http("POST", WIDGETS, large)
        assert (answer.status, answer.body["message"]) == (500, "etcdserver: request is too large")
        with pytest.raises(ApiError, match="too large"):
            api_server.create(large)
        assert http.get(WIDGETS).names == []

    @pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
    def test_bodies(self, http: Http, method: str) -> None:
        """A body has at most 3 MiB."""
        path = MAPS if method == "POST" else f"{MAPS}/a"
        content_type = _bodies.MERGE if method == "PATCH" else "application/json"
        answer = http(method, path, b" " * (3 * MIB + 1), Content_Type=content_type)
        assert (answer.status, answer.reason) == (413, "RequestEntityTooLarge")

    @pytest.mark.parametrize(("manager", "code"), [("x" * 128, 201), ("x" * 129, 422), ("a\nb", 422), ("a\0b", 422)])
    def test_field_managers(self, http: Http, manager: str, code: int) -> None:
        """The name of who writes has at most 128 bytes, all of them printable."""
        assert http("POST", MAPS, config_map(), query={"fieldManager": manager}).status == code

    def test_force(self, http: Http) -> None:
        """`force` is for server-side apply alone."""
        http("POST", MAPS, config_map())
        answer = http("PATCH", f"{MAPS}/a", {}, query={"force": "true"}, Content_Type=_bodies.MERGE)
        assert (answer.status, answer.body["details"]["causes"][0]["field"]) == (422, "force")

    @pytest.mark.parametrize(
        ("owners", "field"),
        [
            ([{}], "metadata.ownerReferences.apiVersion"),
            ([{**OWNER, "name": ""}], "metadata.ownerReferences.name"),
            ([{**OWNER, "uid": None}], "metadata.ownerReferences.uid"),
            ([{**OWNER, "kind": "Event"}], "metadata.ownerReferences"),
            ([{**OWNER, "controller": True}, {**OWNER, "uid": "v", "controller": True}], "metadata.ownerReferences"),
        ],
    )
    def test_owners(self, http: Http, owners: list[Any], field: str) -> None:
        """An owner says what it is and which; one of them controls."""
        answer = http("POST", MAPS, {"metadata": {"name": "a", "ownerReferences": owners}})
        assert (answer.status, answer.body["details"]["causes"][0]["field"]) == (422, field)

    def test_owners_that_are_named_twice(self, http: Http) -> None:
        """Twins go, with a warning."""
        answer = http("POST", MAPS, {"metadata": {"name": "a", "ownerReferences": [OWNER, OWNER]}})
        assert answer.body["metadata"]["ownerReferences"] == [OWNER]
        assert "duplicate UID(s) observed: u" in answer.headers["Warning"]

    def test_generation(self, api_server: ApiServer, http: Http) -> None:
        """A generation is the server's to count; a kind without one keeps what its creation gave it."""
        api_server.create(definition())
        for path, body, expected in ((MAPS, config_map(), 7), (WIDGETS, widget("a"), 1)):
            given = {**body, "metadata": {"name": "a", "generation": 7}}
            made = http("POST", path, given).body["metadata"]
            assert made["generation"] == expected
            metadata = {"name": "a", "generation": 9, "resourceVersion": made["resourceVersion"]}
            answer = http("PUT", f"{path}/a", {**given, "metadata": metadata})
            assert answer.body["metadata"]["generation"] == expected
