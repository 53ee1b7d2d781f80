// Shares or weights at the cursor, one bar each, in an order that does not change while the cursor moves.
// A press of "Sort" brings them into the order of the moment, and keeps that order until it is pressed again.
function number(value, unit) {
  if (value === null) return "not yet";
  if (unit === "%") return (100 * value).toFixed(1) + " %";
  if (value === 0) return "0";
  const digits = value.toPrecision(3);
  return Math.abs(value) >= 1e6 || Math.abs(value) < 1e-4 ? value.toExponential(1) : String(+digits);
}

function draw(view, index, exact) {
  const { data } = view;
  view.asked = [index, exact];
  if (view.folded) return;
  const weights = exact ? exact.sets[data.set] : data.weights[index];
  if (!weights) return;
  const hollow = exact ? exact.hollow : data.hollow[index];
  view.title.textContent = data.title + (exact ? exact.label : data.labels[index]);
  // Only what changes is written: most kernels of a sparse path keep their zero.
  view.rows.forEach((row, m) => {
    if (row.shown === weights[m] && row.hollow === hollow) return;
    const share = Math.max(0, Math.min(1, (weights[m] || 0) / data.most));
    row.bar.style.transform = "scaleX(" + share + ")";
    if (row.hollow !== hollow) row.bar.classList.toggle("hollow", hollow && data.moves[m]);
    row.number.data = number(weights[m], data.unit);
    if ((row.shown === 0) !== (weights[m] === 0)) row.line.classList.toggle("zero", weights[m] === 0);
    Object.assign(row, { shown: weights[m], hollow });
  });
  view.now = weights;
}

function sort(view) {
  const order = view.rows.map((_, m) => m);
  if (view.sorted) order.sort((a, b) => (view.now[b] || 0) - (view.now[a] || 0) || a - b);
  view.list.replaceChildren(...order.map((m) => view.rows[m].line));
}

function build(view) {
  view.list.replaceChildren();
  view.list.setAttribute("aria-label", view.data.title);
  view.rows = view.data.names.map((name, m) => {
    const line = cell(view.list, "div", "line");
    line.setAttribute("role", "listitem");
    const text = cell(line, "span", "name");
    text.textContent = name;
    text.title = view.data.full[m];
    const bar = cell(cell(line, "span", "track"), "i", "bar");
    bar.style.setProperty("--hue", view.data.colours[m]);
    const number = cell(line, "span", "number").appendChild(new Text());
    return { line, bar, number };
  });
  view.sorter.hidden = !view.data.sortable;
}

function newView(root) {
  const [list, title, sorter] = [".bars", ".title", ".sort"].map((name) => root.querySelector(name));
  const view = { list, title, sorter, rows: [], sorted: false, folded: false };
  // What lies in a closed fold is drawn when it is opened.
  view.resized = new ResizeObserver(() => {
    const folded = list.clientWidth === 0;
    if (folded === view.folded) return;
    view.folded = folded;
    if (!folded && view.asked) draw(view, ...view.asked);
  });
  sorter.onclick = () => {
    view.sorted = !view.sorted;
    sorter.setAttribute("aria-pressed", view.sorted);
    sort(view);
  };
  return view;
}

export default function ({ parentElement, data }) {
  const view = viewOf(parentElement, newView);
  view.data = data;
  build(view);
  view.list.classList.toggle("waiting", data.waiting);
  draw(view, data.index, null);
  view.resized.observe(view.list);
  const end = follow(view, draw);
  if (view.sorted) sort(view);
  return end;
}
