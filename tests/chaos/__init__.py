"""Writers change objects while faults strike: at every quiet point each cache and each handler equals the server.

python -m tests.chaos --events 1000000 --faults 10000 --seed 1     on the server in memory
python -m tests.chaos --real --events 100000 --kills 50 --seed 1   on a real kube-apiserver and etcd
"""
