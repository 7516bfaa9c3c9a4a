"""Credentials from a program, as kubectl has them: ``exec`` in a kubeconfig.

Loaded when the first is made: the start of programs is nothing that everybody needs.
"""

from kwsync.credentials._exec._plugin import ExecPlugin

__all__ = ["ExecPlugin"]
