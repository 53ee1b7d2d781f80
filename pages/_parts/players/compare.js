// One cursor for several paths. A native range input moves a line in every lane of a plotly figure that never changes,
// and with it the facts and the bars of every lane below. Python hears of it once: on release, or when the keys rest.
const SVG = "http://www.w3.org/2000/svg";
const KEYS_REST = 200; // ms
const STEP_TIME = 90; // ms between two steps while playing
const GUTTER = 10; // px between a lane's column and the next
const views = new WeakMap();
let born = 0; // views so far: while a page changes, an old one may still stand beside its successor

const chartOf = (view) => document.querySelector(".st-key-" + view.data.chart + " .js-plotly-plot");
const suffixes = (lane) => [lane ? String(2 * lane + 1) : "", String(2 * lane + 2)];
const axesOf = (gd, suffix) => ["x", "y"].map((letter) => gd._fullLayout[letter + "axis" + suffix]);
const pointsOf = (view) => (view.free ? view.data.place.indices : view.data.steps[+view.range.value].indices);

function newView(root) {
  const view = {
    born: ++born,
    root,
    box: root.querySelector(".lanes"),
    table: root.querySelector(".table"),
    range: root.querySelector("input"),
    play: root.querySelector("button"),
    value: root.querySelector("output"),
    turn: null, reported: null, free: true, frame: 0, rest: 0, playing: 0, drawn: [], columns: [],
  };
  view.range.oninput = () => move(view, +view.range.value);
  view.range.onchange = () => release(view, view.range.matches(":active") ? 0 : KEYS_REST);
  view.play.onclick = () => (view.playing ? pause(view) : play(view));
  view.observer = new MutationObserver(() => attach(view));
  view.resized = new ResizeObserver(() => arrange(view));
  return view;
}

// The lines over the figure

function attach(view) {
  const gd = chartOf(view);
  if (!gd || !gd._fullLayout || !gd.on || !view.box.isConnected) return;
  const other = gd.cursorView;
  // Two views that took the figure from each other in turn would never end.
  if (other && other.born > view.born && other.box.isConnected) return;
  if (other !== view) {
    gd.cursorView = view;
    for (const event of ["plotly_afterplot", "plotly_relayouting"])
      gd.on(event, () => {
        if (gd.cursorView !== view) return;
        arrange(view);
        paint(view);
      });
    view.drawn = [];
  }
  if (view.drawn.length && view.drawn[0].handle.isConnected) return;
  gd.querySelectorAll(".path-cursor").forEach((old) => old.remove());
  const layer = document.createElementNS(SVG, "g");
  layer.setAttribute("class", "path-cursor");
  view.drawn = view.data.lanes.map((_, lane) => {
    const lines = suffixes(lane).map(() => line(layer, 1.75));
    const handle = line(layer, 18);
    handle.setAttribute("stroke", "transparent");
    handle.setAttribute("pointer-events", "stroke");
    handle.style.cursor = "ew-resize";
    handle.onpointerdown = (event) => grab(view, lane, handle, event);
    for (const type of ["mousedown", "touchstart"]) handle.addEventListener(type, (event) => event.stopPropagation());
    return { lines, handle };
  });
  gd.querySelector(".main-svg").appendChild(layer);
  arrange(view);
  paint(view);
}

function line(layer, width) {
  const drawn = document.createElementNS(SVG, "line");
  drawn.setAttribute("stroke-width", width);
  drawn.setAttribute("pointer-events", "none");
  return layer.appendChild(drawn);
}

// Whichever lane's line is taken hold of, the step follows at which that lane stands nearest to the pointer.
function grab(view, lane, handle, event) {
  event.preventDefault();
  event.stopPropagation();
  handle.setPointerCapture(event.pointerId);
  view.range.focus({ preventScroll: true });
  handle.onpointermove = (moved) => {
    const gd = chartOf(view);
    const [x] = axesOf(gd, suffixes(lane)[0]);
    const wanted = moved.clientX - gd.getBoundingClientRect().left - x._offset;
    const positions = view.data.lanes[lane].positions;
    const away = view.data.steps.map((step, k) => [Math.abs(x.d2p(positions[step.indices[lane]]) - wanted),
      Math.abs(k - +view.range.value), k]);
    away.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    if (away[0][2] !== +view.range.value || view.free) move(view, away[0][2]);
  };
  handle.onpointerup = handle.onpointercancel = () => {
    handle.onpointermove = handle.onpointerup = handle.onpointercancel = null;
    release(view, 0);
  };
}

// Moving, playing, reporting

function move(view, step) {
  view.range.value = step;
  view.free = false;
  cancelAnimationFrame(view.frame);
  view.frame = requestAnimationFrame(() => paint(view));
}

function release(view, wait) {
  clearTimeout(view.rest);
  view.rest = setTimeout(() => {
    const step = +view.range.value;
    if (view.free || step === view.reported || view.playing) return;
    view.reported = step;
    view.tell("report", { step, turn: view.turn, time: Date.now() }); // the time makes each report a new one
  }, wait);
}

