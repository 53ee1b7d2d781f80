"""``python -m mklcore``: the same as the command ``mkl-explorer``."""

import sys

from mklcore.io.launcher import main

if __name__ == "__main__":
    sys.exit(main())
