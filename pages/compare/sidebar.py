"""Compare, the sidebar: presets, and one expander per method with its method, its path and the controls of
the registry.
"""

from collections.abc import Callable, Sequence

import streamlit as st

from mklcore.io.catalog import ESTIMATORS
from pages.shared.session import parameters, state
from pages.shared.session.parameters import FEWEST, METHODS, MOST, MethodParams, Params, Setting
from pages.shared.session.parameters import usual_method as method_of
from pages.shared.values import answers, tables
from pages.shared.widgets import controls


def draw() -> None:
    """Draw presets and methods."""
    params = state.current()
    methods = answers.methods(params)
    _preset(params)
    controls.scoring()
    for place, label in enumerate(parameters.labels(methods, tables.table(params).task)):
        with st.expander(f"{place + 1}. {label}", key=f"method_{place}"):
            _method(params, methods, place)
    st.button(
        "Add a method",
        key="method_add",
        icon=":material/add:",
        on_click=_keep,
        args=([*methods, _next(params, methods)],),
        disabled=len(methods) >= MOST,
        help=f"From {FEWEST} to {MOST} methods stand side by side.",
    )
    st.caption(f"{ESTIMATORS['hkl'].label} works on columns, not on kernels: see Hulls.")


def _open(own: Params) -> None:
    state.change(
        algorithm=own.algorithm,
        path=own.path,
        settings=own.settings,
        at=None,
    )
    state.memory().next_page = "explore"


def _keep(methods: Sequence[MethodParams]) -> None:
    state.change(methods=parameters.write_methods(methods))


def _next(params: Params, methods: Sequence[MethodParams]) -> MethodParams:
    """Return a method to add: the first method that is not there yet."""
    used = {method.algorithm for method in methods}
    offered = METHODS.offered(tables.table(params).task)
    return MethodParams(next((name for name in offered if name not in used), methods[0].algorithm))


# Presets


PRESETS = {
    "Four norms": parameters.USUAL_METHODS,
    "All methods and the uniform sum": "lp;gomp;best_k;greedy;smkl;uniform",
    "Kernel by kernel": "gomp;best_k;greedy",
    "MKL-GOMP and ridge under ℓq norms": (
        "gomp:lam;lp,fit_intercept=no,loss=squared"
        ";lp,fit_intercept=no,loss=squared,p=1.3333333333333333"
        ";lp,fit_intercept=no,loss=squared,p=2.0;lp,fit_intercept=no,loss=squared,p=inf"
    ),
    "Convex and concave penalties": "lp;smkl;smkl,terms=log",
    "The norm as path, at three costs": "lp:p,C=0.1;lp:p;lp:p,C=10.0",
}
BASELINES = ("uniform", "best", "aligned")


def presets(params: Params) -> dict[str, str]:
    """Return the named sets of methods that make sense for the table, as links have them."""
    task = tables.table(params).task
    now = method_of(params.algorithm, params.path, **dict(params.settings))
    baselines = [name for name in BASELINES if name != now.algorithm]
    losses = next(c for c in METHODS["lp"].controls if c.name == "loss" and task in c.tasks)
    found = PRESETS | {
        "What Explore shows, and the baselines": ";".join([now.text(), *baselines]),
        "One norm, other losses": ";".join(f"lp,loss={loss},p=2.0" for loss in losses.choices),
    }
    if task == "multiclass":
        found["Weights for each class, and shared"] = "lp;joint"
    return found


def _preset(params: Params) -> None:
    offered = presets(params)
    names = {text: name for name, text in offered.items()}
    controls.view(
        st.selectbox,
        "Preset",
        "methods_preset",
        names.get(params.methods),
        lambda name: state.change(methods=offered.get(name, params.methods), methods_at=""),
        options=list(offered),
        index=None,
        placeholder="Methods of your own",
    )


# One method


def _method(params: Params, methods: tuple[MethodParams, ...], place: int) -> None:
    method = methods[place]
    own = answers.method_params(params, method)

    def put(changed: MethodParams) -> None:
        _keep([*methods[:place], changed, *methods[place + 1 :]])

    def along(path: str) -> None:
        put(method_of(method.algorithm, path, **dict(method.settings)))

    take = lambda name: put(MethodParams(name))  # noqa: E731
    controls.method("Method", f"method_{place}_algorithm", method.algorithm, take)
    controls.path_over(METHODS[method.algorithm], f"method_{place}_path", method.over, along)

    def keep(name: str) -> Callable[[Setting], None]:
        return lambda value: put(
            method_of(method.algorithm, method.path, **{**dict(method.settings), name: value})
        )

    acting = answers.acting(own)
    rare = [control for control in acting if control.advanced]
    more = bool(rare) and bool(controls.value(f"method_{place}_more"))
    for control in acting:
        if more or not control.advanced:
            key = f"method_{place}_{control.name}_{control.kind}"
            controls.widget(control, own.setting(control), key, keep(control.name))
    if rare:
        st.toggle("Advanced settings", key=f"method_{place}_more")
    st.button(
        "Open on Explore",
        key=f"method_{place}_explore",
        icon=":material/show_chart:",
        on_click=_open,
        args=(own,),
    )
    st.button(
        "Remove",
        key=f"method_{place}_remove",
        icon=":material/close:",
        on_click=_keep,
        args=([*methods[:place], *methods[place + 1 :]],),
        disabled=len(methods) <= FEWEST,
    )
