"""Every error of the library, as one tree.

    MKLError
    ├── DataError            a table or a target cannot be used          (also ValueError)
    ├── KernelError          a kernel, a stack or a dictionary is wrong  (also ValueError)
    └── ParameterError       a parameter is out of its range             (also ValueError)
    NotConvergedWarning      a solver stopped before its tolerance       (also scikit-learn's ConvergenceWarning)

A message says what happened, what was expected, what came, and what to do next.
"""

from sklearn.exceptions import ConvergenceWarning


class MKLError(Exception):
    """Root of every error this library raises on purpose."""


class DataError(MKLError, ValueError):
    """A table, a target or a split cannot be used as it is."""


class KernelError(MKLError, ValueError):
    """A kernel, a kernel dictionary or a stack of Gram matrices is not usable."""


class ParameterError(MKLError, ValueError):
    """A parameter is outside the range for which the method is defined."""


class NotConvergedWarning(ConvergenceWarning):
    """A solver stopped before it reached its tolerance; the message tells the gap and what to change."""