function play(view) {
  if (+view.range.value >= +view.range.max) move(view, 0);
  view.playing = setInterval(() => {
    if (+view.range.value >= +view.range.max || !view.box.isConnected) pause(view);
    else move(view, +view.range.value + 1);
  }, STEP_TIME);
  label(view);
}

function pause(view) {
  clearInterval(view.playing);
  view.playing = 0;
  label(view);
  release(view, 0);
}

function label(view) {
  view.play.textContent = view.playing ? "❚❚" : "▶";
  view.play.setAttribute("aria-label", view.playing ? "Pause" : "Play along all paths");
}

// The table of facts and bars

function cell(parent, tag, name) {
  const made = document.createElement(tag);
  made.className = name;
  return parent.appendChild(made);
}

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
  const { data, range } = view;
  const points = pointsOf(view);
  const gd = chartOf(view);
  const ink = getComputedStyle(view.box).color;
  if (gd && gd._fullLayout)
    view.drawn.forEach(({ lines, handle }, lane) => {
      const at = points[lane];
      const shown = lane < data.lanes.length && at !== null && at !== undefined && at < data.lanes[lane].positions.length;
      const [top, bottom] = suffixes(lane).map((suffix) => axesOf(gd, suffix));
      const pixel = shown && top[0] ? top[0].d2p(data.lanes[lane].positions[at]) : -9;
      const inside = shown && top[0] && pixel >= -1 && pixel <= top[0]._length + 1;
      for (const drawn of [...lines, handle]) drawn.setAttribute("visibility", inside ? "visible" : "hidden");
      if (!inside) return;
      const x = top[0]._offset + pixel;
      stand(lines[0], x, top[1]._offset, top[1]._offset + top[1]._length);
      stand(lines[1], x, bottom[1]._offset, bottom[1]._offset + bottom[1]._length);
      stand(handle, x, top[1]._offset, bottom[1]._offset + bottom[1]._length);
      for (const drawn of lines) drawn.setAttribute("stroke", ink);
    });
  range.style.setProperty("--done", (100 * +range.value) / Math.max(1, +range.max) + "%");
  range.classList.toggle("free", view.free);
  const step = data.steps[+range.value];
  view.value.textContent = view.free ? data.place.label : step.label;
  const spoken = data.lanes.map((lane, place) => {
    const at = points[place];
    return at === null || !lane.facts[at] ? "" : lane.title + ": " + lane.facts[at].slice(0, 2).join(", ");
  });
  range.setAttribute("aria-valuetext", view.value.textContent + ". " + spoken.filter(Boolean).join("; "));
  fill(view);
}

function stand(drawn, x, top, bottom) {
  for (const [name, value] of [["x1", x], ["x2", x], ["y1", top], ["y2", bottom]]) drawn.setAttribute(name, value);
}

// Every lane's column stands under its own panels; without a figure the columns share the width evenly.
function arrange(view) {
  const gd = chartOf(view);
  const count = view.data.lanes.length;
  const axes = gd && gd._fullLayout ? view.data.lanes.map((_, lane) => axesOf(gd, suffixes(lane)[0])[0]) : [];
  let columns = "minmax(72px, 1.1fr) " + "minmax(0, 1fr) ".repeat(count);
  if (axes.length === count && axes.every(Boolean)) {
    const shift = gd.getBoundingClientRect().left - view.box.getBoundingClientRect().left;
    const lefts = axes.map((x) => x._offset + shift);
    const pitch = count > 1 ? lefts[1] - lefts[0] : axes[0]._length;
    if (lefts[0] > 60 && pitch > 60) columns = lefts[0] - GUTTER + "px " + (pitch - GUTTER + "px ").repeat(count);
  }
  view.box.style.setProperty("--columns", columns);
}

export default function ({ parentElement, data, setStateValue }) {
  let view = views.get(parentElement);
  if (!view) {
    view = newView(parentElement);
    views.set(parentElement, view);
  }
  if (view.drawn.length !== data.lanes.length) view.drawn = [];
  view.data = data;
  view.tell = setStateValue;
  view.range.max = data.steps.length - 1;
  build(view);
  // Only a turn that Python itself took moves the cursor; the echo of our own report must not pull it back mid-drag.
  if (view.turn !== data.turn) {
    view.turn = data.turn;
    view.free = data.place.free;
    view.range.value = data.place.step;
    view.reported = view.free ? null : data.place.step;
  }
  view.observer.observe(document.body, { subtree: true, childList: true });
  view.resized.observe(view.box);
  label(view);
  attach(view);
  arrange(view);
  paint(view);
  return () => {
    view.observer.disconnect();
    view.resized.disconnect();
    cancelAnimationFrame(view.frame);
    if (!view.box.isConnected) clearInterval(view.playing);
  };
}
