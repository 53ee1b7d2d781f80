"""The public names with their types; ``__init__.py`` loads them when they are first used."""

from mklcore import (
    answer as answer,
    arrays as arrays,
    data as data,
    errors as errors,
    estimators as estimators,
    figures as figures,
    gallery as gallery,
    hkl as hkl,
    in_browser as in_browser,
    io as io,
    kernels as kernels,
    lp as lp,
    parameters as parameters,
    paths as paths,
    problem as problem,
    sparse as sparse,
    verify as verify,
)
from mklcore.gallery import theory as theory
from mklcore.answer.auto import (
    AutoMKLClassifier as AutoMKLClassifier,
    AutoMKLRegressor as AutoMKLRegressor,
)
from mklcore.answer.explore import explore as explore
from mklcore.data.dataset import Dataset as Dataset
from mklcore.data.reading import read_table as read_table
from mklcore.data.samples import SAMPLES as SAMPLES, load_sample as load_sample
from mklcore.data.synthetic import (
    make_mkl_toy as make_mkl_toy,
    make_ringnorm as make_ringnorm,
    make_sequences as make_sequences,
    make_sparse_polynomial as make_sparse_polynomial,
    make_spectra as make_spectra,
    make_twonorm as make_twonorm,
)
from mklcore.errors import (
    DataError as DataError,
    KernelError as KernelError,
    MKLError as MKLError,
    ParameterError as ParameterError,
    NotConvergedWarning as NotConvergedWarning,
)
from mklcore.estimators.baselines import (
    AlignedMKLClassifier as AlignedMKLClassifier,
    AlignedMKLRegressor as AlignedMKLRegressor,
    BestKernelClassifier as BestKernelClassifier,
    BestKernelRegressor as BestKernelRegressor,
    UniformMKLClassifier as UniformMKLClassifier,
    UniformMKLRegressor as UniformMKLRegressor,
)
from mklcore.estimators.best_k import (
    BestSetClassifier as BestSetClassifier,
    BestSetRegressor as BestSetRegressor,
    best_k_kernels as best_k_kernels,
)
from mklcore.estimators.gomp import GOMPClassifier as GOMPClassifier, GOMPRegressor as GOMPRegressor
from mklcore.estimators.greedy import (
    GreedyMKLClassifier as GreedyMKLClassifier,
    GreedyMKLRegressor as GreedyMKLRegressor,
)
from mklcore.estimators.hkl import HKLClassifier as HKLClassifier, HKLRegressor as HKLRegressor
from mklcore.estimators.joint import (
    JointMKLClassifier as JointMKLClassifier,
    JointMKLRegressor as JointMKLRegressor,
)
from mklcore.estimators.lp import (
    LpMKLClassifier as LpMKLClassifier,
    LpMKLRegressor as LpMKLRegressor,
)
from mklcore.estimators.one_class import LpMKLOneClass as LpMKLOneClass
from mklcore.estimators.smkl import (
    FeatureScalingClassifier as FeatureScalingClassifier,
    FeatureScalingRegressor as FeatureScalingRegressor,
    SMKLClassifier as SMKLClassifier,
    SMKLRegressor as SMKLRegressor,
)
from mklcore.estimators.inspection.terms import decompose as decompose
from mklcore.gallery.experiments import EXPERIMENTS as EXPERIMENTS
from mklcore.kernels.blends import Blend as Blend, Ranked as Ranked
from mklcore.kernels.functions import Product as Product, Sum as Sum
from mklcore.kernels.dictionary import KernelDictionary as KernelDictionary
from mklcore.kernels.functions import (
    KERNELS as KERNELS,
    RBF as RBF,
    Laplacian as Laplacian,
    Linear as Linear,
    Delta as Delta,
    Matern as Matern,
    Polynomial as Polynomial,
)
from mklcore.kernels.grams import GramStack as GramStack, alignment_matrix as alignment_matrix
from mklcore.kernels.interactions import Interaction as Interaction
from mklcore.kernels.dictionary import SequenceDictionary as SequenceDictionary
from mklcore.kernels.sequences import Spectrum as Spectrum, WeightedDegree as WeightedDegree
from mklcore.kernels.sequences import Words as Words
from mklcore.problem.losses import LOSSES as LOSSES, Huber as Huber, Pinball as Pinball
from mklcore.kernels.features import Nystroem as Nystroem
from mklcore.paths.path import Path as Path, fit_path as fit_path, log_grid as log_grid
from mklcore.problem.penalties import (
    PENALTIES as PENALTIES,
    BlockNorm as BlockNorm,
    ElasticNet as ElasticNet,
    EllipticNorm as EllipticNorm,
    LpNorm as LpNorm,
    WeightedLpNorm as WeightedLpNorm,
)
from mklcore.paths.choosing import (
    choose as choose,
    choose_C as choose_C,
    cross_validate_path as cross_validate_path,
    validation_curve as validation_curve,
)
from mklcore.lp.schedule import SOLVERS as SOLVERS
from mklcore.problem.problem import certificate as certificate
from mklcore.sparse.variants import (
    duplicate_counterexample as duplicate_counterexample,
    lq_mkl as lq_mkl,
    two_stage as two_stage,
)
from mklcore.problem.driver import Fit as Fit
from mklcore.sparse.variants import (
    ivanov_to_tikhonov as ivanov_to_tikhonov,
    nu_from_one_class as nu_from_one_class,
    tikhonov_to_ivanov as tikhonov_to_ivanov,
)
from mklcore.hkl.baselines import (
    hkl_flat_mkl as hkl_flat_mkl,
    hkl_greedy as hkl_greedy,
    hkl_l2 as hkl_l2,
    hkl_lasso_alpha as hkl_lasso_alpha,
)
from mklcore.hkl.bases import (
    ANOVABasis as ANOVABasis,
    GaussianBasis as GaussianBasis,
    KernelPCABasis as KernelPCABasis,
    PolynomialBasis as PolynomialBasis,
)
from mklcore.hkl.search import hkl_certificate as hkl_certificate
from mklcore.hkl.graph import Graph as Graph
from mklcore.io.rows import fit_rows as fit_rows
from mklcore.io.models import load_model as load_model, save_model as save_model
from mklcore.gallery.theory import (
    gomp_coherence as gomp_coherence,
    gomp_risk_bound as gomp_risk_bound,
    greedy_rate_bound as greedy_rate_bound,
    greedy_risk_bound as greedy_risk_bound,
    hkl_consistency as hkl_consistency,
    kernel_correlation as kernel_correlation,
    lp_margin_bound as lp_margin_bound,
    lp_rademacher_bound as lp_rademacher_bound,
    lp_risk_bound as lp_risk_bound,
    restricted_condition as restricted_condition,
)
from mklcore.answer.columns import select_columns as select_columns
from mklcore.estimators.conformal import Conformal as Conformal

__version__: str
