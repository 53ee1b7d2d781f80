"""What the pages share.

Before anything else the rooms of the library are imported, in one thread: this package is the first one a page imports, and
its lock makes whoever comes at the same moment wait. Two threads that enter a package and one of its modules at once would
find it half made.
"""

import mklcore.estimators.registry
import mklcore.experiments
import mklcore.figures
import mklcore.lessons
import mklcore.theory  # noqa: F401
