"""Build the control plane ahead of the tests, or run one by hand."""

import argparse
import json
import signal
import sys
from pathlib import Path

from .build import find_binaries
from .server import ControlPlane


def main() -> int:
    """Do what the command line says and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.controlplane", description=__doc__)
    parser.add_argument("action", choices=["build", "run"])
    action = parser.parse_args().action
    found = find_binaries(lambda message: print(message, file=sys.stderr, flush=True))
    if found.folder is None:
        print(found.reason, file=sys.stderr)
        return 1
    if action == "build":
        print(found.folder)
    else:
        run(found.folder)
    return 0


def run(binaries: Path) -> None:
    """Run a control plane until Ctrl-C or SIGTERM."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with ControlPlane(binaries) as plane:
            kubeconfig = plane.folder / "kubeconfig"
            kubeconfig.write_text(json.dumps(plane.kubeconfig()))  # JSON is YAML too
            print(f"url         {plane.url}\nkubeconfig  {kubeconfig}\nCtrl-C ends it", flush=True)
            signal.pause()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    sys.exit(main())
