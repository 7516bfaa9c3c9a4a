"""The kinds that Kubernetes itself serves in a stable version, so that their names need no request.

Taken from the discovery of kube-apiserver 1.36 with its default flags. A line without indent is a group and version,
below it stand plural, kind, scope and short names. Where a name is found in several groups or versions the first one
counts, which is the order of kubectl: core events before events.k8s.io, autoscaling/v2 before v1.
"""

from __future__ import annotations

from typing import NamedTuple

_TABLE = """
v1
    bindings Binding namespaced
    componentstatuses ComponentStatus cluster cs
    configmaps ConfigMap namespaced cm
    endpoints Endpoints namespaced ep
    events Event namespaced ev
    limitranges LimitRange namespaced limits
    namespaces Namespace cluster ns
    nodes Node cluster no
    persistentvolumeclaims PersistentVolumeClaim namespaced pvc
    persistentvolumes PersistentVolume cluster pv
    pods Pod namespaced po
    podtemplates PodTemplate namespaced
    replicationcontrollers ReplicationController namespaced rc
    resourcequotas ResourceQuota namespaced quota
    secrets Secret namespaced
    serviceaccounts ServiceAccount namespaced sa
    services Service namespaced svc
apps/v1
    controllerrevisions ControllerRevision namespaced
    daemonsets DaemonSet namespaced ds
    deployments Deployment namespaced deploy
    replicasets ReplicaSet namespaced rs
    statefulsets StatefulSet namespaced sts
batch/v1
    cronjobs CronJob namespaced cj
    jobs Job namespaced
autoscaling/v2
    horizontalpodautoscalers HorizontalPodAutoscaler namespaced hpa
autoscaling/v1
    horizontalpodautoscalers HorizontalPodAutoscaler namespaced hpa
admissionregistration.k8s.io/v1
    mutatingadmissionpolicies MutatingAdmissionPolicy cluster
    mutatingadmissionpolicybindings MutatingAdmissionPolicyBinding cluster
    mutatingwebhookconfigurations MutatingWebhookConfiguration cluster
    validatingadmissionpolicies ValidatingAdmissionPolicy cluster
    validatingadmissionpolicybindings ValidatingAdmissionPolicyBinding cluster
    validatingwebhookconfigurations ValidatingWebhookConfiguration cluster
apiextensions.k8s.io/v1
    customresourcedefinitions CustomResourceDefinition cluster crd crds
apiregistration.k8s.io/v1
    apiservices APIService cluster
authentication.k8s.io/v1
    selfsubjectreviews SelfSubjectReview cluster
    tokenreviews TokenReview cluster
authorization.k8s.io/v1
    localsubjectaccessreviews LocalSubjectAccessReview namespaced
    selfsubjectaccessreviews SelfSubjectAccessReview cluster
    selfsubjectrulesreviews SelfSubjectRulesReview cluster
    subjectaccessreviews SubjectAccessReview cluster
certificates.k8s.io/v1
    certificatesigningrequests CertificateSigningRequest cluster csr
coordination.k8s.io/v1
    leases Lease namespaced
discovery.k8s.io/v1
    endpointslices EndpointSlice namespaced
events.k8s.io/v1
    events Event namespaced ev
flowcontrol.apiserver.k8s.io/v1
    flowschemas FlowSchema cluster
    prioritylevelconfigurations PriorityLevelConfiguration cluster
networking.k8s.io/v1
    ingressclasses IngressClass cluster
    ingresses Ingress namespaced ing
    ipaddresses IPAddress cluster ip
    networkpolicies NetworkPolicy namespaced netpol
    servicecidrs ServiceCIDR cluster
node.k8s.io/v1
    runtimeclasses RuntimeClass cluster
policy/v1
    poddisruptionbudgets PodDisruptionBudget namespaced pdb
rbac.authorization.k8s.io/v1
    clusterrolebindings ClusterRoleBinding cluster
    clusterroles ClusterRole cluster
    rolebindings RoleBinding namespaced
    roles Role namespaced
resource.k8s.io/v1
    deviceclasses DeviceClass cluster
    resourceclaims ResourceClaim namespaced
    resourceclaimtemplates ResourceClaimTemplate namespaced
    resourceslices ResourceSlice cluster
scheduling.k8s.io/v1
    priorityclasses PriorityClass cluster pc
storage.k8s.io/v1
    csidrivers CSIDriver cluster
    csinodes CSINode cluster
    csistoragecapacities CSIStorageCapacity namespaced
    storageclasses StorageClass cluster sc
    volumeattachments VolumeAttachment cluster
    volumeattributesclasses VolumeAttributesClass cluster vac
"""


class Kind(NamedTuple):
    """One row of the table; *group* is empty for the core API."""

    group: str
    version: str
    plural: str
    name: str
    namespaced: bool
    short_names: tuple[str, ...]


def _rows() -> list[Kind]:
    rows = []
    group = version = ""
    for line in _TABLE.strip().splitlines():
        if line[0] != " ":
            group, _, version = line.rpartition("/")
            continue
        plural, name, scope, *short_names = line.split()
        rows.append(Kind(group, version, plural, name, scope == "namespaced", tuple(short_names)))
    return rows


KINDS: tuple[Kind, ...] = tuple(_rows())


def _index() -> dict[tuple[str, str | None, str | None], Kind]:
    index: dict[tuple[str, str | None, str | None], Kind] = {}
    for kind in KINDS:
        for name in (kind.plural, kind.name.lower(), *kind.short_names):
            index.setdefault((name, kind.group, kind.version), kind)
            index.setdefault((name, kind.group, None), kind)
            index.setdefault((name, None, None), kind)
    return index


_KIND_OF_NAME = _index()


def find_kind(name: str, group: str | None = None, version: str | None = None) -> Kind | None:
    """The kind with this plural, singular or short name, in any letter case; None where the table has none.

    Without a *group* all groups count, without a *version* all versions of the group.
    """
    return _KIND_OF_NAME.get((name.lower(), group, version))
