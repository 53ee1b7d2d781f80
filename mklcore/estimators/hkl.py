"""Hierarchical kernel learning as scikit-learn estimators: certified hulls in grids of kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from importlib import import_module
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from mklcore.arrays import Array, Labels
from mklcore.data.dataset import Dataset
from mklcore.errors import DataError, KernelError, ParameterError
from mklcore.estimators.base import PUBLISHED, KernelEstimator, batches, rows_in_block
from mklcore.estimators.targets import KernelClassifier, KernelRegressor
from mklcore.estimators.training_table import target_of
from mklcore.hkl.bases import Basis
from mklcore.hkl.design import Design, HullRows, Matrices
from mklcore.hkl.graph import Graph, Hull, Node, NodeWeights
from mklcore.hkl.inner import NEEDED, HullTask, suits_hulls
from mklcore.hkl.search import SEARCHES, HullSearch, WarmHull, largest_lambda
from mklcore.kernels.operators import is_operator
from mklcore.parameters import check_choice, check_positive, check_whole
from mklcore.problem.driver import Status, run, warn_unless_converged
from mklcore.problem.losses import Loss, loss_for

# Lambda matters over eight decades; searches usually reach a certificate in the upper six.
_GRID_DECADES = 1e-6


@dataclass(eq=False, repr=False)
class _HKLBase(KernelEstimator):
    """min (1/n) sum_i l(y_i, f(x_i)) + lam/2 (sum_v d_v ||beta_D(v)||)^2 over (q+1)^p kernels."""

    _scored_together = False
    _published: ClassVar[dict[str, str]] = {
        name: field for name, field in PUBLISHED.items() if name != "weights_"
    }

    basis: Basis | str | Array | None = None
    lam: float = 1e-3
    loss: str | Loss = "squared"
    _: KW_ONLY
    graph: Graph | None = None
    depth_weight: float | None = None
    root_weight: float = 0.1
    normalize_basis: bool = True
    standardize: bool = True
    search: str = "certified"
    max_nodes: int = 5000
    memory_mb: float = 2048
    max_seconds: float | None = None
    refit: bool = False
    fit_intercept: bool = True
    tol: float = 1e-3
    max_iter: int = 500
    random_state: int | None = None
    callback: Callable[..., Any] | None = None

    def explore(self, *, names: Sequence[str] | None = None) -> Any:
        """Explore the hull in a notebook; ``names`` (d,) are the names of the columns."""
        notebook = import_module("mklcore.figures.notebook")  # figures stand above estimators
        return notebook.explore_hull(self, names=names)

    @property
    def _is_precomputed(self) -> bool:
        return isinstance(self.basis, (np.ndarray, list, tuple))

    def _checked_rows(self, X: Any, *, reset: bool) -> Any:
        graph = self.graph
        if isinstance(X, Design):
            return X
        if graph is not None and (graph.is_precomputed or graph.kernels is None):
            return self._ready_rows(graph, X, reset)
        columns = None
        if isinstance(X, Dataset):
            if X.sequences:
                raise KernelError(
                    f"{type(self).__name__} searches products of columns and has no kernels on "
                    "sequences; pass data.X, or use a method with a dictionary, such as "
                    "LpMKLClassifier."
                )
            columns = X.columns
            X = X.X
        if graph is None and (is_operator(X) or np.ndim(X) == 3):
            raise KernelError(
                f"{type(self).__name__} works on a table of columns (n, p), whose products "
                "it searches; a kernel stack (M, n, n) has no columns. Pass the table, or one "
                "Gram matrix per variable and level (p, q+1, n, n)."
            )
        is_ready = not reset and isinstance(self.design_.levels, Matrices)
        if is_ready or (graph is None and np.ndim(X) == 4):
            return X  # the design checks the shape of the block
        rows = validate_data(
            self, X, reset=reset, dtype=np.float64, order="C", ensure_min_samples=2 if reset else 1
        )
        if reset:
            self._know_rows(rows, columns)
        return rows

    def _ready_rows(self, graph: Graph, X: Any, reset: bool) -> Any:
        """Check ready kernels of a graph: None where the graph holds them, else a stack of them."""
        if reset and graph.is_precomputed:
            count = graph.kernels.shape[1]
            is_checked_later = X is None or isinstance(X, Dataset) or is_operator(X)
            if not is_checked_later and np.ndim(X) < 3 and len(X) != count:
                raise DataError(
                    f"The kernels of the graph have {count} rows, the table has {len(X)}."
                )
            return None
        if reset and not is_operator(X) and np.ndim(X) != 3:
            raise KernelError(
                "A graph without kernel functions takes kernels in place of the table: a "
                "stack (M, n, n), one per node."
            )
        return X  # the design checks blocks of new rows

    def _stack(self, X: Any) -> Any:
        if isinstance(X, Design):
            return X
        return Design(
            X,
            self.basis,
            graph=self.graph,
            standardize=self.standardize,
            normalise=self.normalize_basis,
            names=None if np.ndim(X) == 4 else self.column_names,
            memory_mb=self.memory_mb,
        )

    def _blocks(self, X: Any) -> HullRows:
        check_is_fitted(self)
        if isinstance(X, HullRows):
            return X
        return self.design_.cross(self._checked_rows(X, reset=False))

    def training_stack(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
    ) -> tuple[Design, Labels]:
        """The kernels of the training rows, without their blocks, and the checked target."""
        if isinstance(X, Dataset):
            y = target_of(X, y)
            sample_weight = X.sample_weight
        design = self._stack(self._checked_rows(X, reset=True))
        return super().training_stack(design, y, sample_weight)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_positive(memory_mb=self.memory_mb, root_weight=self.root_weight)
        for name in ("depth_weight", "max_seconds"):
            if getattr(self, name) is not None:
                check_positive(**{name: getattr(self, name)})
        if self.graph is not None:
            self._check_graph()
        check_choice("search", self.search, SEARCHES)
        check_whole("max_nodes", self.max_nodes)

    def _check_graph(self) -> None:
        if not isinstance(self.graph, Graph):
            raise ParameterError(
                f"graph must be None or Graph(parents, kernels); got {self.graph!r}."
            )
        if self.basis is not None:
            raise ParameterError(
                "A graph has its own kernels: leave basis out, or leave graph out for the grid of "
                "products."
            )
        if self.refit:
            raise ParameterError(
                "refit=True needs kernels of rank one; those of a graph may be of any. Use "
                "refit=False."
            )

    @property
    def loss_in_use(self) -> Loss:
        return loss_for(self.loss, self.tasks, suits_hulls, NEEDED)

    def _weights_of(self, design: Design) -> NodeWeights:
        return design.order.weights(self.depth_weight, float(self.root_weight))

    def _search(self, design: Design, task: HullTask, warm: WarmHull | None) -> HullSearch:
        return HullSearch(
            design,
            task,
            self._weights_of(design),
            search=self.search,
            tol=self.tol,
            max_nodes=self.max_nodes,
            max_seconds=self.max_seconds,
            warm=warm,
        )

    def _tasks(self, y: Array) -> list[HullTask]:
        """The problems of all targets, labels -1 and +1 or numbers."""
        lam = float(self.lam)
        rest = self.loss_in_use, self.fit_intercept
        return [HullTask.at(lam, target, *rest) for target in self._targets(y)]

    def problems(
        self,
        X: Any,
        y: Any,
    ) -> tuple[Design, NodeWeights, list[HullTask]]:
        """Rebuild what this model was fitted to, from its training rows ``X`` and target ``y``.

        Returns the design of kernels, the weights of the nodes, and one task per target.
        """
        check_is_fitted(self)
        probe = self.copy_with("lam", self.lam)
        design, target = probe.training_stack(X, y)
        return design, self._weights_of(design), probe._tasks(target)

    def _solve(self, stack: Design, y: Array, warm: Any) -> None:
        tasks = self._tasks(y)
        if self.refit and not stack.all_columns:
            raise ParameterError(
                "refit=True needs a finite number of features per kernel; use a "
                "polynomial basis, or refit=False."
            )
        starts = [None] * len(tasks) if warm is None else warm._warm
        fits = []
        searches = []
        for task, start in zip(tasks, starts, strict=True):
            search = self._search(stack, task, start)
            fit = run(search, tol=self.tol, max_iter=self.max_iter, callback=self.callback)
            # A provisional search was requested: ``status_`` and ``certified_`` report it.
            if fit.status is not Status.PROVISIONAL:
                warn_unless_converged(fit, self.tol)
            fits.append(fit)
            searches.append(search)
        self._warm = [search.warm_start() for search in searches]
        self.design_ = stack
        self._publish(*fits)
        self._publish_hull(stack, searches)
        pairs = zip(searches, fits, strict=True)
        proofs = [search.proof_of(fit.dual_point) for search, fit in pairs]
        found = [proof.arrays for proof in proofs if proof is not None]
        self.proof_ = tuple(found) if len(found) == len(fits) else None
        if self.refit:
            self._refit(stack, np.column_stack(self._targets(y)))

    def _node(self, k: int) -> Node:
        """Node ``k`` of ``hull_`` in the form that the design uses."""
        return self.design_.order.node_of(self.hull_[k])

    @property
    def _nodes(self) -> list[Node]:
        """The nodes of ``hull_`` in the form that the design uses."""
        return [self._node(k) for k in range(len(self.hull_))]

    def _publish_hull(self, design: Design, searches: Sequence[HullSearch]) -> None:
        """Publish the union of the hulls, by depth, and the tables of its nodes.

        The tables hold zeta, eta, ||beta_D(v)|| and ||beta_v||; they are zero where the hull of a
        problem lacks the node.
        """
        states = [search.found.state for search in searches]
        order = design.order
        nodes = sorted({node for state in states for node in state.nodes}, key=order.rank)
        hull = Hull(order, nodes)
        self._publish_tables(searches, nodes)
        self._publish_sources(states, hull)
        self.hull_ = tuple(map(order.key, nodes))
        self.extreme_points_ = tuple(map(order.key, sorted(hull.extreme_points(), key=order.rank)))
        # The squared norms of the components, on average over the problems.
        energies = np.atleast_2d(self.component_norms_) ** 2
        energies = energies.mean(axis=0)
        if self.graph is None:
            has_column = np.array(self.hull_) > 0
            self.relevance_ = energies @ has_column
            self.interaction_order_ = int(has_column.sum(axis=1).max())
        else:
            self.relevance_ = energies
            self.interaction_order_ = max(order.rank(node)[0] for node in nodes)
        self.beta_ = None
        if design.all_columns:
            inner = design.columns_of(nodes).T @ self.dual_coef_.T
            self.beta_ = inner.T * self.weights_
        self.n_dag_kernels_ = order.size
        self.n_visited_ = max(state.visited for state in states)
        self.n_visited_on_path_ = max(state.visited_on_path for state in states)
        self.certified_ = self.status_ is Status.CONVERGED
        is_root_alone = len(nodes) == 1 and self.graph is None
        self.notes_ = (self._root_alone(design),) if is_root_alone else ()

    def _publish_tables(self, searches: Sequence[HullSearch], nodes: Sequence[Node]) -> None:
        """Publish zeta, eta and the norms of every node, (m,) or (T, m) for T problems."""
        place = {node: k for k, node in enumerate(nodes)}
        tables = np.zeros((4, len(searches), len(nodes)))
        for k, search in enumerate(searches):
            state = search.found.state
            inner = state.inner
            zeta = search.found.weights
            eta = np.zeros_like(zeta)
            if inner.omega > 0:
                eta = inner.norms / (search.weights.of(state.nodes) * inner.omega)
            component_norms = zeta * np.sqrt(inner.machine.quadratic_forms)
            columns = [place[node] for node in state.nodes]
            tables[:, k, columns] = zeta, eta, inner.norms, component_norms
        if len(searches) == 1:
            tables = tables[:, 0]
        self.zeta_, self.eta_, self.node_norms_, self.component_norms_ = tables
        self.weights_ = self.zeta_

    def _publish_sources(self, states: Sequence[Any], hull: Hull) -> None:
        """Publish the nodes that could enter next, with the largest share of the threshold."""
        order = hull.order
        shares = dict[Any, float]()
        for state in states:
            for node, share in state.sources.items():
                if node not in hull:
                    shares[node] = max(share, shares.get(node, 0.0))
        self.sources_ = {order.key(node): shares[node] for node in sorted(shares, key=order.rank)}

    def _root_alone(self, design: Design) -> str:
        """A note on what it means that the hull is the root alone."""
        subject = "The hull found is the root alone"
        if self.certified_:
            subject = "The optimum at this lam is the root alone"
        if design.root_is_constant:
            return f"{subject}: every row gets the same prediction. Take a smaller lam."
        return (
            f"{subject}: it is the product of the first levels of all columns, which reveals next "
            "to nothing about any single column. Take a smaller lam, or a basis whose first level "
            "varies less, such as a Gaussian of smaller b."
        )

    def _refit(self, design: Design, targets: Array) -> None:
        """Fit unpenalised least squares on the features of the hull."""
        features = design.columns_of(self._nodes)
        shift = targets.mean(axis=0) if self.fit_intercept else np.zeros(targets.shape[1])
        centre = features.mean(axis=0) if self.fit_intercept else np.zeros(features.shape[1])
        solved = np.linalg.lstsq(features - centre, targets - shift, rcond=1e-10)[0]
        intercept = shift - centre @ solved
        single = targets.shape[1] == 1
        self.refit_coef_ = solved[:, 0] if single else solved
        self.refit_intercept_ = float(intercept[0]) if single else intercept

    def _remember_kernels(self, stack: Any) -> None:
        self.kernel_names_ = tuple(stack.name(node) for node in self._nodes)
        self.kernel_families_ = ("hkl",) * len(self._nodes)
        self.n_train_ = stack.n
        weights = np.atleast_2d(self.weights_).max(axis=0)
        self.selected_ = np.flatnonzero(weights > 0)
        self.n_kernels_ = int(self.selected_.size)

    def _fitted(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        if self.probability and (isinstance(X, Design) or self._is_precomputed or np.ndim(X) == 4):
            raise DataError(
                "probability=True refits on folds of the rows, and ready Gram matrices per "
                "level cannot be cut."
            )
        super()._fitted(X, y)
        if not isinstance(X, Design):
            self.design_.release()
        return self

    def along(
        self,
        stack: Any,
        y: Array,
        attribute: str,
        values: Sequence[float],
    ) -> Iterator[Any]:
        """Yield one fitted copy per lambda, and free the memory of the design after the last."""
        yield from super().along(stack, y, attribute, values)
        stack.release()

    @staticmethod
    def path_table(
        points: Sequence[Any], stack: Design
    ) -> tuple[Array, tuple[str, ...], tuple[str, ...]]:
        """Weights (L, M) over the union of the hulls along a path; zero outside a hull."""
        nodes = sorted({node for point in points for node in point._nodes}, key=stack.order.rank)
        place = {node: k for k, node in enumerate(nodes)}
        weights = np.zeros((len(points), len(nodes)))
        for row, point in zip(weights, points, strict=True):
            row[[place[node] for node in point._nodes]] = np.atleast_2d(point.weights_).mean(axis=0)
        return weights, tuple(stack.name(node) for node in nodes), ("hkl",) * len(nodes)

    def lam_range(self, stack: Design, y: Array) -> tuple[float, float]:
        """The smallest lambda of a path, and the lambda from which only the root remains."""
        probe = self.copy_with("lam", 1.0)
        targets = probe._targets(probe._checked_target(stack, y))
        high = max(largest_lambda(stack, target, self._weights_of(stack)) for target in targets)
        return _GRID_DECADES * high, high

    def _decisions(self, X: Any) -> Array:
        """Decision values of new rows, in batches of at most ``BLOCK_MB``."""
        check_is_fitted(self)
        rows = self._checked_rows(X, reset=False)
        if np.ndim(rows) != 2 or self.design_.all_columns:
            return self.decide_blocks(self.design_.cross(rows))
        size = rows_in_block(self.n_train_ * self.design_.p)
        blocks = map(self.design_.cross, batches(rows, size))
        return np.concatenate([self.decide_blocks(block) for block in blocks])

    def decide_blocks(self, blocks: HullRows) -> Array:
        """Decision values from the kernel values of new rows at the nodes of the hull."""
        is_used = np.atleast_2d(self.weights_ > 0).any(axis=0) | self.refit
        outputs = np.shape(self.dual_coef_.T)[1:]
        decision: Array = np.zeros((blocks.size, *outputs))
        for k in np.flatnonzero(is_used).tolist():
            decision += self._part(blocks, k)
        return decision + (self.refit_intercept_ if self.refit else self.intercept_)

    def solve_near(self, lam: float, y: Any, callback: Any = None) -> Any:
        """Solve at another ``lam``, starting from this model, which stays as it is.

        ``y`` is the training target of the rows that this model was fitted on; ``callback`` is as
        in the class. Returns a new fitted model.
        """
        check_is_fitted(self)
        model = self.copy_with("lam", lam)
        model.callback = callback
        model._fit_stack(self.design_, model._checked_target(self.design_, y), self)
        self.design_.release()
        return model

    def component(self, node: Any, rows: Any) -> Array:
        """The part zeta_v K_v(rows, training) dual of one node in f at new rows.

        With ``refit`` it is the refitted part. ``node`` is a tuple of p levels, or the name of a
        node of a graph. Raises ``ParameterError`` if the node is not in the hull.
        """
        if self.graph is None:
            node = tuple(node)
        if node not in self.hull_:
            raise ParameterError(
                f"{node} is not in the hull; its nodes are hull_, largest weights first in "
                "relevance_."
            )
        return self._part(self._blocks(rows), self.hull_.index(node))

    def contributions(self, X: Any, kernels: Sequence[int] | None = None) -> Array:
        """The part f_v of every node in the decision f = sum_v f_v + intercept_.

        With ``refit`` the intercept is refit_intercept_. ``kernels`` are indices of nodes in
        ``hull_``, all by default. Returns f_v (m, n_new), or (m, n_new, T) for several outputs.
        """
        check_is_fitted(self)
        rows = self._blocks(X)
        chosen = range(len(self.hull_)) if kernels is None else kernels
        parts = [self._part(rows, k) for k in chosen]
        return np.array(parts).reshape(len(parts), rows.size, *np.shape(self.dual_coef_.T)[1:])

    def _part(self, rows: HullRows, k: int) -> Array:
        if self.refit:
            part: Array = np.multiply.outer(rows.node(self._node(k))[0], self.refit_coef_[k])
            return part
        return rows.product(self._node(k), self.dual_coef_.T * self.weights_.T[k])


@dataclass(eq=False, repr=False)
class HKLClassifier(_HKLBase, KernelClassifier):
    """Hierarchical kernel learning for two classes, or one-vs-rest for more.

        min_{beta, b}  (1/n) sum_i l(y_i, f(x_i)) + lam/2 (sum_v d_v ||beta_D(v)||)^2, f = sum_v
        <beta_v, Phi_v(x)> + b

    over the grid of products k_v = prod_i k_{i, v_i}, v in {0..q}^p. A node enters only after its
    parents, and the certificate compares the answer with all (q+1)^p of them.

    Parameters
    ----------
    basis : Basis, str, ndarray or None, default None
        None (polynomial of degree 4), a basis such as ``GaussianBasis(3)`` or its key ("gaussian"),
        or Gram matrices (p, q+1, n, n).
    lam : float, default 0.001
        Weight of Omega^2, > 0; a smaller lam need not give a larger hull.
    loss : str or Loss, default "logistic"
        How a wrong prediction is penalised: the name of a loss in ``LOSSES``, or an object of your
        own.
    graph : Graph or None, default None
        None for the grid of products; ``Graph(parents, kernels)`` for any directed acyclic graph
        with kernels of your own at its nodes. ``basis``, ``standardize`` and ``root_weight`` are
        then not used, and ``normalize_basis`` scales kernel functions to variance 1.
    depth_weight : float or None, default None
        D_v = depth_weight ** depth; None for 4, or sqrt(p) - 1 where that is more; on a graph
        without weights 1.
    root_weight : float, default 0.1
        D of the root, > 0.
    normalize_basis : bool, default True
        Centre every level above 0 and scale it to mean diagonal 1; False as in the paper.
    standardize : bool, default True
        Bring the columns of X to mean 0 and standard deviation 1 first.
    search : str, default "certified"
        "certified" (train small, certify large), "printed" (the algorithm of the paper) or
        "necessary" (quick and provisional: it can miss interactions altogether, and has no gap).
    max_nodes : int, default 5000
        Bound on the certificate set, or as printed on the hull; the gap reached there is stated.
    memory_mb : float, default 2048
        Most memory for Gram matrices of levels and of the hull, in MB; none is needed for columns.
    max_seconds : float or None, default None
        Bound on the search, None for none, in seconds of the processor; the gap reached there is
        stated.
    refit : bool, default False
        Predict by unpenalised least squares on the features of the hull (bases of columns only).
    fit_intercept : bool, default True
        Fit an unpenalised b; it refers to uncentred factors when ``normalize_basis=False``.
    tol : float, default 0.001
        Full gap relative to the objective at which the search stops.
    max_iter : int, default 500
        Most steps of the outer loop, from 1; a fit that stops there gives a
        ``NotConvergedWarning``.
    random_state : int or None, default None
        Seed of everything that is drawn at random; a number gives the same fit each time.
    callback : callable or None, default None
        Called after every step with a record of it; return True, or raise ``CancelledError``, to
        stop the fit.
    probability : bool, default False
        Whether probabilities are calibrated on held-out folds, so that ``predict_proba`` can be
        used.

    Attributes
    ----------
    hull_ (levels, by depth), weights_ = zeta_ (m,), kernel_names_, eta_, node_norms_ =
    ||beta_D(v)||, component_norms_ = ||beta_v||, beta_ (m,) for bases of columns (else None),
    dual_coef_ (n,), intercept_, extreme_points_, sources_ (node -> share of the threshold at which
    it would enter), relevance_ (p,), interaction_order_, n_dag_kernels_ (exact), n_visited_,
    n_visited_on_path_ (with the fits this one was started from), certified_, notes_ (where the root
    is the whole hull), proof_ (nodes and shares of the bound, see ``hkl_certificate``), dual_point_
    (n,), objective_, dual_objective_, dual_gap_, relative_gap_, status_, history_, design_. On a
    graph hull_, extreme_points_ and sources_ hold the names (or indices) of nodes, relevance_ is
    ||beta_v||^2 (m,), interaction_order_ the depth of the hull. With more classes weights_, eta_,
    node_norms_, dual_coef_, intercept_ and the certificate gain a leading axis, and hull_ is the
    union.

    Source: Bach (2008), equations (1) to (3), Propositions 1 to 3.
    """

    loss: str | Loss = "logistic"
    _: KW_ONLY
    probability: bool = False


@dataclass(eq=False, repr=False)
class HKLRegressor(_HKLBase, KernelRegressor):
    """Hierarchical kernel learning for regression: squared loss 1/2 (y - f)^2.

    Everything else as in ``HKLClassifier``.

    Parameters
    ----------
    basis : Basis, str, ndarray or None, default None
        None (polynomial of degree 4), a basis such as ``GaussianBasis(3)`` or its key ("gaussian"),
        or Gram matrices (p, q+1, n, n).
    lam : float, default 0.001
        Weight of the regulariser, > 0: larger values fit the training rows less closely.
    loss : str or Loss, default "squared"
        How a wrong prediction is penalised: the name of a loss in ``LOSSES``, or an object of your
        own.
    graph : Graph or None, default None
        None for the grid of products; ``Graph(parents, kernels)`` for any directed acyclic graph
        with kernels of your own at its nodes. ``basis``, ``standardize`` and ``root_weight`` are
        then not used, and ``normalize_basis`` scales kernel functions to variance 1.
    depth_weight : float or None, default None
        D_v = depth_weight ** depth; None for 4, or sqrt(p) - 1 where that is more; on a graph
        without weights 1.
    root_weight : float, default 0.1
        D of the root, > 0.
    normalize_basis : bool, default True
        Centre every level above 0 and scale it to mean diagonal 1; False as in the paper.
    standardize : bool, default True
        Bring the columns of X to mean 0 and standard deviation 1 first.
    search : str, default "certified"
        "certified" (train small, certify large), "printed" (the algorithm of the paper) or
        "necessary" (quick and provisional: it can miss interactions altogether, and has no gap).
    max_nodes : int, default 5000
        Bound on the certificate set, or as printed on the hull; the gap reached there is stated.
    memory_mb : float, default 2048
        Most memory for Gram matrices of levels and of the hull, in MB; none is needed for columns.
    max_seconds : float or None, default None
        Bound on the search, None for none, in seconds of the processor; the gap reached there is
        stated.
    refit : bool, default False
        Predict by unpenalised least squares on the features of the hull (bases of columns only).
    fit_intercept : bool, default True
        Whether the model has a free offset b.
    tol : float, default 0.001
        Relative duality gap at which the solver stops, > 0.
    max_iter : int, default 500
        Most steps of the outer loop, from 1; a fit that stops there gives a
        ``NotConvergedWarning``.
    random_state : int or None, default None
        Seed of everything that is drawn at random; a number gives the same fit each time.
    callback : callable or None, default None
        Called after every step with a record of it; return True, or raise ``CancelledError``, to
        stop the fit.

    References
    ----------
    Bach (2008), equations (1) to (3), Propositions 1 to 3.
    """
