"""Writes the notebooks of this folder, run and with their outputs: python
sample_data/build_notebooks.py

What a cell prints is rounded coarsely: another machine rounds otherwise on the way, and a test that
runs the notebooks again compares their numbers to a tolerance.
"""

import os
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).resolve().parent
PLOTLY = "application/vnd.plotly.v1+json"


class Words(str):
    """A cell that is read, not run."""

    __slots__ = ()


SPARSE_OR_NOT = (
    Words("""# Sparse against non-sparse

ℓp-norm multiple kernel learning weighs kernels under ‖θ‖_p ≤ 1. At p = 1 few kernels keep a weight; at p = ∞ every kernel
counts the same. Which is better depends on the truth: how many kernels carry the target at all.

The toy problem makes that a matter of choice. Two classes are in 50 dimensions, and their means differ in the first
few coordinates only. There is one linear kernel per coordinate."""),
    """import numpy as np
import plotly.graph_objects as go

import mklcore as mkl

INFORMATIVE = (1, 10, 50)
NORMS = (1.0, 4 / 3, 2.0, 4.0, np.inf)
kernels = mkl.KernelDictionary(
    mkl.KernelDictionary.per_feature(mkl.Linear(), 50).specs, standardize=False
)
data, truth = mkl.make_mkl_toy(50, 10, seed=0)
data""",
    Words("""## Error against p

For every number of informative coordinates: 50 training rows, C chosen on 1000 validation rows, the error on 4000 test
rows, over 3 draws. The Bayes error, which no rule can beat, is the same everywhere."""),
    """def errors(n_informative, seed):
    \"\"\"Test errors, one per norm.\"\"\"
    train, _ = mkl.make_mkl_toy(50, n_informative, seed=seed)
    validation, _ = mkl.make_mkl_toy(1000, n_informative, seed=seed + 1000)
    test, _ = mkl.make_mkl_toy(4000, n_informative, seed=seed + 2000)
    stack = kernels.grams(train.X)
    blocks, held_out = stack.cross(validation.X), stack.cross(test.X)
    found = []
    for p in NORMS:
        model = mkl.LpMKLClassifier(p=p, kernels=kernels)
        path = mkl.fit_path(
            model, stack, train.y, "C", mkl.log_grid(0.01, 10, 5), blocks, validation.y
        )
        best = path.estimators[int(np.argmax(path.val_score))]
        found.append(np.mean(best.predict_blocks(held_out) != test.y))
    return found


table = {k: np.mean([errors(k, seed) for seed in range(3)], axis=0) for k in INFORMATIVE}
for k, row in table.items():
    errors_at = "  ".join(f"p = {p:.3g}: {100 * e:2.0f} %" for p, e in zip(NORMS, row, strict=True))
    print(f"{k:2d} of 50 informative: {errors_at}")
print(f"Bayes error: {100 * truth.bayes_error:.0f} %")""",
    """figure = go.Figure()
for k, row in table.items():
    figure.add_scatter(x=[f"{p:.3g}" for p in NORMS], y=100 * row, name=f"{k} of 50 informative")
figure.add_hline(100 * truth.bayes_error, line_dash="dash", annotation_text="Bayes")
alt = "Test error against p, one line per number of informative coordinates, with the Bayes error."
figure.update_layout(xaxis_title="p", yaxis_title="test error, %", height=380, meta={"alt": alt})
figure""",
    Words("""With a single informative coordinate p = 1 is right. When all of them carry the class, p = 1 throws information away
and the plain sum is hard to beat. In between, a p in between is a good guess.

## What the weights look like

The same draw, all coordinates informative, under p = 1 and p = 2. The gap is a certificate: no other weights can have an
objective lower by more than that."""),
    """train, _ = mkl.make_mkl_toy(50, 50, seed=0)
for p in (1, 2):
    model = mkl.LpMKLClassifier(p=p, C=1.0, kernels=kernels, tol=1e-4).fit(train.X, train.y)
    certified = model.relative_gap_ < 1e-3
    print(
        f"p = {p}: {model.n_kernels_} of {len(model.weights_)} kernels, within 0.1 % of the optimum: {certified}"
    )""",
    """model = mkl.LpMKLClassifier(p=1, kernels=kernels)
path = mkl.fit_path(model, train.X, train.y, "p", [1, 1.05, 1.1, 1.2, 4 / 3, 1.5, 2, 3, 4, np.inf])
mkl.figures.weight_path(path)""",
    Words("""The same path with a cursor to drag. It moves here, in a notebook that is only read, and in the file that
`path.explore().save("path.html")` writes."""),
    """path.explore()""",
    Words("""`path.explore(widget=True)` also tells Python where the cursor stands: `.index`, and the `.model` there.
The Explore page of the app shows the same for your own table; the comparison over p is on Compare."""),
)

