"""The types of metadata, of options, and of what many kinds have (apimachinery 1.36). Pure data."""

from __future__ import annotations

from kwsync.testing.apiserver._go_types import FLAG, INT32, INT64, LABELS, TEXT, TEXTS, TIME, Each, Scalar, Struct

UID = Scalar("types.UID")

_OWNER = Struct(
    "v1.OwnerReference",
    {"apiVersion": TEXT, "kind": TEXT, "name": TEXT, "uid": UID, "controller": FLAG, "blockOwnerDeletion": FLAG},
)
METADATA = Struct(
    "v1.ObjectMeta",
    {
        **dict.fromkeys(("name", "generateName", "namespace", "resourceVersion", "selfLink"), TEXT),
        **dict.fromkeys(("creationTimestamp", "deletionTimestamp"), TIME),
        **dict.fromkeys(("generation", "deletionGracePeriodSeconds"), INT64),
        **dict.fromkeys(("labels", "annotations"), LABELS),
        "uid": UID,
        "ownerReferences": Each("[]v1.OwnerReference", _OWNER),
        "finalizers": TEXTS,
        "managedFields": Each("[]v1.ManagedFieldsEntry", Struct("v1.ManagedFieldsEntry")),
    },
)
DELETE_OPTIONS = Struct(
    "v1.DeleteOptions",
    {
        "kind": TEXT,
        "apiVersion": TEXT,
        "gracePeriodSeconds": INT64,
        "preconditions": Struct("v1.Preconditions", {"uid": UID, "resourceVersion": TEXT}),
        "orphanDependents": FLAG,
        "propagationPolicy": Scalar("v1.DeletionPropagation"),
        "dryRun": TEXTS,
        "ignoreStoreReadErrorWithClusterBreakingPotential": FLAG,
    },
)
SCALE = Struct(
    "v1.Scale",
    {"metadata": METADATA, "spec": Struct("v1.ScaleSpec", {"replicas": INT32}), "status": Struct("v1.ScaleStatus")},
)


def conditions(kind: str) -> Each:
    """The conditions in the status of a kind."""
    fields = dict.fromkeys(("status", "reason", "message"), TEXT)
    return Each(f"[]v1.{kind}Condition", Struct(f"v1.{kind}Condition", {"type": TEXT, **fields}))
