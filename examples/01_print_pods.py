"""Print what happens to pods: python 01_print_pods.py [NAMESPACE]

Reads KUBECONFIG or ~/.kube/config, or a pod's own files. Ctrl-C ends it.
"""

import sys

import kwsync

namespace = sys.argv[1] if len(sys.argv) > 1 else None

try:
    for event in kwsync.watch_resource("pods", namespace=namespace):
        print(event.error or f"{event.type} {event.key}", flush=True)
except KeyboardInterrupt:
    pass
