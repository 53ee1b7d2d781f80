// The cursor on a path: its slider leads a line over every figure of the path, and bars and texts that listen.
const THUMB = 18; // px, as in the style sheet

function newView(root) {
  const view = { row: root.querySelector(".player"), cursors: [] };
  view.slider = new Slider(root, { paint: () => paint(view), stepTime: 90, title: "Play along the path" });
  view.observer = new MutationObserver(() => attach(view));
  view.resized = new ResizeObserver(() => place(view));
  view.asked = (event) => event.detail.chart === view.data.chart && tell(view);
  return view;
}

function cursorOver(view, chart) {
  const [host, slider] = [view.row, view.slider];
  return new Cursor(chart, { host, slider, positions: () => view.data.x, redraw: () => arrange(view) });
}

// A tab without figures has the slider alone.
function attach(view) {
  const laid = view.cursors.map((cursor) => cursor.attach([[""]]));
  if (laid.some(Boolean)) arrange(view);
}

// What needs the layout of the page is not asked for in every frame of a drag.
function arrange(view) {
  view.ink = getComputedStyle(view.row).color;
  place(view);
  paint(view);
}

function paint(view) {
  const { data, slider, cursors, ink } = view;
  const { index, between } = slider;
  const { x, label, open } = standing(view);
  for (const cursor of cursors) cursor.stand(0, x, ink);
  slider.show(label, open ? label : between ? between.spoken : data.spoken[index]);
  tell(view);
}

// Where the cursor stands: at a solved point, at a solved value between two, or between two, where nothing is solved yet.
function standing({ data, slider: { index, position, between } }) {
  if (between) return { x: between.x, label: between.label, open: false };
  if (position === index) return { x: data.x[index], label: data.labels[index], open: false };
  const x = valueAt(data, position);
  return { x, label: `${data.sign} = ${+x.toPrecision(3)}, between solved points`, open: true };
}

function tell(view) {
  const { index, position, between } = view.slider;
  announce(view.data.chart, { index, position, between, label: standing(view).label });
}

// The value between two solved ones, by ratio where the axis is logarithmic.
function valueAt({ x, log }, at) {
  const [low, part] = [Math.floor(at), at - Math.floor(at)];
  const ends = [x[low], x[Math.min(low + 1, x.length - 1)]];
  if (!log) return ends[0] + part * (ends[1] - ends[0]);
  return ends[0] * (ends[1] / ends[0]) ** part;
}

// The thumb stands under the cursor line: the input spans the path's own part of the first figure's axis.
function place({ data, row, slider, cursors }) {
  const { range, value } = slider;
  const { figure } = cursors[0];
  if (!figure || !figure.there) {
    row.classList.remove("aligned");
    for (const part of [range, value]) part.style.left = part.style.width = "";
    return;
  }
  const panel = figure.panel("");
  const box = row.getBoundingClientRect();
  const origin = figure.element.getBoundingClientRect().left + panel.left - box.left;
  const ends = [data.x[0], data.x[data.x.length - 1]].map((position) => panel.at(position));
  const [begin, end] = ends[0] >= -1 && ends[1] <= panel.width + 1 ? ends : [0, panel.width];
  const left = origin + begin - THUMB / 2;
  const aligned = left >= 40 && end - begin > 80 && origin + end < box.width;
  row.classList.toggle("aligned", aligned);
  range.style.left = aligned ? left + "px" : "";
  range.style.width = aligned ? end - begin + THUMB + "px" : "";
  value.style.left = aligned ? origin + end + THUMB + 4 + "px" : "";
}

export default function ({ parentElement, data, setStateValue }) {
  const view = viewOf(parentElement, newView);
  view.data = data;
  for (const chart of data.charts)
    if (!view.cursors.some((cursor) => cursor.chart === chart)) view.cursors.push(cursorOver(view, chart));
  view.row.classList.toggle("waiting", data.waiting);
  view.slider.smooth = Boolean(data.smooth);
  view.slider.range.step = data.smooth ? "any" : 1;
  view.slider.take({ count: data.x.length, index: data.index, turn: data.turn, between: data.exact }, setStateValue);
  view.observer.observe(document.body, { subtree: true, childList: true });
  view.resized.observe(view.row);
  document.addEventListener("path-cursor-where", view.asked);
  attach(view);
  arrange(view);
  // Data come anew once Python has taken in where the cursor was released.
  document.dispatchEvent(new CustomEvent("path-cursor-rest", { detail: { chart: data.chart, index: data.index } }));
  return ending(view, () => {
    view.observer.disconnect();
    view.resized.disconnect();
    document.removeEventListener("path-cursor-where", view.asked);
    view.slider.stop();
  });
}
