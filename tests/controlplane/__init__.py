"""A real kube-apiserver with etcd for the tests, without Docker; it knows nothing of kwsync.

build finds or builds the programs; server puts credentials, commands, process and api together into a
ControlPlane; fixtures hands it to tests. `python -m tests.controlplane` builds or runs one by hand.
"""
