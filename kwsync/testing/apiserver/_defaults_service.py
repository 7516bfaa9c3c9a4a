"""The defaults of a service, and the addresses and ports that it is given. Pure."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]

_FIRST_PORT, _PORTS = 30000, 2768
_FAMILIES = {"ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack", "internalTrafficPolicy": "Cluster"}
_OPEN = ("NodePort", "LoadBalancer")


def complete_service(object: Object) -> None:
    """Addresses and ports are made of the uid, so that they stay; two services may have the same by chance."""
    spec = {"type": "ClusterIP", "sessionAffinity": "None", **(object.get("spec") or {})}
    seed = int(object["metadata"]["uid"].replace("-", "")[-8:], 16)
    if spec["type"] != "ExternalName":
        address = spec.get("clusterIP") or f"10.0.{seed // 254 % 254 + 1}.{seed % 254 + 1}"
        spec = {"clusterIP": address, "clusterIPs": [address], **_FAMILIES, **spec}
    if spec["type"] in _OPEN:
        spec = {"externalTrafficPolicy": "Cluster", **spec}
    if spec["type"] == "LoadBalancer":
        spec = {"allocateLoadBalancerNodePorts": True, **spec}
    if "ports" in spec:
        opened = spec["type"] in _OPEN
        spec["ports"] = [_port(port, seed + index if opened else None) for index, port in enumerate(spec["ports"])]
    object["spec"] = spec


def _port(port: Object, seed: int | None) -> Object:
    defaults = {"protocol": "TCP", "targetPort": port.get("port")}
    if seed is not None:
        defaults["nodePort"] = _FIRST_PORT + seed % _PORTS
    return {**defaults, **port}
