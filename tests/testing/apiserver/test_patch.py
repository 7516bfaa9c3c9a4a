"""The four kinds of PATCH, as the standards and the real server have them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwsync.testing.apiserver._patch import PatchError, apply, json_patch, merge_patch, strategic_merge
from tests.testing.apiserver import recorded

leaves = st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab/~", max_size=3)
keys = st.sampled_from(["a", "b", "a/b", "m~n", "", "name", "containers", "env", "finalizers", "$patch", "$retainKeys"])
values: st.SearchStrategy[Any] = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3), max_leaves=12
)
documents: st.SearchStrategy[dict[str, Any]] = st.dictionaries(keys, values, max_size=4)


def without_nulls(value: Any) -> Any:
    """The value as a merge patch could make it."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def clean_lists(value: Any) -> Any:
    """The same without the nulls that stand inside of lists."""
    if isinstance(value, dict):
        return {key: clean_lists(item) for key, item in value.items()}
    return without_nulls(value)


def difference(old: Any, new: Any, path: str = "") -> list[dict[str, Any]]:
    """JSON patch operations that make *new* out of *old*, both objects."""
    operations: list[dict[str, Any]] = []
    for key in sorted(old.keys() | new.keys()):
        at = f"{path}/{key.replace('~', '~0').replace('/', '~1')}"
        if key not in new:
            operations.append({"op": "remove", "path": at})
        elif key not in old:
            operations.append({"op": "add", "path": at, "value": new[key]})
        elif isinstance(old[key], dict) and isinstance(new[key], dict):
            operations += difference(old[key], new[key], at)
        elif old[key] is not new[key]:
            operations.append({"op": "replace", "path": at, "value": new[key]})
    return operations


# Merge patch, RFC 7396.


@given(documents)
def test_an_empty_merge_patch_changes_nothing(document: dict[str, Any]) -> None:
    """Identity."""
    assert merge_patch(document, {}) == document


@given(documents, documents)
def test_a_merge_patch_twice_is_as_once(document: dict[str, Any], patch: dict[str, Any]) -> None:
    """Idempotence, but for nulls in lists, which the server's library takes out or not (see below)."""
    patch = clean_lists(patch)
    once = merge_patch(document, patch)
    assert merge_patch(once, patch) == once


@given(documents, documents)
def test_a_merge_patch_onto_nothing_is_the_patch_without_its_nulls(
    document: dict[str, Any], patch: dict[str, Any]
) -> None:
    """And removing every member first gives just that."""
    assert merge_patch({}, patch) == without_nulls(patch)
    assert merge_patch(merge_patch(document, dict.fromkeys(document)), patch) == without_nulls(patch)


def test_a_merge_patch_takes_nulls_out_of_lists_too() -> None:
    """Unlike RFC 7396, except where an object was before: so does the library of the server."""
    patch = {"a": [{"x": None, "y": 1}, None]}
    assert merge_patch({"a": 1}, patch) == {"a": [{"y": 1}, None]}
    assert merge_patch({"a": {}}, patch) == patch


@given(documents, documents)
def test_patches_leave_their_inputs_alone(document: dict[str, Any], patch: dict[str, Any]) -> None:
    """Nor does a result share a part with them: what is done to it later reaches neither."""
    before = json.dumps([document, patch])
    for apply_patch in (merge_patch, strategic_merge, apply):
        try:
            result = apply_patch(document, patch)
        except PatchError:
            continue
        spoil(result)
        assert json.dumps([document, patch]) == before


def spoil(value: Any) -> None:
    """Change every container in this value."""
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for item in list(items):
        spoil(item)
    if isinstance(value, dict):
        value["spoilt"] = True
    elif isinstance(value, list):
        value.append("spoilt")


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ([], "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"),
        ("x", "error decoding patch: json: cannot unmarshal string into Go value of type map[string]interface {}"),
        (1, "error decoding patch: json: cannot unmarshal number into Go value of type map[string]interface {}"),
        (None, "Invalid JSON Patch"),
    ],
)
def test_a_merge_patch_must_be_an_object(patch: Any, message: str) -> None:
    """400, in Go's words."""
    with pytest.raises(PatchError) as caught:
        merge_patch({}, patch)
    assert (caught.value.code, str(caught.value)) == (400, message)


# JSON patch, RFC 6902.


@given(documents, documents)
def test_the_difference_of_two_documents_makes_the_one_out_of_the_other(
    old: dict[str, Any], new: dict[str, Any]
) -> None:
    """Add, remove and replace, with keys that need escapes."""
    assert json_patch(old, difference(old, new)) == new


