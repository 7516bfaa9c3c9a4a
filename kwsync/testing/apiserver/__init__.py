"""A Kubernetes API server in memory."""

from kwsync.testing.apiserver._failure import ApiError
from kwsync.testing.apiserver._faults import Fault, FaultRule
from kwsync.testing.apiserver.server import ApiServer

__all__ = ["ApiError", "ApiServer", "Fault", "FaultRule"]
