"""Tables that differ in their last digits: a test that fails on one of them hangs on the rounding
of one machine.

Another processor, BLAS kernel or order of a sum changes results by some 1e-15 of their size. Here
the draws of tests are changed instead, by some 1e-13: what stands on an edge falls on either side
of it.
"""

import sys

import numpy as np

SIZE = 1e-13
REAL = (
    "beta", "chisquare", "dirichlet", "exponential", "f", "gamma", "gumbel", "laplace", "logistic", "lognormal",
    "multivariate_normal", "normal", "pareto", "random", "rayleigh", "standard_cauchy", "standard_exponential",
    "standard_gamma", "standard_normal", "standard_t", "triangular", "uniform", "vonmises", "wald", "weibull",
)  # fmt: skip
usual = np.random.default_rng


class JitteredGenerator(np.random.Generator):
    """A generator whose real-valued draws are multiplied by 1 + 1e-13 times noise; ``noise`` says
    which.
    """

    noise = 0

    def __init__(self, bits):
        super().__init__(bits)
        self._noise = usual([JitteredGenerator.noise, 13])


def _jittered(name):
    plain = getattr(np.random.Generator, name)

    def draw(self, *args, **options):
        drawn = plain(self, *args, **options)
        moved = drawn * (1.0 + SIZE * self._noise.standard_normal(np.shape(drawn)))
        return moved.astype(drawn.dtype) if isinstance(drawn, np.ndarray) else float(moved)

    return draw


for _name in REAL:
    setattr(JitteredGenerator, _name, _jittered(_name))


def install():
    """Let tests draw from such generators from here on."""
    np.random.default_rng = default_rng


def default_rng(seed=None):
    """The generator of tests, jittered; that of the library as numpy has it."""
    made = usual(seed)
    asked_by = sys._getframe(1).f_globals.get("__name__", "")
    is_made_here = not isinstance(seed, np.random.Generator)
    return (
        JitteredGenerator(made.bit_generator)
        if is_made_here and asked_by.startswith("tests.")
        else made
    )
