// Kernel weights at the cursor, one bar per kernel in an order that does not change while the cursor moves.
const views = new WeakMap();

function number(value) {
  if (value === 0) return "0";
  const digits = value.toPrecision(3);
  return digits.includes("e") ? value.toExponential(1) : String(+digits);
}

function draw(view, index, exact) {
  const { data } = view;
  const weights = exact ? exact.weights : data.weights[index];
  const hollow = exact ? exact.hollow : data.hollow[index];
  view.title.textContent = data.title + (exact ? exact.label : data.labels[index]);
  view.rows.forEach((row, m) => {
    row.bar.style.transform = "scaleX(" + Math.min(1, weights[m] / data.most) + ")";
    row.bar.classList.toggle("hollow", hollow);
    row.number.textContent = number(weights[m]);
    row.line.classList.toggle("zero", weights[m] === 0);
  });
}

function build(view) {
  const cell = (parent, tag, name) => {
    const made = document.createElement(tag);
    made.className = name;
    return parent.appendChild(made);
  };
  view.list.replaceChildren();
  view.rows = view.data.names.map((name, m) => {
    const line = cell(view.list, "div", "line");
    line.setAttribute("role", "listitem");
    const text = cell(line, "span", "name");
    text.textContent = name;
    text.title = view.data.full[m];
    const bar = cell(cell(line, "span", "track"), "i", "bar");
    bar.style.setProperty("--hue", view.data.colours[m]);
    return { line, bar, number: cell(line, "span", "number") };
  });
}

export default function ({ parentElement, data }) {
  let view = views.get(parentElement);
  if (!view) {
    view = { list: parentElement.querySelector(".bars"), title: parentElement.querySelector(".title"), rows: [] };
    view.heard = ({ detail }) => {
      if (detail.chart === view.data.chart && (detail.exact || detail.index < view.data.weights.length))
        draw(view, detail.index, detail.exact);
    };
    views.set(parentElement, view);
  }
  view.data = data;
  build(view);
  view.list.classList.toggle("waiting", data.waiting);
  draw(view, data.index, null);
  document.addEventListener("path-cursor", view.heard);
  document.dispatchEvent(new CustomEvent("path-cursor-where", { detail: { chart: data.chart } }));
  return () => document.removeEventListener("path-cursor", view.heard);
}