@given(documents, st.lists(values, max_size=3))
def test_no_operation_raises_anything_but_a_patch_error(document: dict[str, Any], operations: list[Any]) -> None:
    """Whatever is sent."""
    before = json.dumps(document)
    assert code_of(document, operations) in (200, 400, 422)
    assert json.dumps(document) == before


def code_of(document: dict[str, Any], operations: Any) -> int:
    """What a JSON patch is answered with."""
    try:
        json_patch(document, operations)
    except PatchError as error:
        return error.code
    return 200


pointers = st.lists(st.sampled_from(["a", "b", "0", "-1", "-", "5", "a~1b", "m~0n", ""]), max_size=3).map(
    lambda steps: "".join(f"/{step}" for step in steps)
)
operations = st.fixed_dictionaries(
    {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test", "drop"])},
    optional={"path": pointers, "from": pointers, "value": values},
)


@given(documents, st.lists(operations, max_size=4))
def test_operations_that_look_right_fail_with_422_only(document: dict[str, Any], patch: list[dict[str, Any]]) -> None:
    """A path that leads nowhere, a value that is missing, a test that fails."""
    assert code_of(document, patch) in (200, 422)


DOCUMENT = {"a": [1, 2, 3], "o": {"x": 1}, "n": None, "t": True}


@pytest.mark.parametrize(
    ("operation", "result"),
    [
        ({"op": "add", "path": "/a/1", "value": 9}, {"a": [1, 9, 2, 3]}),
        ({"op": "add", "path": "/a/-", "value": 9}, {"a": [1, 2, 3, 9]}),
        ({"op": "add", "path": "/a/-1", "value": 9}, {"a": [1, 2, 3, 9]}),
        ({"op": "add", "path": "/b"}, {"b": None}),
        ({"op": "remove", "path": "/a/0"}, {"a": [2, 3]}),
        ({"op": "remove", "path": "/a/-1"}, {"a": [1, 2]}),
        ({"op": "replace", "path": "/a/2", "value": {"y": 0}}, {"a": [1, 2, {"y": 0}]}),
        ({"op": "replace", "path": "/absent", "value": 1}, {"absent": 1}),
        ({"op": "move", "from": "/a/0", "path": "/o/y"}, {"a": [2, 3], "o": {"x": 1, "y": 1}}),
        ({"op": "copy", "from": "/o", "path": "/a/0"}, {"a": [{"x": 1}, 1, 2, 3]}),
        ({"op": "test", "path": "/o", "value": {"x": 1.0}}, {}),
        ({"op": "test", "path": "/n", "value": None}, {}),
        ({"op": "test", "path": "/absent", "value": None}, {}),
        ({"op": "test", "path": "", "value": DOCUMENT}, {}),
    ],
)
def test_operations_that_succeed(operation: dict[str, Any], result: dict[str, Any]) -> None:
    """RFC 6902, and the liberties of evanphx/json-patch, which kube-apiserver uses."""
    assert json_patch(DOCUMENT, [operation]) == {**DOCUMENT, **result}


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "add", "path": "/a/5", "value": 9},
        {"op": "add", "path": "/a/x", "value": 9},
        {"op": "add", "path": "/a/1_0", "value": 9},
        {"op": "add", "path": "/absent/x", "value": 9},
        {"op": "add", "path": "", "value": {}},
        {"op": "add", "value": 1},
        {"op": "remove", "path": "/absent"},
        {"op": "replace", "path": "", "value": 1},
        {"op": "move", "from": "/absent", "path": "/b"},
        {"op": "test", "path": "/t", "value": 1},
        {"op": "test", "path": "/a/0", "value": True},
        {"op": "test", "path": "/a", "value": [1, 2]},
        {"op": "spin", "path": "/a"},
        {},
    ],
)
def test_operations_that_fail_say_nothing_to_the_client(operation: dict[str, Any]) -> None:
    """Recorded: patch-json-422, whose message is the same whatever went wrong."""
    with pytest.raises(PatchError) as caught:
        json_patch(DOCUMENT, [operation])
    assert caught.value.status == recorded.body("patch-json-422")
    assert caught.value.why


def test_a_json_patch_that_is_no_list_of_operations_is_a_bad_request() -> None:
    """400 before anything is applied."""
    for patch in ({"op": "add"}, "x", 3, [1], [{"op": 1}]):
        with pytest.raises(PatchError) as caught:
            json_patch({}, patch)
        assert caught.value.code == 400
    assert json_patch({"a": 1}, None) == {"a": 1}