WALK_THROUGH_A_HULL = (
    Words("""# A walk through a hull

Hierarchical kernel learning looks for products of columns. With degree 2 in 12 columns there are 3¹² products, too many
to list; a product may enter only after its factors, so the ones in use form a hull, and a certificate says how far the
answer is from the best over all of them.

The target below is a sum of products of a few of the columns."""),
    """import numpy as np

import mklcore as mkl

data, truth = mkl.make_sparse_polynomial(280, 12, seed=4)
train, test = data.split(test_size=0.25, seed=0)
print(
    "products in the truth:",
    ", ".join("·".join(data.feature_names[j] for j in sorted(m)) for m in truth.monomials),
)""",
    Words("""## Hulls along λ

A smaller λ lets more in. Every point is certified over all products, in use or not."""),
    """model = mkl.HKLRegressor(basis=mkl.PolynomialBasis(2), lam=1e-2)
design = mkl.hkl.Design(train.X, model.basis, names=data.feature_names)
values = mkl.paths.path_grid(model, design, train.y, "lam", 8)[:1:-1]
path = mkl.fit_path(model, design, train.y, "lam", values, test.X, test.y)
print(f"{path.estimators[0].n_dag_kernels_:,} products in all")
for point, score in zip(path.estimators, path.val_score, strict=True):
    sure = "certified" if point.certified_ else "not certified"
    print(
        f"lam = {point.lam:.2g}: {len(point.hull_):3d} in the hull, {sure}, R² on new rows {score:.2f}"
    )""",
    Words("""Drag λ and see what comes in; click a node to read what it is."""),
    """path.explore(names=data.feature_names)""",
    Words("""## One hull

Inside and outlined: nothing below it is in the hull. Hollow: next to enter, with the share of the way it has come."""),
    """point = path.estimators[3]
mkl.figures.hull_graph(point, data.feature_names)""",
    Words("""## Which columns matter

The relevance of a column adds up all products it takes part in."""),
    """mkl.figures.relevance_bars(point.relevance_, data.feature_names)""",
    """order = np.argsort(-point.relevance_)[: len(truth.variables)]
found, wanted = (
    {data.feature_names[j] for j in order},
    {data.feature_names[j] for j in truth.variables},
)
print(
    f"{len(found & wanted)} of the {len(wanted)} columns of the truth are among the {len(order)} most relevant"
)""",
    Words("""## What one product adds

The largest product of two columns in the hull, over both of them."""),
    """pairs = [k for k, levels in enumerate(point.hull_) if sum(level > 0 for level in levels) == 2]
largest = max(pairs, key=lambda k: point.component_norms_[k])
node = point.hull_[largest]
columns = [i for i, level in enumerate(node) if level]
axes = [np.linspace(train.X[:, i].min(), train.X[:, i].max(), 41) for i in columns]
mesh = np.meshgrid(*axes)
rows = np.tile(train.X.mean(axis=0), (mesh[0].size, 1))
for i, values in zip(columns, mesh, strict=True):
    rows[:, i] = values.ravel()
added = point.component(node, rows).reshape(mesh[0].shape)
name = point.kernel_names_[largest]
mkl.figures.component_plot(axes, added, [data.feature_names[i] for i in columns], name)""",
    Words(
        """The Hulls page of the app shows the same for your own table, with λ to drag and nodes to click."""
    ),
)

