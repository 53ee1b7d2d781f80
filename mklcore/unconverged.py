"""The warning that a solver stopped short, which is scikit-learn's warning too; ``errors`` gives it under its own
name.
"""

from sklearn.exceptions import ConvergenceWarning


class NotConvergedWarning(ConvergenceWarning):
    """A solver stopped before it reached its tolerance; the message tells the gap and what to change."""