def test_a_json_patch_has_at_most_ten_thousand_operations() -> None:
    """maxJSONPatchOperations of kube-apiserver."""
    with pytest.raises(PatchError) as caught:
        json_patch({}, [{"op": "test", "path": "/a", "value": None}] * 10_001)
    assert (caught.value.code, caught.value.status and caught.value.status["reason"]) == (413, "RequestEntityTooLarge")


# Strategic merge patch.


def pod(**spec: Any) -> dict[str, Any]:
    """A Pod as far as patches go."""
    return {"spec": spec}


TWO = pod(
    containers=[{"name": "a", "image": "i:1", "env": [{"name": "X", "value": "1"}]}, {"name": "b", "image": "j:1"}],
    tolerations=[{"key": "k"}],
)


def patched(patch: dict[str, Any], target: dict[str, Any] = TWO) -> dict[str, Any]:
    """The spec after the patch."""
    spec: dict[str, Any] = strategic_merge(target, {"spec": patch})["spec"]
    return spec


def test_containers_are_merged_by_name() -> None:
    """The one that is named changes, the other stays; kubectl set image sends just this."""
    assert patched({"containers": [{"name": "b", "image": "j:2"}]})["containers"] == [
        TWO["spec"]["containers"][0],
        {"name": "b", "image": "j:2"},
    ]


def test_env_is_merged_by_name_inside_of_a_container() -> None:
    """At any depth."""
    changed = patched(
        {"containers": [{"name": "a", "env": [{"name": "X", "value": "2"}, {"name": "Y", "value": "3"}]}]}
    )
    assert changed["containers"][0]["env"] == [{"name": "X", "value": "2"}, {"name": "Y", "value": "3"}]


def test_other_lists_are_replaced() -> None:
    """Tolerations have no patchMergeKey."""
    assert patched({"tolerations": [{"key": "z"}]})["tolerations"] == [{"key": "z"}]


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("initContainers", "name"),
        ("ephemeralContainers", "name"),
        ("volumes", "name"),
        ("imagePullSecrets", "name"),
        ("hostAliases", "ip"),
        ("topologySpreadConstraints", "topologyKey"),
        ("volumeMounts", "mountPath"),
        ("volumeDevices", "devicePath"),
        ("conditions", "type"),
        ("ownerReferences", "uid"),
        ("webhooks", "name"),
    ],
)
def test_lists_and_their_merge_keys(name: str, key: str) -> None:
    """The patchMergeKey tags of k8s.io/api 1.36."""
    target = pod(**{name: [{key: "1", "old": 1}, {key: "2"}]})
    assert patched({name: [{key: "1", "new": 2}]}, target)[name] == [{key: "1", "old": 1, "new": 2}, {key: "2"}]


def test_ports_of_containers_and_of_services_have_different_keys() -> None:
    """`containerPort` there, `port` here."""
    container = pod(ports=[{"containerPort": 80, "name": "w"}, {"containerPort": 81}])
    assert patched({"ports": [{"containerPort": 80, "name": "v"}]}, container)["ports"] == [
        {"containerPort": 80, "name": "v"},
        {"containerPort": 81},
    ]
    service = pod(ports=[{"port": 80, "targetPort": 1}, {"port": 81}])
    assert patched({"ports": [{"port": 81, "targetPort": 2}]}, service)["ports"] == [
        {"port": 80, "targetPort": 1},
        {"port": 81, "targetPort": 2},
    ]


def test_a_new_item_stands_before_those_the_patch_does_not_name() -> None:
    """Odd, and so in apimachinery's mergeSortedSlice."""
    assert [each["name"] for each in patched({"containers": [{"name": "c"}]})["containers"]] == ["c", "a", "b"]


def test_set_element_order_sorts_the_list() -> None:
    """What kubectl apply sends beside each list that is merged."""
    order = {"$setElementOrder/containers": [{"name": "b"}, {"name": "c"}, {"name": "a"}]}
    changed = patched({**order, "containers": [{"name": "c", "image": "k:1"}]})["containers"]
    assert [each["name"] for each in changed] == ["b", "c", "a"]
    assert [each["name"] for each in patched(order)["containers"]] == ["b", "a"]
    assert "$setElementOrder/containers" not in patched(order)


def test_a_new_item_takes_the_place_of_one_that_goes() -> None:
    """With an order that does not name all: in Go's memory the one is written over the other."""
    order = {"$setElementOrder/containers": [{"name": "n"}, {"name": "a"}]}
    changed = patched({**order, "containers": [{"name": "n"}, {"name": "a", "$patch": "delete"}]})["containers"]
    assert [each["name"] for each in changed] == ["b", "n"]