FROM_A_TABLE = (
    Words("""# From your table to an answer

You have a CSV file and want to know which of its columns count, how well they predict, and how sure that is. Here the file
is made up, 240 flats with semicolons, decimal commas, a text column and gaps, as tables come; put the name of your own in
its place."""),
    """import io

import numpy as np

import mklcore as mkl

rng = np.random.default_rng(3)
size, floor, age = rng.uniform(30, 140, 240), rng.integers(0, 8, 240), rng.integers(1, 90, 240)
heating, street = rng.choice(["gas", "oil", "heat pump"], 240), rng.normal(60, 8, 240)
rent = (
    200
    + 9 * size
    + 2.5 * (age - 45) ** 2 / 10
    + 150 * (heating == "heat pump")
    + rng.normal(0, 60, 240)
)


def cell(value):
    return f"{value:.1f}".replace(".", ",")


rows = [
    ";".join(
        [
            "" if k % 29 == 0 else cell(size[k]),
            str(floor[k]),
            str(age[k]),
            heating[k],
            cell(street[k]),
            cell(rent[k]),
        ]
    )
    for k in range(240)
]
file = io.BytesIO("\\n".join(["size;floor;age;heating;street noise;rent", *rows]).encode())""",
    Words("""## Reading it

Delimiter, decimal commas, text and gaps are found; what was changed is said."""),
    """data = mkl.read_table(file, target="rent")
print(*data.notes, sep="\\n")
data""",
    Words("""## The first answer

One call splits the rows, learns one machine on kernels of straight lines, single columns, pairs and all columns together,
or takes the simple ones alone where they are as good by folds, tells by how much every column moves the rent, and stands plain models beside it. Drag."""),
    """found = mkl.explore(data)
found""",
    """for one in found.columns:
    print(
        f"{one.name} moves the rent by {one.effect:.0f} on average, {one.share:.0%} of all effects"
    )
print(found.verdict)""",
    Words("""How sure is the fit itself? Every point of the path has a certificate: no other weights can have an objective lower by
more than its gap."""),
    """print(f"{found.path.finished.sum()} of {len(found.path)} points certified")
mkl.figures.weight_path(found.path)""",
    """mkl.figures.score_path(found.path)""",
    Words("""## Rows that chose nothing

Look once, at the end."""),
    """for name, score in found.test_scores().items():
    print(f"{name}: R² {score:.1f}")""",
    Words(
        """`mkl.save_model("rent.mkl", found.model)` keeps the model without pickle; the app does all of this by clicks."""
    ),
)

NOTEBOOKS = {
    "from_your_table": FROM_A_TABLE,
    "sparse_or_not": SPARSE_OR_NOT,
    "walk_through_a_hull": WALK_THROUGH_A_HULL,
}


def source(name: str) -> nbformat.NotebookNode:
    Words("""The notebook as it is written above: words and code.""")
    v4 = nbformat.v4
    cells = []
    for k, text in enumerate(NOTEBOOKS[name]):
        cell = (v4.new_markdown_cell if isinstance(text, Words) else v4.new_code_cell)(str(text))
        cell["id"] = f"{name.replace('_', '-')}-{k}"
        cells.append(cell)
    spec = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return v4.new_notebook(cells=cells, metadata=spec)


def run(name: str) -> nbformat.NotebookNode:
    Words("""The notebook with its outputs; figures carry their alternative text beside them.""")
    notebook = source(name)
    os.environ.setdefault("PYTHONPATH", str(HERE.parent))
    os.environ["PLOTLY_RENDERER"] = "plotly_mimetype"
    client = NotebookClient(notebook, timeout=900, startup_timeout=900, kernel_name="python3")
    client.execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", []):
            if PLOTLY in output.get("data", {}):
                layout = output["data"][PLOTLY]["layout"]
                output["data"]["text/plain"] = layout.get("meta", {}).get("alt", "A figure.")
    notebook.metadata = source(name).metadata
    return notebook


def reported(notebook: nbformat.NotebookNode) -> list[str]:
    """Everything the code cells print, in order; what a cell prints is one text, in however many
    pieces it came.
    """
    texts = []
    for cell in notebook.cells:
        outputs = cell.get("outputs", [])
        texts += ["".join(output["text"] for output in outputs if output.output_type == "stream")]
        texts += [output["data"].get("text/plain", "") for output in outputs if "data" in output]
    return texts


if __name__ == "__main__":
    for title in NOTEBOOKS:
        nbformat.write(run(title), HERE / f"{title}.ipynb")
        print(title)
