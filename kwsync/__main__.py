"""``python -m kwsync``: the command line."""

import sys

from kwsync.cli import main

if __name__ == "__main__":
    sys.exit(main())
