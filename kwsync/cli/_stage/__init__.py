"""The demo's cluster: what happens in it, without any node, controller or container.

``_objects`` (what there is), ``_stories`` (things that happen at the same time), ``_hands`` (what schedulers, kubelets
and recorders of events write) and ``_workload`` (what is told with them).
"""

from kwsync.cli._stage._stories import play
from kwsync.cli._stage._workload import KINDS, Workload

__all__ = ["KINDS", "Workload", "play"]