def test_a_set_element_order_for_a_list_that_is_not_there_says_nothing() -> None:
    """Neither the list nor the directive comes into the object."""
    assert patched({"$setElementOrder/volumes": [{"name": "v"}]}) == TWO["spec"]


def test_patch_delete_removes_an_item_or_a_map() -> None:
    """How kubectl apply takes a container away."""
    assert [each["name"] for each in patched({"containers": [{"name": "a", "$patch": "delete"}]})["containers"]] == [
        "b"
    ]
    assert patched({"m": {"$patch": "delete"}}, pod(m={"a": 1}))["m"] == {}
    assert "absent" not in patched({"absent": {"$patch": "delete"}})


def test_patch_replace_puts_the_patch_in_place() -> None:
    """Of a map, and of a list by an item that says only that."""
    assert patched({"m": {"$patch": "replace", "b": 2}}, pod(m={"a": 1}))["m"] == {"b": 2}
    assert patched({"containers": [{"$patch": "replace"}, {"name": "z"}]})["containers"] == [{"name": "z"}]


def test_delete_from_primitive_list_and_merge_of_finalizers() -> None:
    """Finalizers are a set of strings."""
    target = {"metadata": {"finalizers": ["a", "b", "c"]}}
    patch = {"$deleteFromPrimitiveList/finalizers": ["b"], "finalizers": ["d", "a"]}
    result = strategic_merge(target, {"metadata": patch})["metadata"]["finalizers"]
    assert sorted(result) == ["a", "c", "d"]


def test_retain_keys_clears_the_others() -> None:
    """How kubectl apply changes the strategy of a Deployment."""
    target = pod(strategy={"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}})
    patch = {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}
    assert patched(patch, target)["strategy"] == {"type": "Recreate"}


def test_null_removes_and_never_stays() -> None:
    """Also below a map that is new."""
    assert patched({"containers": None, "n": {"a": None, "b": 1}}) == {"tolerations": [{"key": "k"}], "n": {"b": 1}}


@pytest.mark.parametrize(
    ("patch", "code", "why"),
    [
        ({"$patch": "spin"}, 500, "unknown patch type: spin in map: {}"),
        ({"containers": [{"image": "x"}]}, 500, "map: {'image': 'x'} does not contain declared merge key: name"),
        ({"$retainKeys": 1}, 400, "invalid patch format of retainKeys"),
        ({"$retainKeys": ["a"], "b": 1}, 400, "invalid patch format of retainKeys"),
        ({"$deleteFromPrimitiveList/finalizers": 1}, 400, "invalid patch format of primitive list"),
        ({"$setElementOrder/containers": 1}, 400, "invalid patch format of setElementOrder list"),
    ],
)
def test_patches_that_contradict_themselves(patch: dict[str, Any], code: int, why: str) -> None:
    """The errors of apimachinery's mergepatch; those without a code of their own are a 500."""
    with pytest.raises(PatchError) as caught:
        patched(patch)
    assert (caught.value.code, str(caught.value)) == (code, why)


@given(documents, documents)
def test_a_strategic_merge_ends_in_a_document_or_a_patch_error(document: dict[str, Any], patch: dict[str, Any]) -> None:
    """Whatever is sent."""
    try:
        result = strategic_merge(document, patch)
    except PatchError:
        return
    assert isinstance(result, dict)


@given(documents)
def test_an_empty_strategic_merge_changes_nothing(document: dict[str, Any]) -> None:
    """Identity."""
    assert strategic_merge(document, {}) == document


def test_a_strategic_merge_must_be_an_object() -> None:
    """400."""
    with pytest.raises(PatchError) as caught:
        strategic_merge({}, [])
    assert caught.value.code == 400


# Server-side apply.


def test_apply_creates() -> None:
    """Without a current object the configuration is the object."""
    assert apply(None, TWO) == TWO


def test_apply_merges_without_ownership() -> None:
    """Lists by name; what the configuration leaves out stays, whoever once wrote it."""
    result = apply(TWO, pod(containers=[{"name": "b", "image": "j:3"}]))
    assert result["spec"]["containers"] == [TWO["spec"]["containers"][0], {"name": "b", "image": "j:3"}]
    assert result["spec"]["tolerations"] == [{"key": "k"}]


def test_apply_twice_changes_nothing() -> None:
    """So that it can be answered with the same resourceVersion."""
    configuration = pod(containers=[{"name": "n", "env": [{"name": "A", "value": "1"}]}])
    once = apply(TWO, configuration)
    assert apply(once, configuration) == once
