// Facts and kernel weights of several methods where their slider stands. Between two solved points weights are interpolated
// and drawn hollow, scores are those of both neighbours, and no certificate is claimed.
const GUTTER = 10; // px between a method's column and the next
const CERTIFICATE = 4; // the row of the facts that says how sure a point is
const PHONE = 520; // px, below which the table is scrolled sideways

function newView(root) {
  const view = { box: root.querySelector(".methods"), table: root.querySelector(".table"), columns: [], places: [] };
  view.resized = new ResizeObserver(() => arrange(view));
  view.laid = ({ detail }) => detail.chart === view.data.chart && arrange(view);
  return view;
}

function build(view) {
  const { data, table } = view;
  table.replaceChildren();
  view.columns = data.methods.map(() => ({ facts: [], bars: [] }));
  const head = cell(table, "div", "row head");
  head.setAttribute("role", "row");
  cell(head, "span", "name").setAttribute("role", "columnheader");
  data.methods.forEach((method) => {
    const title = cell(head, "span", "fact");
    title.setAttribute("role", "columnheader");
    title.textContent = title.title = method.title;
  });
  data.facts.forEach((name) => {
    const row = rowOf(table, name, name, "row");
    data.methods.forEach((_, k) => view.columns[k].facts.push(cellOf(row, "fact")));
  });
  data.names.forEach((name, m) => {
    const row = rowOf(table, name, data.full[m], "row kernel", data.marks?.[m], data.colours[m]);
    data.methods.forEach((_, k) => {
      const place = cellOf(row, "bar-cell");
      const bar = cell(cell(place, "span", "track"), "i", "bar");
      bar.style.setProperty("--hue", data.colours[m]);
      view.columns[k].bars.push({ bar, number: cell(place, "span", "number") });
    });
  });
}

function rowOf(table, name, full, kind, mark, hue) {
  const row = cell(table, "div", kind);
  row.setAttribute("role", "row");
  const text = cell(row, "span", "name");
  text.setAttribute("role", "rowheader");
  text.textContent = name;
  text.title = full;
  if (mark) Object.assign(cell(text, "span", "mark"), { textContent: mark, ariaHidden: "true" }).style.color = hue;
  return row;
}

function cellOf(row, kind) {
  const made = cell(row, "span", kind);
  made.setAttribute("role", "cell");
  return made;
}

function percent(share) {
  if (share === 0) return "0";
  return share < 0.0005 ? "< 0.1 %" : (100 * share).toFixed(1) + " %";
}

// Only what changes is written: most cells of a step are those of the step before.
function say(place, text) {
  if (place.textContent === text) return;
  place.textContent = place.title = text;
}

// What a method shows at a place of its path, which may be between two solved points.
function shownAt({ weights, facts, hollow, whole, note }, at) {
  const place = whole && at !== null ? Math.round(at) : at;
  if (place === null || place === undefined || place > weights.length - 1) return { facts: [note], weights: [] };
  const [low, high] = [Math.floor(place), Math.ceil(place)];
  if (low === high) return { facts: facts[low], weights: weights[low], hollow: hollow[low] };
  const share = place - low;
  const other = (row) => facts[high][row].replace(/^.* = /, "");
  const both = facts[low].map((text, row) => (text === facts[high][row] ? text : text + " – " + other(row)));
  return {
    facts: [...both.slice(0, CERTIFICATE), "○ between solved points"],
    weights: weights[low].map((value, m) => value + share * (weights[high][m] - value)),
    hollow: true,
    interpolated: true,
  };
}

function fill(view) {
  view.data.methods.forEach((method, k) => {
    const shown = shownAt(method, view.places[k] ?? null);
    const column = view.columns[k];
    column.facts.forEach((fact, row) => {
      say(fact, shown.facts[row] ?? "");
    });
    column.bars.forEach(({ bar, number }, m) => {
      const share = shown.weights[m];
      bar.style.transform = "scaleX(" + Math.min(1, (share ?? 0) / view.data.most) + ")";
      bar.classList.toggle("hollow", Boolean(shown.hollow));
      say(number, share === undefined ? "" : (shown.interpolated && share ? "≈ " : "") + percent(share));
      number.classList.toggle("zero", share === 0);
    });
  });
}

// Every method's column stands under its own panels; without a figure the columns share the width evenly, on a phone with
// room.
function arrange({ data, box }) {
  const figure = figureOf(data.chart);
  const count = data.methods.length;
  const there = figure && figure.there;
  const panels = there ? data.methods.map((_, k) => figure.panel(k ? String(2 * k + 1) : "")) : [];
  const phone = box.clientWidth < PHONE;
  let columns = phone ? "144px " + "minmax(112px, 1fr) ".repeat(count) : "minmax(72px, 1.1fr) " + "minmax(0, 1fr) ".repeat(count);
  if (!phone && panels.length === count && panels.every(Boolean)) {
    const shift = figure.element.getBoundingClientRect().left - box.getBoundingClientRect().left;
    const lefts = panels.map(({ left }) => left + shift);
    const pitch = count > 1 ? lefts[1] - lefts[0] : panels[0].width;
    if (lefts[0] > 60 && pitch > 60) columns = lefts[0] - GUTTER + "px " + (pitch - GUTTER + "px ").repeat(count);
  }
  box.style.setProperty("--columns", columns);
}

export default function ({ parentElement, data }) {
  const view = viewOf(parentElement, newView);
  view.data = data;
  build(view);
  view.resized.observe(view.box);
  document.addEventListener("figure-laid", view.laid);
  const end = follow(view, (_, index, exact, places) => {
    view.places = places;
    fill(view);
  });
  arrange(view);
  return () => {
    end();
    document.removeEventListener("figure-laid", view.laid);
  };
}
