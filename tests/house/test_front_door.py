"""The front door of the library: which names stand there, where they come from, and what importing
it loads.
"""

import ast
import threading
from operator import attrgetter

import pytest

import mklcore
from mklcore._lazy import cached_property
from tests.helpers.every import every
from tests.helpers.project import ROOT, run_python, settings, text_of

CORE = ROOT / "mklcore"


def test_public_names_are_sorted_strings_that_exist():
    names = mklcore.__all__
    assert all(isinstance(name, str) and not name.startswith("_") for name in names)
    constants_classes_functions = sorted(
        set(names), key=lambda name: (not name.isupper(), not name[0].isupper(), name)
    )
    assert list(names) == constants_classes_functions
    assert [name for name in names if not hasattr(mklcore, name)] == []


def test_a_name_with_a_dot_is_no_attribute():
    assert not hasattr(mklcore, "a.b")
    assert not hasattr(mklcore, "kernels.grams")


def test_a_property_that_computes_keeps_no_other_object_waiting():
    class Answer:
        @cached_property
        def verdict(self):
            return together.wait(30)

    together = threading.Barrier(2)
    answers = Answer(), Answer()
    other = threading.Thread(target=lambda: answers[1].verdict)
    other.start()
    here = answers[0].verdict
    other.join()
    assert here + answers[1].verdict == 1


PUBLIC = """
EXPERIMENTS KERNELS LOSSES PENALTIES RBF SAMPLES SOLVERS ANOVABasis AlignedMKLClassifier
AlignedMKLRegressor AutoMKLClassifier AutoMKLRegressor BestKernelClassifier
BestKernelRegressor BestSetClassifier BestSetRegressor best_k_kernels BlockNorm Conformal
DataError Dataset Delta ElasticNet EllipticNorm FeatureScalingClassifier
FeatureScalingRegressor Fit GOMPClassifier GOMPRegressor GaussianBasis GramStack Graph
GreedyMKLClassifier GreedyMKLRegressor HKLClassifier HKLRegressor Huber Interaction Blend
Ranked JointMKLClassifier JointMKLRegressor KernelDictionary KernelError KernelPCABasis
Laplacian Linear LpMKLClassifier LpMKLOneClass LpMKLRegressor LpNorm MKLError Matern
NotConvergedWarning Nystroem ParameterError Path Pinball Polynomial PolynomialBasis Product
SMKLClassifier SMKLRegressor SequenceDictionary Spectrum Sum UniformMKLClassifier
UniformMKLRegressor WeightedDegree WeightedLpNorm Words alignment_matrix certificate choose
choose_C cross_validate_path decompose duplicate_counterexample explore figures fit_path
fit_rows gomp_coherence gomp_risk_bound greedy_rate_bound greedy_risk_bound hkl_certificate
hkl_consistency hkl_flat_mkl hkl_greedy hkl_l2 hkl_lasso_alpha ivanov_to_tikhonov
kernel_correlation load_model load_sample log_grid lp_margin_bound lp_rademacher_bound
lp_risk_bound lq_mkl make_mkl_toy make_ringnorm make_sequences make_sparse_polynomial
make_spectra make_twonorm nu_from_one_class read_table restricted_condition save_model
select_columns theory tikhonov_to_ivanov two_stage validation_curve
"""


def test_what_people_rely_on_is_public_and_nothing_else_is():
    """Adding here is a decision: the front door stays short, and everything else is found in its
    room.
    """
    assert set(mklcore.__all__) == set(PUBLIC.split())


def test_a_name_that_is_nowhere_is_refused_and_dir_tells_what_there_is():
    with pytest.raises(AttributeError, match=r"no attribute 'LpMKL'; see dir\(mklcore\)"):
        attrgetter("LpMKL")(mklcore)
    assert set(mklcore.__all__) | {"paths", "__version__"} <= set(dir(mklcore))


SLOW_TO_LOAD = ("numba", "numpy", "pandas", "plotly", "scipy", "sklearn", "streamlit")


def test_importing_loads_only_what_is_used_and_a_star_brings_every_public_name():
    steps = (
        ("import mklcore", SLOW_TO_LOAD),
        (
            "mklcore.figures.weight_path, mklcore.answer, mklcore.gallery.lessons",
            ("plotly", "streamlit"),
        ),
        ("from mklcore import LpMKLClassifier, fit_path, load_sample", ("plotly", "streamlit")),
        ("from mklcore import *", ("streamlit",)),
    )
    check = "import sys\n" + "".join(
        f"{code}\nprint(*sorted({{*{kept_out!r}}} & set(sys.modules)), end='')\n"
        for code, kept_out in steps
    )
    check += "print(*[n for n in mklcore.__all__ if globals()[n] is not getattr(mklcore, n)])"
    assert run_python("-c", check).strip() == ""


def test_inside_loops_over_kernels_every_library_has_one_blas_thread(monkeypatch):
    check = (
        "from mklcore.arrays import one_blas_thread\nwith one_blas_thread(): import "
        "scipy.linalg\nfrom threadpoolctl import threadpool_info\nwith one_blas_thread(): "
        "print({pool['num_threads'] for pool in threadpool_info() if pool['user_api'] == "
        "'blas'})"
    )
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    assert run_python("-c", check).strip() == "{1}"


EXTRAS = "plotly pyarrow python_calamine filelock psutil platformdirs latex2mathml cachetools"


@every("left_out", [EXTRAS, "fcntl resource"])
def test_every_module_works_without_what_is_not_everywhere(left_out):
    check = (
        # psutil needs fcntl itself
        f"import sys, pkgutil, importlib{', psutil' * ('fcntl' in left_out)}\nfor name in "
        f"{left_out.split()!r} + ['streamlit', 'nbformat', 'anywidget', 'distributed']: "
        "sys.modules[name] = None\nimport mklcore\nfor found in "
        "pkgutil.walk_packages(mklcore.__path__, 'mklcore.'):\n    if not "
        "found.name.endswith(('__main__', 'players.widget')): "
        "importlib.import_module(found.name)\nexec('from mklcore import *')\ntry: "
        "mklcore.figures.weights_bar([0.5, 0.25], ['a', 'b'], ['rbf', 'rbf'])\nexcept "
        "ImportError as error: print(error)"
    )
    printed = run_python("-c", check)
    assert ("pip install 'mklcore[app]'" in printed) == (left_out == EXTRAS)


def test_types_travel_with_the_package():
    packed = settings()["tool"]["setuptools"]["package-data"]
    assert packed["mklcore"] == ["py.typed", "**/*.pyi"]
    assert (CORE / "py.typed").is_file()


def stub():
    """Where the types of the front door say that each name lives, without ``mklcore.``."""
    return {
        alias.asname or "": (node.module or "").removeprefix("mklcore").removeprefix(".")
        for node in ast.parse(text_of("mklcore/__init__.pyi")).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_every_module_is_named_in_the_stub_and_hides_no_public_name():
    """Importing ``mklcore.explore`` would put the module where the function ``mklcore.explore``
    was.
    """
    named = [name for name, home in stub().items() if not home]
    there = {
        path.stem
        for path in CORE.iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert named == sorted(name for name in there if not name.startswith("_"))
    assert set(named) & set(mklcore.__all__) == {"figures"}
