"""``exec`` of a kubeconfig's user: the program that gives the credential."""

from __future__ import annotations

import os
from collections.abc import Mapping

from kwsync import credentials
from kwsync._kubeconfig._section import Section
from kwsync.credentials import Credential

EXTENSION = "client.authentication.k8s.io/exec"
"""Under this name a cluster has what its plugins are told beside."""


def exec_plugin(plugin: Section, cluster: Section) -> Credential:
    """The plugin, which has not been run yet; ConfigError where it never could be."""
    api_version = plugin.text("apiVersion")
    if api_version is None:
        raise plugin.error("has no apiVersion: add client.authentication.k8s.io/v1, if the program speaks it")
    provides_cluster = plugin.flag("provideClusterInfo")
    command, arguments, environment = _command(plugin), plugin.texts("args"), _environment(plugin)
    mode, hint = _mode(plugin, api_version), plugin.text("installHint")
    try:
        # Not by its name: the package loads it at this moment only.
        return credentials.ExecPlugin(
            command,
            args=arguments,
            env=environment,
            api_version=api_version,
            interactive_mode=mode,
            provide_cluster_info=provides_cluster,
            cluster_config=_extension(cluster) if provides_cluster else None,
            install_hint=hint,
        )
    except ValueError as error:
        problem = str(error)
    raise plugin.error(f"cannot be used: {problem}")


def _command(plugin: Section) -> str:
    """A path starts at the kubeconfig, a name is left for PATH."""
    command = plugin.text("command")
    if command is None:
        raise plugin.error("has no command: add one")
    is_path = os.sep in command or (os.altsep is not None and os.altsep in command)
    return (plugin.path("command") if is_path else None) or command


def _environment(plugin: Section) -> Mapping[str, str]:
    """The last of two with one name wins."""
    environment = {}
    for entry in plugin.sections("env"):
        name = entry.text("name")
        if name is None:
            raise entry.error("has no name: add one")
        environment[name] = entry.text("value") or ""
    return environment


def _mode(plugin: Section, api_version: str) -> str:
    mode = plugin.text("interactiveMode")
    if mode is None and api_version.endswith("/v1"):
        raise plugin.error(f"has no interactiveMode, which {api_version} needs: add Never, IfAvailable or Always")
    return mode or "IfAvailable"


def _extension(cluster: Section) -> object:
    """Of all extensions, which may be anybody's and anything, the one for plugins."""
    extensions = cluster.fields.get("extensions")
    for entry in extensions if isinstance(extensions, list) else ():
        if isinstance(entry, Mapping) and entry.get("name") == EXTENSION:
            found: object = entry.get("extension")
            return found
    return None
