"""Sums of losses over rows, as cone programs."""

import cvxpy as cp

CONES = {
    "squared": lambda y, f: cp.sum_squares(y - f) / 2,
    "logistic": lambda y, f: cp.sum(cp.logistic(-cp.multiply(y, f))),
    "hinge": lambda y, f: cp.sum(cp.pos(1 - cp.multiply(y, f))),
    "huber": lambda y, f: cp.sum(cp.huber(y - f)) / 2,
    "squared_hinge": lambda y, f: cp.sum_squares(cp.pos(1 - cp.multiply(y, f))) / 2,
    "epsilon_insensitive": lambda y, f: cp.sum(cp.pos(cp.abs(y - f) - 0.1)),
    "pinball": lambda y, f: cp.sum(cp.abs(y - f)) / 2,
}
