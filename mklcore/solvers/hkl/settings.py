"""What hierarchical kernel learning is tuned by: the search, its certificates, its machines and its memory."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class HKLSettings:
    """Settings of the search in ``search.py`` and of what it uses.

    A value changes how long a fit takes, not what its certificate proves.
    """

    # search.py
    rough: float = 1e-6  # accuracy of a hull on the way, at most
    sharp: float = 1e-9  # accuracy of a hull at the end, and the least on the way
    violators: int = 10  # nodes that enter together, as printed
    sources: int = 40  # sources that enter together, as printed
    strict: float = 1e-6  # relative room for rounding in N_J
    rounds: int = 25  # of polishing, and of the bound behind lambda_range
    range_nodes: int = 3  # nodes per variable for lambda_range

    # certificate.py
    certificate_steps: int = 150  # of one certificate at most
    mixes: tuple[float, ...] = (
        1e-3,
        1e-2,
        1e-4,
        1e-1,
    )  # weight of new nodes in the first shares, in the order tried

    # inner.py
    mix_below: float = 1e-10  # a start with smaller shares (new nodes have none) is moved inwards
    patience: int = 10  # steps of the barrier that do not halve the gap
    loose: float = 1e-2  # gap to which the fixed point goes before the barrier
    first: int = 20  # steps of the fixed point at most
    to_the_wall: float = 0.95  # of the way to the boundary of the simplex is the longest step
    halvings: int = 12  # of a step that does not gain

    # machine.py
    newton: int = 60  # Newton steps of a smooth machine at most

    # hinge.py
    hinge_steps: int = 80  # interior point steps of a hinge machine at most
    hinge_patience: int = 3  # of them in a row that do not lower the gap
    off_path: float = 100.0  # gaps of so many n mu are not those of the central path
    far: float = 1e-9  # share of the objective: a gap that another start may close
    inside: float = 1e-3  # a warm start is moved this far into the box
    hinge_to_the_wall: float = 0.99  # of the way to the boundary of the box is the longest step

    # design.py
    tables: float = 0.4  # share of the memory that the levels leave: for tables of levels
    kept: float = 0.2  # for Gram matrices that are kept
    trained: float = 0.4  # for Gram matrices that a hull trains on
    most_trained: float = 0.9  # a hull may take this much: tables and kept matrices then make room
    together: int = 20_000  # nodes of one plan: each takes some kilobytes of work space

    # space.py
    first_roots: int = 20  # with which a search begins where there are more

    # work.py
    rate: float = 2.5e9  # multiplications in one second of work: what one idle core does
    factored: float = 0.2  # of a multiplication is what one costs inside a factorisation
    per_solve: float = 1e6  # what a machine solve costs beside its products


SETTINGS = HKLSettings()
