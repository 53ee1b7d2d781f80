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

NORMS = (1.0, 4 / 3, 2.0, float("inf"))
COSTS = (0.1, 1.0, 10.0)


def learners() -> tuple[str, ...]:
    """Return the methods that weigh or choose kernels, whatever the task: all but the baselines."""
    return tuple(name for name in METHODS.offered("binary") if name not in answers.BASELINES)


def draw() -> None:
    """Draw presets and methods."""
    params = state.current()
    methods = answers.methods(params)
    _preset(params, methods)
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


def presets(params: Params) -> dict[str, tuple[MethodParams, ...]]:
    """Return the named sets of methods that make sense for the table, built from the registry."""
    task = tables.table(params).task
    losses = next((c for c in METHODS["lp"].controls if c.name == "loss" and task in c.tasks), None)
    now = method_of(params.algorithm, params.path, **dict(params.settings))
    baselines = [name for name in answers.BASELINES if name != now.algorithm]
    sized = [name for name in learners() if "s" in METHODS[name].path_params]
    ridge = [method_of("lp", p=q, loss="squared", fit_intercept=False) for q in NORMS]
    found = {
        "Four norms": tuple(method_of("lp", p=p) for p in NORMS),
        "All methods and the uniform sum": (
            *map(MethodParams, learners()),
            MethodParams("uniform"),
        )[:MOST],
        "What Explore shows, and the baselines": (now, *map(MethodParams, baselines)),
        "Kernel by kernel": tuple(method_of(name, "s") for name in sized),
        "MKL-GOMP and ridge under ℓq norms": (method_of("gomp", "lam"), *ridge),
        "Convex and concave penalties": (
            method_of("lp", p=1.0),
            MethodParams("smkl"),
            method_of("smkl", terms="log"),
        ),
        "The norm as path, at three costs": tuple(method_of("lp", "p", C=cost) for cost in COSTS),
    }
    if task == "multiclass":
        found["Weights for each class, and shared"] = (MethodParams("lp"), MethodParams("joint"))
    if losses is not None and len(losses.choices) > 1:
        found["One norm, other losses"] = tuple(
            method_of("lp", p=2.0, loss=loss) for loss in losses.choices
        )
    return {name: methods for name, methods in found.items() if FEWEST <= len(methods) <= MOST}


def _preset(params: Params, methods: tuple[MethodParams, ...]) -> None:
    offered = presets(params)
    active = next((name for name, chosen in offered.items() if chosen == methods), None)
    controls.view(
        st.selectbox,
        "Preset",
        "methods_preset",
        active,
        lambda name: state.change(
            methods=parameters.write_methods(offered.get(name, methods)), methods_at=""
        ),
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
