"""Every algorithm a person can choose, with its words, its formula and its controls.

The app builds its select-boxes, sliders and explanations from ``ESTIMATORS`` alone, and the
parametrised tests run over it: a new algorithm is one entry here.
"""

from __future__ import annotations

from dataclasses import replace

from mklcore.hkl.bases import BASES
from mklcore.hkl.inner import suits_hulls
from mklcore.hkl.search import SEARCHES
from mklcore.io.catalog import controls
from mklcore.io.catalog.algorithm import (
    Algorithm,
    Control,
    Live,
    PathParameter,
    Preset,
)
from mklcore.problem.losses import CLASSIFICATION, losses_for

ESTIMATORS: dict[str, Algorithm] = {
    algorithm.key: algorithm
    for algorithm in (
        Algorithm(
            "lp",
            "ℓp-norm MKL",
            "Learns all kernel weights at once under a norm; p sets how sparse they are.",
            "mklcore.estimators.lp.LpMKLClassifier",
            "mklcore.estimators.lp.LpMKLRegressor",
            (controls.PATHS["C"], controls.PATHS["p"]),
            Live(
                lambda: (
                    controls.LOSS_CLASS,
                    controls.LOSS_REAL,
                    controls.p_of_norms(),
                    controls.C,
                    *controls.of_losses(),
                    controls.norm(),
                    *controls.of_penalties(),
                    controls.SOLVER,
                    controls.INTERCEPT,
                    controls.TOL,
                    controls.MAX_ITER,
                )
            ),
            r"\min_{w,b,\theta\ge 0}\; C\sum_i V\big(y_i,f(x_i)\big)+\tfrac12\sum_m\frac{\|w_m"
            r"\|^2}{\theta_m},"
            r"\qquad \|\theta\|_p\le 1",
            (
                "At p = 1 few kernels carry the weight; as p grows the weight spreads. Watch "
                "whether the validation score follows: sparse is not always better."
            ),
            (
                "Among strongly correlated kernels the choice at p = 1 is arbitrary: a small "
                "change of the data can swap them. A weight says what this model uses, not "
                "what causes the target."
            ),
            "Kloft, Brefeld, Sonnenburg, Zien (2011)",
            presets=(
                Preset(
                    "sparse",
                    "p = 1: few kernels carry all the weight.",
                    (("norm", "lp"), ("p", 1.0)),
                    "C",
                ),
                Preset(
                    "balanced",
                    "p = 4/3: between sparse and even, and every kernel keeps some weight.",
                    (("norm", "lp"), ("p", 4 / 3)),
                    "C",
                ),
                Preset(
                    "smooth",
                    "p = 2: the weight spreads over all.",
                    (("norm", "lp"), ("p", 2.0)),
                    "C",
                ),
                Preset(
                    "from sparse to even", "The path runs over p itself.", (("norm", "lp"),), "p"
                ),
            ),
            variants=controls.NORM_VARIANTS,
            prepare=controls.penalty,
            novelty="mklcore.estimators.one_class.LpMKLOneClass",
            novelty_words=controls.NOVELTY_WORDS,
            is_approximable=True,
        ),
        Algorithm(
            "joint",
            "Shared weights",
            (
                "One set of kernel weights for all classes, one against the rest: the same "
                "kernels count for every class."
            ),
            "mklcore.estimators.joint.JointMKLClassifier",
            "mklcore.estimators.joint.JointMKLRegressor",
            (controls.PATHS["C"], controls.PATHS["p"]),
            Live(
                lambda: controls.of_machine(
                    replace(controls.p_of_norms(), when=None, default=4 / 3)
                )
            ),
            r"\min_{w,b,\theta\ge 0}\; \sum_k C\sum_i V\big(y_{ik},f_k(x_i)\big)"
            r"+\tfrac12\sum_m\frac{\sum_k\|w_{mk}\|^2}{\theta_m},\qquad \|\theta\|_p\le 1",
            (
                "Which kernels all classes need. Beside ℓp-norm MKL, which weighs kernels for "
                "each class, the score says whether classes need kernels of their own."
            ),
            (
                "A kernel that one class alone needs gets a small weight, although that class "
                "would be lost without it. For two classes or one number as target the "
                "problem is that of ℓp-norm MKL."
            ),
            "Kloft, Brefeld, Sonnenburg, Zien (2011), with weights shared over classes",
            presets=(
                Preset("sparse", "p = 1: few kernels for all classes.", (("p", 1.0),), "C"),
                Preset(
                    "balanced", "p = 4/3: every kernel keeps some weight.", (("p", 4 / 3),), "C"
                ),
                Preset("from sparse to even", "The path runs over p itself.", (), "p"),
            ),
            offered_for=("multiclass",),
        ),
        Algorithm(
            "gomp",
            "MKL-GOMP",
            "Adds one kernel after another, each time the one that explains most of the residual.",
            "mklcore.estimators.gomp.GOMPClassifier",
            "mklcore.estimators.gomp.GOMPRegressor",
            (controls.PATHS["s"], controls.PATHS["lam"]),
            (
                Control(
                    "loss",
                    "Loss",
                    "choice",
                    "squared",
                    (
                        "Hinge ignores rows beyond the margin; it solves one machine per "
                        "kernel and step. Logistic and squared hinge are smooth."
                    ),
                    choices=("squared", "hinge", "logistic", "squared_hinge"),
                    tasks=CLASSIFICATION,
                ),
                controls.GREEDY_LOSS_REAL,
                controls.LAM,
                Control(
                    "n_kernels",
                    "Kernels s",
                    "integer",
                    10,
                    "More kernels: as a rule a closer fit to the training rows.",
                    1,
                    200,
                ),
                Control(
                    "score_tol",
                    "Least gain",
                    "log",
                    1e-4,
                    (
                        "Larger: it stops earlier, before a kernel that would explain less "
                        "than this share of the target."
                    ),
                    1e-12,
                    1.0,
                    advanced=True,
                ),
                Control(
                    "n_candidates",
                    "Candidates per step",
                    "integer",
                    0,
                    "Fewer: faster, and another kernel may be taken. 0 looks at all.",
                    0,
                    10000,
                    advanced=True,
                ),
                Control(
                    "keep_duplicates",
                    "Let copies compete",
                    "flag",
                    False,
                    "Off: of exact copies only the first can enter.",
                    advanced=True,
                ),
                controls.MEAN_CLASS,
                controls.MEAN_REAL,
            ),
            r"\min_f\;\tfrac1n\sum_i V\big(y_i,f(x_i)\big)+\lambda\|f\|^2,"
            r"\qquad \text{at most } s \text{ kernels}",
            (
                "The order in which kernels enter, and the size s after which the validation "
                "score no longer rises."
            ),
            (
                "The choice is greedy: another set of the same size may fit better. With "
                "squared loss the certificate bounds by how much, and Best k kernels searches "
                "for that set. Among correlated kernels the first one taken hides the others."
            ),
            "Sindhwani and Lozano (2011)",
            presets=(
                Preset(
                    "kernel by kernel", "The usual λ; the path adds kernels.", (("lam", 0.01),), "s"
                ),
                Preset(
                    "close fit",
                    "A hundredth of the usual λ: each kernel fits all it can.",
                    (("lam", 1e-4),),
                    "s",
                ),
                Preset(
                    "five kernels",
                    "Five kernels at most; the path runs over λ.",
                    (("n_kernels", 5),),
                    "lam",
                ),
            ),
            prepare=controls.candidates,
            is_approximable=True,
        ),
        Algorithm(
            "best_k",
            "Best k kernels",
            (
                "Searches all choices of k kernels for the best one, and proves how far from "
                "it the answer can be."
            ),
            "mklcore.estimators.best_k.BestSetClassifier",
            "mklcore.estimators.best_k.BestSetRegressor",
            (controls.PATHS["s"], controls.PATHS["lam"]),
            (
                controls.LAM,
                Control(
                    "n_kernels",
                    "Kernels s",
                    "integer",
                    5,
                    "More kernels: a closer fit, a longer search.",
                    1,
                    50,
                ),
                Control(
                    "max_relaxations",
                    "Relaxations",
                    "integer",
                    controls.RELAXATIONS,
                    "More: the search goes on for longer, and proves more choices to be the best.",
                    1,
                    5000,
                    advanced=True,
                ),
                controls.MEAN_CLASS,
                controls.MEAN_REAL,
            ),
            r"\min_f\;\tfrac1n\sum_i\big(y_i-f(x_i)\big)^2+\lambda\|f\|^2,"
            r"\qquad \text{at most } s \text{ kernels}",
            (
                "Which sizes s are proven, and whether the kernels of one size are all among "
                "those of the next: where they are not, no method that adds kernel by kernel "
                "finds both."
            ),
            (
                "The best kernels of the training rows need not predict best, and several "
                "choices can be nearly as good. With a small λ the bound is wide, and the "
                "search ends before it closes."
            ),
            (
                "Sindhwani and Lozano (2011), with the relaxation of Bertsimas, Iglesias, "
                "Johnson (2025)"
            ),
            presets=(
                Preset(
                    "kernel by kernel", "The usual λ; the path adds kernels.", (("lam", 0.01),), "s"
                ),
                Preset(
                    "close bound",
                    "Ten times the usual λ: most sizes are proven.",
                    (("lam", 0.1),),
                    "s",
                ),
            ),
            prepare=controls.relaxations,
        ),
        Algorithm(
            "greedy",
            "Greedy sparse MKL",
            (
                "Grows the exact l1 solution kernel by kernel: the steepest kernel enters, "
                "then all entered kernels are solved again."
            ),
            "mklcore.estimators.greedy.GreedyMKLClassifier",
            "mklcore.estimators.greedy.GreedyMKLRegressor",
            controls.GREEDY_PATHS,
            (
                Control(
                    "lam",
                    "Penalty λ",
                    "log",
                    0.01,
                    (
                        "Larger λ: fewer kernels enter and each is held smaller; beyond the "
                        "critical λ none enters."
                    ),
                    1e-8,
                    1e4,
                ),
                Control(
                    "n_kernels",
                    "Kernels s",
                    "integer",
                    10,
                    (
                        "More kernels: closer to the full l1 solution. For the empirical "
                        "criterion: more steps."
                    ),
                    1,
                    200,
                ),
                Control(
                    "criterion",
                    "Gradient",
                    "choice",
                    "functional",
                    (
                        "functional solves the penalised problem and certifies it; empirical "
                        "takes plain gradient steps without λ."
                    ),
                    choices=("functional", "empirical"),
                ),
                Control(
                    "step",
                    "Step",
                    "choice",
                    "unit",
                    (
                        "Empirical criterion only: the published unit step is slow; the line "
                        "search goes as far as pays."
                    ),
                    choices=("unit", "linesearch"),
                    when=("criterion", ("empirical",)),
                ),
                Control(
                    "loss",
                    "Loss",
                    "choice",
                    "squared",
                    "Squared hinge ignores rows beyond the margin, and no rate is claimed for it.",
                    choices=("squared", "logistic", "squared_hinge"),
                    tasks=CLASSIFICATION,
                    when=("criterion", ("empirical",)),
                ),
                replace(controls.GREEDY_LOSS_REAL, when=("criterion", ("empirical",))),
                controls.MEAN_CLASS,
                controls.MEAN_REAL,
                controls.TOL_GREEDY,
            ),
            r"\min_f\;\tfrac1{2n}\sum_i\big(y_i-f(x_i)\big)^2+\lambda\sum_j\|f_j\|_{\mathcal H_j}",
            (
                "The certificate tightens with every kernel that enters; after the last one "
                "the l1 optimum is reached and no kernel outside is steeper than λ."
            ),
            (
                "Kernels that enter early may end with weight zero, and copies of a kernel "
                "are never distinguished: the first one is taken. The geometric rate of the "
                "paper says nothing for Gaussian kernels, whose spans overlap completely."
            ),
            "Jin, Yang and Mahdavi (2013)",
            variants=(controls.STEPS_VARIANT,),
            presets=(
                Preset(
                    "kernel by kernel",
                    "The certificate tightens with every kernel.",
                    (("criterion", "functional"),),
                    "s",
                ),
                Preset(
                    "step by step",
                    "From where no kernel enters, down.",
                    (("criterion", "functional"),),
                    "lam",
                ),
                Preset(
                    "plain steps",
                    "Gradient steps on the training error, as far as pays.",
                    (("criterion", "empirical"), ("step", "linesearch")),
                    "s",
                ),
            ),
            normalise="diag",
        ),
        Algorithm(
            "smkl",
            "SMKL, concave selection",
            (
                "Penalises every kernel by a concave function of its norm, so that few kernels "
                "stay: often fewer than under p = 1."
            ),
            "mklcore.estimators.smkl.SMKLClassifier",
            "mklcore.estimators.smkl.SMKLRegressor",
            (controls.PATHS["C"],),
            Live(
                lambda: (
                    controls.LOSS_CLASS,
                    controls.LOSS_REAL,
                    Control(
                        "terms",
                        "Penalty g",
                        "choice",
                        "log+gl",
                        (
                            "log and mf drop kernels hardest; gl and mkl (the penalty of p = 1) "
                            "are convex and keep more; mcp and scad do not hold small what "
                            "they keep."
                        ),
                        choices=(
                            "log+gl",
                            "log",
                            "gl",
                            "mf",
                            "mkl",
                            "mcp",
                            "scad",
                            "log+mkl",
                            "mf+gl",
                            "mf+mkl",
                        ),
                    ),
                    controls.C,
                    *controls.of_losses(),
                    Control(
                        "n_starts",
                        "Starts",
                        "integer",
                        1,
                        (
                            "More starts: the best of several local minima is kept. The first "
                            "start has equal weights."
                        ),
                        1,
                        50,
                    ),
                    Control(
                        "log_epsilon",
                        "Floor ε of the logarithm",
                        "log",
                        1e-6,
                        (
                            "Smaller: small kernels are dropped sooner, and there may be more "
                            "local minima."
                        ),
                        1e-12,
                        1.0,
                        advanced=True,
                        when=("terms", ("log+gl", "log", "log+mkl")),
                    ),
                    Control(
                        "mf_power",
                        "Power of mf",
                        "log",
                        0.5,
                        "Smaller: fewer kernels stay; 1 is the group lasso.",
                        0.05,
                        1.0,
                        advanced=True,
                        when=("terms", ("mf", "mf+gl", "mf+mkl")),
                    ),
                    Control(
                        "tol_mode",
                        "Change of weights, measured",
                        "choice",
                        "relative",
                        "Relative to the sum of the weights, or as it is.",
                        choices=("relative", "absolute"),
                        advanced=True,
                    ),
                    Control(
                        "init_jitter",
                        "Jitter of the start",
                        "choice",
                        "0",
                        "Above 0: exact copies start apart, so that one of them can win.",
                        choices=("0", "0.001", "0.01", "0.1"),
                        advanced=True,
                    ),
                    controls.INTERCEPT,
                    controls.TOL_SMKL,
                    controls.MAX_ITER,
                )
            ),
            r"\min_{w,b}\; g(w)+C\sum_i V\big(y_i,f(x_i)\big),\qquad "
            r"g=\sum_m\log\sqrt{\epsilon+\|w_m\|^2}+\sum_m\|w_m\|\;\text{ or another sum of terms}",
            (
                "How few kernels are left once the score has settled: compare with p = 1 at "
                "the same score. Larger C: more kernels come in, and below some C none is "
                "worth its penalty."
            ),
            (
                "The answer is a local minimum and has no certificate: another start may keep "
                "other kernels, so raise the number of starts and look at their spread. Exact "
                "duplicates share the weight unless they are parted by jitter."
            ),
            "Subrahmanya and Shin (2010)",
            presets=(
                Preset(
                    "sparsest",
                    "The logarithm alone drops kernels hardest.",
                    (("terms", "log"),),
                    "C",
                ),
                Preset("usual", "Logarithm and group lasso.", (("terms", "log+gl"),), "C"),
                Preset(
                    "convex",
                    "The penalty of p = 1: one optimum, more kernels.",
                    (("terms", "mkl"),),
                    "C",
                ),
            ),
            variants=controls.CONVEX_VARIANTS,
            prepare=controls.jitter,
            normalise="trace",
        ),
        Algorithm(
            "hkl",
            "Hierarchical kernel learning",
            (
                "Finds which columns matter and which of them act together, in a grid of "
                "kernels far too large to list."
            ),
            "mklcore.estimators.hkl.HKLClassifier",
            "mklcore.estimators.hkl.HKLRegressor",
            (
                PathParameter(
                    "lam",
                    "lam",
                    "λ, the weight of the norm",
                    "Smaller λ: deeper nodes may enter. The hull need not grow step by step.",
                ),
            ),
            (
                Control(
                    "loss",
                    "Loss",
                    "choice",
                    "logistic",
                    "How a wrong prediction is penalised.",
                    choices=Live(lambda: losses_for(CLASSIFICATION, suits_hulls)),
                    tasks=CLASSIFICATION,
                ),
                Control(
                    "basis",
                    "Basis",
                    "choice",
                    "polynomial",
                    (
                        "What a column is turned into before columns are multiplied; ANOVA "
                        "and splines bend freely, one level each."
                    ),
                    choices=tuple(BASES),
                ),
                Control(
                    "lam",
                    "Penalty λ",
                    "log",
                    1e-3,
                    "Smaller λ: the fit follows the data more closely and deeper nodes may enter.",
                    1e-8,
                    1e4,
                ),
                Control(
                    "search",
                    "Search",
                    "choice",
                    "certified",
                    (
                        "Certified and printed (the published search) bound the gap over all "
                        "kernels; necessary is quick and provisional, and can miss "
                        "interactions."
                    ),
                    choices=SEARCHES,
                    advanced=True,
                ),
                *controls.HULL_SHAPES,
                *controls.HULL_WEIGHTS,
                *controls.HULL_LIMITS,
            ),
            r"\min_{f=\sum_v f_v,\,b}\;\tfrac1n\sum_i \ell\big(y_i,f(x_i)+b\big)"
            r"+\tfrac{\lambda}{2}\Big(\sum_v d_v\,\|\beta_{D(v)}\|\Big)^2",
            (
                "A product enters only after its factors. Look at the hollow nodes: how far "
                "each is from entering."
            ),
            (
                "A column outside the hull can still matter through one that stands in for "
                "it. At small λ the gap may not close: then the hull is a good model, not the "
                "certified one."
            ),
            "Bach (2008)",
            on="table",
            prepare=controls.hull,
        ),
        Algorithm(
            "uniform",
            "Uniform sum",
            "Every kernel with weight one: the baseline every learned weighting has to beat.",
            "mklcore.estimators.baselines.UniformMKLClassifier",
            "mklcore.estimators.baselines.UniformMKLRegressor",
            (controls.PATHS["C"],),
            Live(controls.of_machine),
            r"\min_{w,b}\; C\sum_i V\big(y_i,f(x_i)\big)+\tfrac12\sum_m\|w_m\|^2",
            (
                "Whether learning weights pays: compare the validation score with the same C "
                "under ℓp-norm MKL."
            ),
            "Equal weights say nothing about which kernels matter.",
            "Kloft, Brefeld, Sonnenburg, Zien (2011), the case p = ∞",
            presets=controls.MACHINES,
            is_approximable=True,
        ),
        Algorithm(
            "best",
            "Best single kernel",
            (
                "Tries every kernel alone and keeps the best one: the other baseline a "
                "weighting has to beat."
            ),
            "mklcore.estimators.baselines.BestKernelClassifier",
            "mklcore.estimators.baselines.BestKernelRegressor",
            (controls.PATHS["C"],),
            Live(
                lambda: controls.of_machine(
                    Control(
                        "select",
                        "Best by",
                        "choice",
                        "objective",
                        (
                            "Objective: the lowest value of the problem below. Folds: the "
                            "best score over inner folds, which takes longer."
                        ),
                        choices=("objective", "folds"),
                    ),
                )
            ),
            r"\min_m\;\min_{w,b}\; C\sum_i V\big(y_i,f(x_i)\big)+\tfrac12\|w\|^2,"
            r"\qquad f=\langle w,\psi_m\rangle+b",
            (
                "Where the kernel changes along the path, and how far the score stays below "
                "that of a weighting."
            ),
            (
                "One kernel wins, and how close the others came is not shown. The certificate "
                "is for the machine on that kernel; chosen by folds, the choice itself "
                "carries none."
            ),
            "Kloft, Brefeld, Sonnenburg, Zien (2011), the corners of p = 1",
            presets=controls.MACHINES,
        ),
        Algorithm(
            "aligned",
            "Weights in one step",
            (
                "Weighs every kernel by how well it fits the target, then fits one machine on "
                "the sum: a quick baseline."
            ),
            "mklcore.estimators.baselines.AlignedMKLClassifier",
            "mklcore.estimators.baselines.AlignedMKLRegressor",
            (controls.PATHS["C"],),
            Live(
                lambda: controls.of_machine(
                    Control(
                        "rule",
                        "Weights by",
                        "choice",
                        "aligned",
                        (
                            "aligned: centred alignment with the target; kernels that say the "
                            "same count once. margin: what a kernel adds to the widest margin "
                            "of all together (EasyMKL)."
                        ),
                        choices=("aligned", "margin"),
                        tasks=CLASSIFICATION,
                    ),
                )
            ),
            r"\mu=\operatorname{argmax}_{\mu\ge 0}"
            r"\frac{\langle\sum_m\mu_m K_m,\;yy^\top\rangle}{\|\sum_m\mu_m K_m\|_F}"
            r",\qquad \min_{w,b}\; C\sum_i V\big(y_i,f(x_i)\big)+\tfrac12\sum_m\frac{\|w_m"
            r"\|^2}{\mu_m}",
            (
                "How close the score comes to that of a joint problem at a small part of its "
                "cost. The weights are the same all along the path: C moves the machine "
                "alone."
            ),
            (
                "There is no certificate: nothing says how far these weights are from the "
                "best ones of any problem."
            ),
            "Cortes, Mohri, Rostamizadeh (2012)",
            presets=controls.MACHINES,
            variants=controls.MARGIN_VARIANTS,
        ),
    )
}
