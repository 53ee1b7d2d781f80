// One slider for several paths: it leads a line in every lane of a figure, and the facts and bars of every lane below.
const GUTTER = 10; // px between a lane's column and the next
const PHONE = 520; // px, below which the table is scrolled sideways

const suffixes = (lane) => [lane ? String(2 * lane + 1) : "", String(2 * lane + 2)];
const panelsOf = (view) => view.data.lanes.map((_, lane) => suffixes(lane));
const pointsOf = ({ data, slider }) => (slider.between ? data.place : data.steps[slider.index]).indices;

function newView(root) {
  const view = { box: root.querySelector(".lanes"), table: root.querySelector(".table"), columns: [] };
  view.slider = new Slider(root, { paint: () => paint(view), stepTime: 90, title: "Play along all paths" });
  view.observer = new MutationObserver(() => attach(view));
  view.resized = new ResizeObserver(() => arrange(view));
  return view;
}

// Whichever lane's line is taken hold of, the step follows at which that lane stands nearest to the pointer.
function cursorOver(view) {
  const positions = (lane) => view.data.steps.map((step) => view.data.lanes[lane].positions[step.indices[lane]]);
  return new Cursor(view.data.chart, { host: view.box, slider: view.slider, positions, redraw: () => redraw(view) });
}

function attach(view) {
  if (view.cursor.attach(panelsOf(view))) redraw(view);
}

// What needs the layout of the page is not asked for in every frame of a drag.
function redraw(view) {
  view.ink = getComputedStyle(view.box).color;
  arrange(view);
  paint(view);
}

// The table of facts and bars

function build(view) {
  const { data, table } = view;
  table.replaceChildren();
  view.columns = data.lanes.map(() => ({ facts: [], bars: [] }));
  const head = cell(table, "div", "row head");
  head.setAttribute("role", "row");
  cell(head, "span", "name").setAttribute("role", "columnheader");
  data.lanes.forEach((lane) => {
    const title = cell(head, "span", "fact");
    title.setAttribute("role", "columnheader");
    title.textContent = title.title = lane.title;
  });
  data.facts.forEach((name) => {
    const row = rowOf(table, name, name, "row");
    data.lanes.forEach((_, lane) => view.columns[lane].facts.push(cellOf(row, "fact")));
  });
  data.names.forEach((name, m) => {
    if (data.parts?.[m]) rowOf(table, data.parts[m], data.parts[m], "row kernel part");
    const row = rowOf(table, name, data.full[m], "row kernel");
    data.lanes.forEach((_, lane) => {
      const place = cellOf(row, "bar-cell");
      const bar = cell(cell(place, "span", "track"), "i", "bar");
      bar.style.setProperty("--hue", data.colours[m]);
      view.columns[lane].bars.push({ bar, number: cell(place, "span", "number") });
    });
  });
}

function rowOf(table, name, full, kind) {
  const row = cell(table, "div", kind);
  row.setAttribute("role", "row");
  const text = cell(row, "span", "name");
  text.setAttribute("role", "rowheader");
  text.textContent = name;
  text.title = full;
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

function fill(view) {
  const points = pointsOf(view);
  view.data.lanes.forEach((lane, place) => {
    const at = points[place];
    const column = view.columns[place];
    const known = at !== null && at !== undefined && at < lane.weights.length;
    column.facts.forEach((fact, row) => {
      say(fact, known ? lane.facts[at][row] : row === 0 ? lane.note : "");
      fact.classList.toggle("older", lane.waiting);
    });
    column.bars.forEach(({ bar, number }, m) => {
      const share = known ? lane.weights[at][m] : 0;
      bar.style.transform = "scaleX(" + Math.min(1, share / view.data.most) + ")";
      bar.classList.toggle("hollow", known && lane.hollow[at]);
      say(number, known ? percent(share) : "");
      number.classList.toggle("zero", share === 0);
    });
  });
}

function paint(view) {
  const { data, slider } = view;
  const points = pointsOf(view);
  data.lanes.forEach(({ positions }, lane) => {
    const at = points[lane];
    view.cursor.stand(lane, at === null || at === undefined || at >= positions.length ? null : positions[at], view.ink);
  });
  const label = slider.between ? data.place.label : data.steps[slider.index].label;
  const spoken = data.lanes.map((lane, place) => {
    const at = points[place];
    return at === null || !lane.facts[at] ? "" : lane.title + ": " + lane.facts[at].slice(0, 2).join(", ");
  });
  slider.range.classList.toggle("free", Boolean(slider.between));
  slider.show(label, label + ". " + spoken.filter(Boolean).join("; "));
  fill(view);
  announce(data.chart, slider);
}

// Every lane's column stands under its own panels; without a figure the columns share the width evenly, on a phone with room.
function arrange(view) {
  const { figure } = view.cursor;
  const count = view.data.lanes.length;
  const panels = figure && figure.there ? view.data.lanes.map((_, lane) => figure.panel(suffixes(lane)[0])) : [];
  const phone = view.box.clientWidth < PHONE;
  let columns = phone ? "96px " + "minmax(112px, 1fr) ".repeat(count) : "minmax(72px, 1.1fr) " + "minmax(0, 1fr) ".repeat(count);
  if (!phone && panels.length === count && panels.every(Boolean)) {
    const shift = figure.element.getBoundingClientRect().left - view.box.getBoundingClientRect().left;
    const lefts = panels.map(({ left }) => left + shift);
    const pitch = count > 1 ? lefts[1] - lefts[0] : panels[0].width;
    if (lefts[0] > 60 && pitch > 60) columns = lefts[0] - GUTTER + "px " + (pitch - GUTTER + "px ").repeat(count);
  }
  view.box.style.setProperty("--columns", columns);
}

export default function ({ parentElement, data, setStateValue }) {
  const view = viewOf(parentElement, newView);
  view.data = data;
  view.cursor ??= cursorOver(view);
  build(view);
  const { free, step } = data.place;
  const between = free ? data.place : null;
  view.slider.take({ count: data.steps.length, index: step, turn: data.turn, between }, setStateValue);
  view.observer.observe(document.body, { subtree: true, childList: true });
  view.resized.observe(view.box);
  attach(view);
  redraw(view);
  return ending(view, () => {
    view.observer.disconnect();
    view.resized.disconnect();
    view.slider.stop();
  });
}
